"""Optimisers: they know parameters and objectives, not what those mean."""
