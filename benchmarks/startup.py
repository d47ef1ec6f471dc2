"""A first fit in a new process: what it costs, and where the time goes.

    python benchmarks/startup.py [kinds of fit] [--no-peers] [--programs]

Each kind of fit runs in a process of its own, defaults unless the name says otherwise, and then
once more in the same process. Printed are seconds of wall clock and, in brackets, of CPU:

    import     NumPy, JAX, scikit-learn, fewknots
    tracing    from Python to JAX's programs
    lowering   from those to XLA's input
    compiling  by XLA; `programs` is how many
    running    the rest of the fit
    predicting `predict_proba` or `predict` on the rows of the fit, with what it compiles
    total      from starting Python to the first predictions
    second     fit and predictions once more

For comparison, on the same rows and also in processes of their own, scikit-learn's
GaussianProcessClassifier and HistGradientBoostingClassifier, and LightGBM if it is installed.

With --programs each kind of fit runs three times: compiling everything, with a folder for compiled
programs that is empty (FEWKNOTS_PROGRAMS), and with what that run has left there.

What other processes do to the clock they do less to the seconds of CPU: look at those on a machine
that is not quiet.
"""

import argparse
import importlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

KINDS = {
    "200 rows": (200, 2, {}),
    "500 rows": (500, 2, {}),
    "2000 rows": (2000, 2, {}),
    "local, 1300": (1300, 2, {"method": "local"}),
    "3 classes, 500": (500, 3, {}),
    "regressor, 500": (500, None, {}),
}
PEERS = {
    "GP": ("sklearn.gaussian_process", "GaussianProcessClassifier"),
    "boosting": ("sklearn.ensemble", "HistGradientBoostingClassifier"),
    "LightGBM": ("lightgbm", "LGBMClassifier"),
}
PARTS = ("import", "tracing", "lowering", "compiling", "running", "predicting", "total", "second")
_EVENTS = {
    "/jax/core/compile/jaxpr_trace_duration": "tracing",
    "/jax/core/compile/jaxpr_to_mlir_module_duration": "lowering",
    "/jax/core/compile/backend_compile_duration": "compiling",
}


class Clock:
    """Wall and CPU time side by side: what lies between any two moments can be asked afterwards."""

    def __init__(self) -> None:
        self.readings: list[tuple[float, float]] = []
        self.running = True
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        while self.running:
            self.now()
            time.sleep(0.005)

    def now(self) -> float:
        moment = time.perf_counter()
        self.readings.append((moment, time.process_time()))
        return moment

    def spent(self, spans: list[tuple[float, float]]) -> tuple[float, float]:
        """Seconds of wall clock and CPU in these spans; where two overlap, once."""
        import numpy as np

        moments, cpu = np.array(sorted(self.readings)).T
        wall_seconds = cpu_seconds = 0.0
        reached = -np.inf
        for start, end in sorted(spans):
            start = max(start, reached)
            if end > start:
                wall_seconds += end - start
                cpu_seconds += float(np.diff(np.interp([start, end], moments, cpu))[0])
                reached = end
        return wall_seconds, cpu_seconds


class Compilations:
    """When JAX traced, lowered and compiled."""

    def __init__(self, clock: Clock) -> None:
        import jax

        self.clock, self.count = clock, 0
        self.spans: dict[str, list[tuple[float, float]]] = {part: [] for part in _EVENTS.values()}
        jax.monitoring.register_event_duration_secs_listener(self._note)

    def _note(self, event: str, duration_secs: float, **_: str | int) -> None:
        part = _EVENTS.get(event)
        if part is not None:
            end = self.clock.now()
            self.spans[part].append((end - duration_secs, end))
            self.count += part == "compiling"

    def split(self, start: float, end: float) -> dict[str, tuple[float, float]]:
        """What each part took between two moments; a span inside another one is the inner one's."""
        found: dict[str, tuple[float, float]] = {}
        inner: list[tuple[float, float]] = []
        for part in ("compiling", "lowering", "tracing"):
            without = self.clock.spent(inner)
            inner += [span for span in self.spans[part] if start <= span[0] and span[1] <= end]
            found[part] = _less(self.clock.spent(inner), without)
        found["running"] = _less(self.clock.spent([(start, end)]), self.clock.spent(inner))
        return found


def _less(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return one[0] - other[0], one[1] - other[1]


def rows(n_rows: int, n_classes: int | None):
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 4))
    f = X[:, 0] ** 2 + X[:, 1] + 0.3 * rng.normal(size=n_rows)
    if n_classes is None:
        return X, f
    return X, np.digitize(f, np.linspace(0.0, 1.0, n_classes + 1)[1:-1])


def fit_in_this_process(kind: str) -> dict:
    clock = Clock()
    began = clock.now()
    import fewknots

    n_rows, n_classes, arguments = KINDS[kind]
    cls = fewknots.GPRegressor if n_classes is None else fewknots.GPClassifier
    imported = clock.now()
    compilations = Compilations(clock)
    X, y = rows(n_rows, n_classes)

    def fit_and_predict() -> tuple[float, float, float]:
        started = clock.now()
        model = cls(random_state=0, **arguments).fit(X, y)
        fitted = clock.now()
        (model.predict if n_classes is None else model.predict_proba)(X)
        return started, fitted, clock.now()

    started, fitted, predicted = fit_and_predict()
    tell_cpu()
    programs = compilations.count
    again, _, ended = fit_and_predict()
    clock.running = False
    parts = {
        "import": clock.spent([(began, imported)]),
        **compilations.split(started, fitted),
        "predicting": clock.spent([(fitted, predicted)]),
        "second": clock.spent([(again, ended)]),
    }
    return {"parts": parts, "programs": programs}


def fit_peer(name: str, kind: str) -> None:
    n_rows, n_classes, _ = KINDS[kind]
    X, y = rows(n_rows, n_classes)
    module, cls = PEERS[name]
    arguments = {"verbose": -1} if name == "LightGBM" else {}  # which prints otherwise
    model = getattr(importlib.import_module(module), cls)(**arguments)
    model.fit(X, y).predict_proba(X)
    tell_cpu()


def tell_cpu() -> None:
    """The seconds of CPU of this process, at once."""
    print(time.process_time(), flush=True)


def in_new_process(*arguments: str, programs: str = "off") -> tuple[tuple[float, float], str]:
    """Its seconds of wall clock and CPU until the first predictions, and what it printed then."""
    started = time.perf_counter()
    command = [sys.executable, "-W", "ignore", __file__, *arguments]
    environment = os.environ | {"FEWKNOTS_PROGRAMS": programs}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        cpu = float(process.stdout.readline())
        wall = time.perf_counter() - started
        printed = process.stdout.read()
    return (wall, cpu), printed


def print_row(kind: str, words: str, programs: str) -> None:
    whole, printed = in_new_process(kind, "--here", programs=programs)
    found = json.loads(printed)
    parts = {name: tuple(seconds) for name, seconds in found["parts"].items()}
    parts["total"] = whole
    columns = [told(parts[part]) for part in PARTS]
    print(f"| {kind}{words} | " + " | ".join(columns) + f" | {found['programs']} |", flush=True)


def told(seconds: tuple[float, float]) -> str:
    return f"{seconds[0]:.2f} ({seconds[1]:.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("kinds", nargs="*", default=list(KINDS))
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--programs", action="store_true")
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        fit_peer(options.peer, options.kinds[0])
        return
    if options.here:
        print(json.dumps(fit_in_this_process(options.kinds[0])))
        return
    print("seconds of wall clock (of CPU)\n")
    print("| fit | " + " | ".join((*PARTS, "programs")) + " |")
    print("|---" * (len(PARTS) + 2) + "|", flush=True)
    for kind in options.kinds:
        with tempfile.TemporaryDirectory() as folder:
            kept = {"": "off"}
            if options.programs:
                kept |= {", folder empty": folder, ", folder filled": folder}
            for words, programs in kept.items():
                print_row(kind, words, programs)
    if options.no_peers:
        return
    peers = [name for name, (module, _) in PEERS.items() if _is_installed(module)]
    print("\n| total | " + " | ".join(peers) + " |\n" + "|---" * (len(peers) + 1) + "|")
    for kind in options.kinds:
        if KINDS[kind][1] is not None and not KINDS[kind][2]:
            columns = [told(in_new_process(kind, "--peer", name)[0]) for name in peers]
            print(f"| {kind} | " + " | ".join(columns) + " |", flush=True)


def _is_installed(module: str) -> bool:
    return importlib.util.find_spec(module.split(".")[0]) is not None


if __name__ == "__main__":
    main()
