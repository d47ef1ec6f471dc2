"""Training: which parameters are optimised, how, and until when."""
