"""Which floating-point type and which device a computation runs on, without global settings.

JAX computes in float32 unless its global flag `jax_enable_x64` is set, and a library that sets
that flag at import changes every other JAX program in the process. So each public entry point
of fewknots opens `computing_in(dtype)`, and `on_device(name)` around it, which change the settings
for their own thread and block. Both refuse to do so in a forked process without JAX's threads
(forks.py).

A posterior is kept on the host, as NumPy arrays that can be saved and pickled. To predict, JAX
needs them on its device, and copying them on every call takes longer than predicting a few rows. So
they are copied there once, and stay there for the next call (`KeepsDeviceCopy`).
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cache, wraps
from typing import Any, TypeVar

import jax
import numpy as np
from threadpoolctl import ThreadpoolController

from ..stopping import holding_back, leaves_behind, unless_interrupted
from . import program_cache
from .collector import collector_held
from .forks import note_computation

DTypeName = str | type | np.dtype | None
DEVICES = ("auto", "cpu", "gpu")
Number = TypeVar("Number", int, float)
Result = TypeVar("Result")
_COPY = "_device_copy"


def resolve_dtype(dtype: DTypeName, minibatches: bool = False) -> np.dtype:
    """The dtype to compute in unless the user chose: float64 for a full batch on a CPU.

    float32 on a GPU, and with minibatches, whose noise is much larger than its rounding errors.
    """
    if dtype is None:
        full = current_platform() == "cpu" and not minibatches
        return np.dtype(np.float64 if full else np.float32)
    try:
        resolved = np.dtype(dtype)
    except TypeError:
        resolved = None
    if resolved not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(f"dtype must be 'float32', 'float64' or None, got {dtype!r}.")
    return resolved


def resolve_jitter(jitter: float | None, dtype: np.dtype) -> float:
    """The user's jitter, or the one that Cholesky factors of kernel matrices need in this dtype."""
    if jitter is not None:
        return float(jitter)
    return 1e-6 if dtype == np.float64 else 1e-4


@contextmanager
def computing_in(dtype: np.dtype) -> Iterator[None]:
    """Within the block JAX has 64-bit types if and only if `dtype` is float64, and products in
    full precision.

    On a GPU JAX may otherwise round the factors of a float32 product to 10 bits, which is too
    little for Cholesky factors of kernel matrices.
    """
    note_computation()
    with jax.enable_x64(dtype == np.float64), jax.default_matmul_precision("highest"):
        yield


def rough_products() -> AbstractContextManager[None]:
    """Within the block, programs are traced with products in the device's fastest precision.

    An H200 then rounds the factors of a float32 product to 10 bits and is 3.5 times as fast; on a
    CPU nothing changes. For averages over many rows that only affect the direction of a step.
    """
    return jax.default_matmul_precision("default")


@contextmanager
def on_device(name: str) -> Iterator[None]:
    """Within the block JAX computes on the named kind of device; "auto": on its default device."""
    note_computation()
    if name == "auto":
        yield
        return
    try:
        device = jax.local_devices(backend=name)[0]
    except RuntimeError as error:
        raise ValueError(
            f"device={name!r}, but JAX finds no such device. Install JAX with support for yours "
            "(for NVIDIA: pip install 'jax[cuda13]'), or use device='auto'."
        ) from error
    with jax.default_device(device):
        yield


def chosen_device() -> Any:
    """The device that was chosen for this thread and block; None: JAX chooses."""
    return getattr(jax.config, "jax_default_device")  # noqa: B009  (unknown to type checkers)


def current_platform() -> str:
    """The platform of computations at this point: "cpu", "gpu", ..."""
    chosen = chosen_device()
    return jax.default_backend() if chosen is None else chosen.platform


def for_platform(values: Mapping[str, Number]) -> Number:
    """The value for the current platform, from those for "cpu" and for "gpu" (and other
    accelerators).
    """
    return values["cpu" if current_platform() == "cpu" else "gpu"]


# XLA tries dozens of programs for each product before it runs one on a GPU: 50 s for a fit that
# takes 5. The vendor's library needs no trials, and is also faster here.
# On a CPU it has two ways to write fused loops. The older one compiles in half the time, and its
# loops are as fast here. It compiles a program in 32 parts, each of which costs some milliseconds:
# more parts than cores gain nothing.
_OPTIONS: dict[str, dict[str, Any]] = {
    "gpu": {"xla_gpu_autotune_level": 0, "xla_gpu_enable_triton_gemm": False},
    "cpu": {
        "xla_cpu_use_fusion_emitters": False,
        "xla_cpu_parallel_codegen_split_count": min(os.cpu_count() or 1, 32),
    },
}


def compiled(function: Callable[..., Any], **arguments: Any) -> Callable[..., Any]:
    """`jax.jit` with options for short compile times; Ctrl-C can interrupt the compilation."""

    @wraps(function)
    def traced(*values: Any) -> Any:
        with collector_held():  # JAX calls this only to trace
            return function(*values)

    @cache
    def program_for(platform: str, **more: Any) -> Any:
        return jax.jit(traced, compiler_options=_known_options(platform), **arguments, **more)

    ready: set[Any] = set()
    kept: dict[Any, Any] = {}

    @wraps(function)
    def call(*values: Any) -> Any:
        if program_cache.applies():
            return call_kept(*values)
        program = program_for("cpu" if current_platform() == "cpu" else "gpu")
        if leaves_behind() and (signature := _signature(values)) not in ready:
            settings = _settings()
            unless_interrupted(lambda: _compile(program, values, settings))
            ready.add(signature)
        with holding_back():
            return program(*values)

    static = arguments.get("static_argnums", ())
    static = {static} if isinstance(static, int) else set(static)

    def call_kept(*values: Any) -> Any:
        """The same, with a program that may have been saved by an earlier process."""
        dynamic = tuple(value for i, value in enumerate(values) if i not in static)
        fixed = tuple((type(values[i]), values[i]) for i in sorted(static))
        signature = fixed, _signature(dynamic), _weakly_typed(dynamic)
        if signature not in kept:
            settings = _settings()

            def obtain() -> None:
                program = program_for("cpu", keep_unused=True)
                with _set_to(settings):
                    options = function.__qualname__, _known_options("cpu"), settings
                    kept[signature] = program_cache.compiled_or_kept(program, values, options)

            if leaves_behind():
                unless_interrupted(obtain)
            if signature not in kept:
                with holding_back():
                    obtain()
        with holding_back():
            return kept[signature](*dynamic)

    return call


def _weakly_typed(values: tuple[Any, ...]) -> tuple[bool, ...]:
    """For each leaf, whether it is a Python number, whose type adapts to others (weakly typed)."""
    return tuple(bool(getattr(leaf, "weak_type", False)) for leaf in jax.tree.leaves(values))


def _signature(values: tuple[Any, ...]) -> Any:
    """The signature that a program is compiled for; a new one is compiled in a thread."""

    def of_leaf(leaf: Any) -> Any:
        if hasattr(leaf, "dtype"):
            return leaf.shape, leaf.dtype
        return type(leaf) if isinstance(leaf, int | float) else leaf

    leaves, structure = jax.tree.flatten(values)
    return structure, tuple(map(of_leaf, leaves)), _settings()


def _settings() -> tuple[Any, ...]:
    """The settings of this thread; each thread has its own."""
    config: Any = jax.config
    return config.jax_enable_x64, config.jax_default_matmul_precision, chosen_device()


def _compile(program: Any, values: tuple[Any, ...], settings: tuple[Any, ...]) -> None:
    """Compile with these settings of another thread, which then finds the program in JAX's
    cache.
    """
    with _set_to(settings):
        program.lower(*values).compile()


@contextmanager
def _set_to(settings: tuple[Any, ...]) -> Iterator[None]:
    wide, precision, device = settings
    with (
        jax.enable_x64(wide),
        jax.default_matmul_precision(precision),
        jax.default_device(device),
    ):
        yield


def with_these_settings(function: Callable[..., Result]) -> Callable[..., Result]:
    """The function, to be called by other threads with the settings of this one."""
    settings = _settings()

    def call(*values: Any) -> Result:
        with _set_to(settings):
            return function(*values)

    return call


def usable_cores() -> int:
    """How many cores this process may use."""
    known = hasattr(os, "sched_getaffinity")
    return len(os.sched_getaffinity(0)) if known else os.cpu_count() or 1


@cache
def _known_options(platform: str) -> dict[str, Any]:
    """Options that this version of XLA has; flags that the user has set in XLA_FLAGS stay."""

    def is_known(name: str, value: Any) -> bool:
        try:
            jax.jit(lambda x: x, compiler_options={name: value})(0.0)
        except Exception:
            return False
        return True

    flags = os.environ.get("XLA_FLAGS", "")
    options = {name: value for name, value in _OPTIONS[platform].items() if name not in flags}
    return {name: value for name, value in options.items() if is_known(name, value)}


@cache
def _blas_libraries() -> ThreadpoolController:
    """Found once: the search takes milliseconds, more than a prediction of few rows."""
    import scipy.linalg.cython_lapack  # noqa: F401  (XLA's LAPACK is SciPy's)

    return ThreadpoolController()


@contextmanager
def one_lapack_thread() -> Iterator[None]:
    """Within the block LAPACK has one thread.

    XLA calls LAPACK for each small factorisation, and LAPACK's idle threads would keep the cores
    busy that XLA's own products need: on two cores a step would take two to ten times as long.
    """
    with _blas_libraries().limit(limits=1, user_api="blas"):
        yield


class KeepsDeviceCopy:
    """Mixin for immutable objects: keeps a copy of their arrays on the device, made when needed.

    The copy is not part of the object's state: pickles and copies do not contain it.
    """

    def device_copy(self, arrays: Callable[[], Any]) -> Any:
        """The pytree that `arrays` returns, on the device that is chosen for this thread."""
        device = chosen_device()
        kept = self.__dict__.get(_COPY)
        if kept is None or kept[0] != device:
            # If two threads come here, each makes a complete copy, and one copy is kept.
            kept = device, jax.device_put(arrays())
            self.__dict__[_COPY] = kept  # works for frozen dataclasses too
        return kept[1]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != _COPY}
