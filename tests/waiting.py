"""Tests wait for what happens, not for time to pass: the machine may be busy with other work."""

import time

HANGS = 900.0  # seconds. Nothing takes that long on the slowest machine: what does, hangs.


def wait_until(has_happened, process=None):
    """Returns when it has happened, or when the process has ended before it could happen."""
    ends = time.monotonic() + HANGS
    while not has_happened() and (process is None or process.poll() is None):
        assert time.monotonic() < ends, "it never happened"
        time.sleep(0.01)
