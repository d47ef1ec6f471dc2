"""Other libraries, each in a virtual environment of its own: their pins conflict with ours."""

import importlib.util
import subprocess
import sys
import venv
from pathlib import Path

_HOME = Path(__file__).resolve().parent.parent / ".bench"

REQUIREMENTS = {
    "gpflow": ["gpflow==2.11.2", "tensorflow==2.21.0", "tf-keras==2.21.0"],
    "gpytorch": ["torch==2.13.0", "gpytorch==1.15.2", "pyarrow", "numpy"],
}


def python_with(peer: str) -> Path:
    """The interpreter that has `peer`: this one, or one made on first use, which takes minutes."""
    if importlib.util.find_spec(peer) is not None:
        return Path(sys.executable)
    home = _HOME / peer
    python, complete = home / "bin" / "python", home / "complete"
    if not complete.exists():
        print(f"installing {', '.join(REQUIREMENTS[peer])}", flush=True)
        venv.create(home, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *REQUIREMENTS[peer]], check=True)
        complete.touch()
    return python
