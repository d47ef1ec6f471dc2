"""Converts the user's tables to arrays of numbers."""
