"""Serving: rows a second of an exported model in onnxruntime beside `predict_proba`, in one run.

    python benchmarks/serving.py [--data FOLDER] [--inducing 500]

With FOLDER (or FEWKNOTS_DATA) the model is that of the flights, eight features; else one of
generated waveforms, 21 features. Both predict the same rows, warm, in requests of 1, 100 and 10,000
rows, best of three, in turn; the last column is what the server of docs/serving.md answers over
HTTP. Also: how far the probabilities are apart, the files' sizes, and how long a new process takes
to its first answer.
"""

import argparse
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import numpy as np
import onnxruntime

sys.path.insert(0, str(Path(__file__).parent))
import flights
from fewknots import GPClassifier, datasets

REQUESTS = {1: 300, 100: 100, 10_000: 3}  # rows in a request: how many requests are timed
PAGE = Path(__file__).parent.parent / "docs" / "serving.md"
FIRST_ANSWER = {
    "predict_proba": """
import numpy as np, fewknots
fewknots.load("m.fewknots").predict_proba(np.load("rows.npy")[:1])""",
    "float32": """
import numpy as np, onnxruntime
onnxruntime.InferenceSession("float32.onnx").run(None, {"X": np.load("rows.npy")[:1]})""",
}


def load_task(folder: Path | None):
    if folder is not None and (folder / "airline_8feature.parquet").exists():
        task = flights.load(folder)
        return task.X, task.y, task.X_test[:10_000], task.kernel
    train, test = (datasets.generate("waveform", n, seed=n) for n in (100_000, 10_000))
    return train.X, train.y, test.X, "matern32 + linear"


def rows_a_second(answer, X: np.ndarray, size: int) -> float:
    answer(X[:size])
    best = np.inf
    for _ in range(3):
        started = time.perf_counter()
        for i in range(REQUESTS[size]):
            start = i * size % len(X)
            answer(X[start : start + size])
        best = min(best, time.perf_counter() - started)
    return REQUESTS[size] * size / best


def start_server(folder: Path) -> tuple[subprocess.Popen, int]:
    """The page's own server, in a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = re.search(r"```python\n(import json\n.*?)```", PAGE.read_text(), re.DOTALL)[1]
    program = program.replace("8000", str(port)).replace("flights.onnx", "float32.onnx")
    quiet = "    def log_message(self, *_):\n        pass\n\n    def do_POST"
    program = program.replace("    def do_POST", quiet)
    server = subprocess.Popen([sys.executable, "-c", program], cwd=folder)
    for _ in range(300):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.1)
        else:
            return server, port
    raise RuntimeError("the server does not answer")


def over_http(port: int):
    def answer(X):
        body = json.dumps(X.tolist()).encode()
        with urllib.request.urlopen(f"http://127.0.0.1:{port}", body) as reply:
            return json.load(reply)

    return answer


def seconds_to_first_answer(program: str, folder: Path) -> float:
    times = []
    for _ in range(3):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", program], cwd=folder, check=True)
        times.append(time.perf_counter() - started)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("FEWKNOTS_DATA"))
    parser.add_argument("--inducing", type=int, default=500)
    options = parser.parse_args()
    X, y, rows, kernel = load_task(None if options.data is None else Path(options.data))
    fitted = GPClassifier(kernel, n_inducing=options.inducing, max_iter=400, random_state=0)
    fitted.fit(X, y)
    M, D = fitted.inducing_points_.shape
    print(f"M = {M}, D = {D}, {fitted.posterior_.points.dtype} posterior, {os.cpu_count()} cores")
    rows = rows.astype(np.float32).astype(np.float64)  # the same numbers for both precisions
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        measure(fitted, rows, folder)


def measure(fitted: GPClassifier, rows: np.ndarray, folder: Path) -> None:
    fitted.save(folder / "m.fewknots")
    np.save(folder / "rows.npy", rows.astype(np.float32))
    ways = {"predict_proba": fitted.predict_proba}
    found = {}
    for dtype in ("float32", "float64"):
        path = folder / f"{dtype}.onnx"
        fitted.to_onnx(path, dtype=dtype)
        ways[dtype] = exported(path, dtype)
        found[dtype] = ways[dtype](rows)
        apart = np.abs(found[dtype] - fitted.predict_proba(rows)).max()
        M, D = fitted.inducing_points_.shape
        numbers = path.stat().st_size / np.dtype(dtype).itemsize
        share = numbers / (M * (M + D))
        print(f"{dtype}: {apart:.1e} from predict_proba, {share:.2f} M(M + D) numbers")
    print(f"float32 from float64: {np.abs(found['float32'] - found['float64']).max():.1e}")
    server, port = start_server(folder)
    try:
        ways["HTTP"] = over_http(port)
        print(f"{'rows in a request':>18}" + "".join(f"{name:>20}" for name in ways))
        for size in REQUESTS:
            rates = [rows_a_second(answer, rows, size) for answer in ways.values()]
            cells = "".join(f"{r:>12,.0f} ({r / rates[0]:>4.1f}x)" for r in rates)
            print(f"{size:>18}{cells}")
    finally:
        server.terminate()
        server.wait()
    for name, program in FIRST_ANSWER.items():
        seconds = seconds_to_first_answer(program, folder)
        print(f"a new process's first answer, {name}: {seconds:.2f} s")


def exported(path: Path, dtype: str):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])

    def answer(X):
        return session.run(["probabilities"], {"X": X.astype(dtype)})[0]

    return answer


if __name__ == "__main__":
    main()
