"""Shapes and dtypes in annotations are checked while testing, and only then."""

import os

# Two workers share two cores: without this each starts as many threads as there are cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from jaxtyping import install_import_hook

install_import_hook("fewknots", "beartype.beartype")
