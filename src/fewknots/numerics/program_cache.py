"""A cache of compiled programs for later processes: off unless FEWKNOTS_PROGRAMS is set.

    FEWKNOTS_PROGRAMS=on        the user's folder for caches, ~/.cache/fewknots/programs
    FEWKNOTS_PROGRAMS=FOLDER    another folder (program_folder.py says which folders are refused)

JAX has such a cache, too, but its folder is a setting of the whole process, which would affect the
user's other programs. Here a program is looked up by everything that it was compiled from:

    its text           StableHLO with every constant, as JAX hands it to XLA
    its arguments      shapes and types of all, also of those that it does not use
    its structure      the pytrees of arguments and results, with the classes of their nodes
    the settings       all of JAX's, and XLA's options
    the environment    processor, host, number of cores, builds of Python, JAX and jaxlib, variables
                       that XLA reads

Two programs with the same text can differ: f(a, b) = a + 1 and f(a, b) = b + 1 have the same text
if JAX removes unused arguments, and the second would get the wrong argument. So unused arguments
are kept here (`keep_unused`).

Tracing and lowering are always done, since they determine the program; only XLA's part is saved.

Only on Linux, with one CPU device, and where JAX's own cache is off.
"""

import hashlib
import os
import platform
import sys
from collections.abc import Callable
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import jax
from jax.experimental.serialize_executable import deserialize_and_load, serialize

from ..exceptions import InputWarning, warn
from .program_folder import ProgramFolder, UnusableFolderError

VARIABLE = "FEWKNOTS_PROGRAMS"
_OFF, _ON = ("", "0", "off"), ("1", "on")
_READ_BY_XLA = ("JAX_", "XLA_", "TF_", "PJRT_", "NPROC", "TSL_")
# With these settings JAX does more than run a program once.
_WATCHED = ("jax_disable_jit", "jax_debug_nans", "jax_debug_infs", "jax_compilation_cache_dir")


def applies() -> bool:
    """Whether programs that run now are cached."""
    return program_folder() is not None and not any(
        getattr(jax.config, name, None) for name in _WATCHED
    )


@cache
def program_folder() -> ProgramFolder | None:
    """The folder for programs; None: no cache."""
    chosen = os.environ.get(VARIABLE, "")
    if chosen.lower() in _OFF:
        return None
    environment = _environment()
    if environment is None:
        return None
    try:
        return ProgramFolder(_named(chosen), environment)
    except UnusableFolderError as error:
        warn(
            f"compiled programs are not cached: {error}. {VARIABLE} names the folder; 'off' "
            "disables the cache.",
            InputWarning,
        )
        return None


def _named(chosen: str) -> Path:
    if chosen.lower() not in _ON:
        return Path(chosen).expanduser().absolute()
    caches = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG standard says to ignore a relative path.
    root = Path(caches) if os.path.isabs(caches) else Path.home() / ".cache"
    return root / "fewknots" / "programs"


def compiled_or_kept(program: Any, values: tuple[Any, ...], options: Any) -> Callable[..., Any]:
    """A jitted function as one compiled program, read from the folder if it is there.

    `options` are further compiler options. The result takes the arguments that are not static.
    """
    folder = program_folder()
    assert folder is not None
    lowered = program.lower(*values)
    text = lowered.as_text()
    if "callback" in text:  # it holds an address in this process
        return lowered.compile()
    name = _name(text, lowered, options)
    content = folder.read(name)
    if content is not None:
        try:
            return deserialize_and_load(content, lowered.in_tree, lowered.out_tree)
        except Exception:  # errors of many kinds: what XLA cannot read is compiled again
            folder.remove(name)
    made = lowered.compile()
    try:
        content = serialize(made)[0]
    except (NotImplementedError, ValueError):  # not every program can be serialised
        return made
    folder.write(name, content)
    return made


def _name(text: str, lowered: Any, options: Any) -> str:
    settings = sorted((name, repr(getattr(jax.config, name, None))) for name in jax.config.values)
    structure = lowered.in_tree, lowered.out_tree, lowered.args_info
    parts = (text, *map(str, structure), repr(options), repr(settings))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _environment() -> str | None:
    """The environment that compiled programs depend on; None: unknown, so no cache."""
    processor = _processor()
    one_cpu = jax.default_backend() == "cpu" and jax.device_count() == 1
    if sys.platform != "linux" or processor is None or not one_cpu:
        return None
    try:
        builds = [distribution(name).read_text("RECORD") for name in ("jax", "jaxlib")]
    except PackageNotFoundError:
        return None
    if None in builds:
        return None
    variables = sorted(item for item in os.environ.items() if item[0].startswith(_READ_BY_XLA))
    parts = (
        *builds,
        sys.version,
        *platform.uname(),
        _text_of("/etc/machine-id"),
        processor,
        os.cpu_count(),
        len(os.sched_getaffinity(0)),
        variables,
    )
    return repr(parts)


def _processor() -> str | None:
    """Model and features of the processors."""
    lines = _text_of("/proc/cpuinfo").splitlines()
    wanted = ("flags", "features", "model name", "cpu family", "model", "stepping", "cpu part")
    found = {line for line in lines if line.split(":")[0].strip().lower() in wanted}
    known = any(line.lower().startswith(("flags", "features")) for line in found)
    return repr(sorted(found)) if known else None


def _text_of(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
