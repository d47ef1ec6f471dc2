"""A fitted model as one file: what goes into it, and the sealed container that holds it."""
