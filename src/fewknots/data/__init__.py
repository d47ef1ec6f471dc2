"""From the user's tables to arrays of numbers."""
