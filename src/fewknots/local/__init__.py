"""The local method: for every query a small Gaussian process among the nearest rows."""
