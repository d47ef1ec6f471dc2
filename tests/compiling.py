"""How the programs of tests are compiled: quickly, or well where they run for long."""

import os
from contextlib import contextmanager

import jax

# What can be chosen is this or no optimisation. Above this compiling takes longer still, and what
# tests compute is not done sooner.
_LEVEL = (
    "--xla_backend_optimization_level=1 --xla_llvm_disable_expensive_passes=true "
    "--xla_cpu_parallel_codegen_split_count=1"
)
_NOT_OPTIMISED = "jax_disable_most_optimizations"
_VARIABLE = _NOT_OPTIMISED.upper()
os.environ.setdefault("XLA_FLAGS", _LEVEL)
os.environ.setdefault(_VARIABLE, "1")


def compile_as_said() -> None:
    """Compile as processes do that are started now: if nobody says otherwise, quickly."""
    jax.config.update(_NOT_OPTIMISED, os.environ[_VARIABLE] == "1")


def as_here() -> dict[str, str]:
    """What a process is told that does not take over this one's environment."""
    return {_VARIABLE: os.environ[_VARIABLE]}


@contextmanager
def optimised():
    """Inside, compiling takes twice the time, and running the programs a third.

    No program is taken in or out: what a test computes, to the last digit, must not depend on which
    tests came before it.
    """
    before, os.environ[_VARIABLE] = os.environ[_VARIABLE], "0"
    compile_as_said()
    jax.clear_caches()
    try:
        yield
    finally:
        os.environ[_VARIABLE] = before
        compile_as_said()
        jax.clear_caches()
