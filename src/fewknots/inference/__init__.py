"""One file per inference method of the paper, and the pieces they share."""
