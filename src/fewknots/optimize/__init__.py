"""Optimisers for any parameters and any objective."""
