"""What the test suite costs: its seconds, and the most memory all its processes hold together.

    python benchmarks/suite_memory.py [--busy 4] [--every 0.5] [pytest arguments]

Looks at the whole tree of processes (pytest, its workers, the programs and browsers that tests
start) all the time, and prints the fullest moment, who held what in it, and the exit status of
pytest. RSS counts pages that processes share once for each of them; PSS divides them fairly.
`--busy` keeps that many other processes computing meanwhile: no test may depend on an idle machine.
"""

import argparse
import signal
import subprocess
import sys
import time

import psutil

MB = 1024**2
Held = list[tuple[str, int, int]]  # for each process: what it is, RSS and PSS in bytes


def told(process: psutil.Process) -> str:
    """What a process is, in a few words: the command line without what is the same in all."""
    words = [word.rsplit("/", 1)[-1] for word in process.cmdline()]
    return " ".join(words)[:70].replace("\n", " ") or process.name()


def held_now(root: psutil.Process) -> Held:
    """The memory of every process of the tree; one that ends meanwhile holds nothing."""
    held = []
    for process in [root, *root.children(recursive=True)]:
        try:
            memory = process.memory_full_info()
            held.append((told(process), memory.rss, memory.pss))
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return held


def watched(command: list[str], every: float) -> tuple[int, float, Held, int]:
    """Runs a command to its end.

    Returns its exit status, its seconds, its fullest moment by RSS, and the most PSS.
    """
    started = time.perf_counter()
    running = subprocess.Popen(command)
    root = psutil.Process(running.pid)
    fullest: Held = []
    most_pss = 0
    try:
        while running.poll() is None:
            held = held_now(root)
            fullest = max(fullest, held, key=lambda some: sum(rss for _, rss, _ in some))
            most_pss = max(most_pss, sum(pss for _, _, pss in held))
            time.sleep(every)
    finally:
        running.terminate()
    return running.returncode, time.perf_counter() - started, fullest, most_pss


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--busy", type=int, default=0, help="other processes that compute meanwhile"
    )
    parser.add_argument("--every", type=float, default=0.5, help="seconds between two looks")
    options, rest = parser.parse_known_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # and end what was started
    busy = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(options.busy)
    ]
    try:
        status, seconds, fullest, most_pss = watched(
            [sys.executable, "-m", "pytest", *rest], options.every
        )
    finally:
        for process in busy:
            process.kill()
            process.wait()
    print(f"{seconds:.0f} s, exit status {status}, {options.busy} busy processes beside it")
    print(f"most memory together: {sum(rss for _, rss, _ in fullest) / MB:,.0f} MB as RSS,")
    print(f"                      {most_pss / MB:,.0f} MB as PSS")
    print("at the fullest moment:")
    for name, rss, pss in sorted(fullest, key=lambda one: -one[1]):
        print(f"  {rss / MB:8,.0f} MB  PSS {pss / MB:8,.0f} MB  {name}")
    return status


if __name__ == "__main__":
    sys.exit(main())
