"""The local Gaussian process: for every question, a small one among the nearest rows."""
