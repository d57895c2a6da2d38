"""Passes of few rows with one thread and with two, on an idle machine and beside processes that spin.

    python benchmarks/threads.py [--model NAME] [--rounds 12] [--rows 1 4 8] [--threads 1 2] [--burners 0 1 2]

Two threads should never be slower than one while a core is free, and not collapse when none is. Settings take turns in
every round, so that all see the same machine; burners are held by a signal while they are not wanted. Reported in
milliseconds a pass: median, quartiles and the best, and the median over rounds, with quartiles, of (first number of
threads / this one): above 1 is faster. On a shared machine ``--patience 20`` waits up to 20 seconds before a round for
a moment when nobody else computes, and the report says how many rounds began in one. The last line is JSON.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from headstart.backends.native import NativeModel
from headstart.models import load
from headstart.protocols import Batch

STATISTICS = Path("/proc/stat")
CONTEXT = 64  # tokens before the rows of a pass
SETTLE_S = 0.1  # until the system has spread the burners over the cores


@contextmanager
def burners(count: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """So many processes that spin once they are told to go on."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        for process in processes:
            process.send_signal(signal.SIGSTOP)
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


@contextmanager
def burning(processes: Sequence[subprocess.Popen[bytes]]) -> Iterator[None]:
    """These spin in the block."""
    for process in processes:
        process.send_signal(signal.SIGCONT)
    try:
        yield
    finally:
        for process in processes:
            process.send_signal(signal.SIGSTOP)


def idle_share(seconds: float = 0.3) -> float:
    """Share of all processors' time that nobody used during a short sleep; 0 where the system does not say."""
    ticks = []
    for wait in (seconds, 0.0):
        if not STATISTICS.exists():
            return 0.0
        ticks.append([int(word) for word in STATISTICS.read_text().split("\n", 1)[0].split()[1:9]])
        time.sleep(wait)
    spent = np.subtract(ticks[1], ticks[0])
    return float(spent[3] + spent[4]) / max(float(spent.sum()), 1.0)


def quiet(patience: float) -> bool:
    """Wait for a moment when nobody else computes; returns whether one came."""
    end = time.monotonic() + patience
    while not (found := idle_share() > 0.95) and time.monotonic() < end:
        pass
    return found


def opened(model: NativeModel) -> int:
    """A sequence that holds some text."""
    sequence = model.open()
    model.forward(Batch.chain(sequence, list(range(CONTEXT)), wanted="none"))
    model.keep(sequence, range(CONTEXT))
    return sequence


def passes_ms(model: NativeModel, sequence: int, rows: int, count: int) -> list[float]:
    """Milliseconds of passes in a row, after one that is not counted."""
    batch = Batch.chain(sequence, list(range(100, 100 + rows)), wanted="all")
    found = []
    for _ in range(count + 1):
        start = time.perf_counter()
        model.forward(batch)
        found.append(1e3 * (time.perf_counter() - start))
    return found[1:]


def measure(args: argparse.Namespace) -> tuple[dict[tuple[int, int, int], list[list[float]]], int]:
    """Of each (burners, rows, threads): the passes of every round; and how many rounds began in quiet."""
    weights = load(args.model)
    models = {threads: NativeModel(weights, threads=threads) for threads in args.threads}
    sequences = {threads: opened(model) for threads, model in models.items()}
    settings = list(itertools.product(args.burners, args.rows))
    found: dict[tuple[int, int, int], list[list[float]]] = {}
    quiet_rounds = 0
    with burners(max(args.burners)) as processes:
        for number in range(args.rounds):
            quiet_rounds += quiet(args.patience)
            for spinning, rows in settings:
                for threads in args.threads[:: 1 if number % 2 else -1]:
                    with burning(processes[:spinning]):
                        time.sleep(SETTLE_S)
                        one = passes_ms(models[threads], sequences[threads], rows, args.passes)
                        found.setdefault((spinning, rows, threads), []).append(one)
    return found, quiet_rounds


def quartiles(values: Any) -> list[float]:
    return [round(float(value), 3) for value in np.percentile(values, [25, 50, 75])]


def cell(found: dict[tuple[int, int, int], list[list[float]]], key: tuple[int, int, int], first: int) -> dict[str, Any]:
    """A setting's figures; its ratios compare the medians of the same round."""
    spinning, rows, threads = key
    reference, these = (np.median(found[spinning, rows, each], axis=1) for each in (first, threads))
    low, middle, high = quartiles(found[key])
    ratio_low, ratio, ratio_high = quartiles(reference / these)
    return {
        "burners": spinning,
        "rows": rows,
        "threads": threads,
        "ms": middle,
        "quartiles_ms": [low, high],
        "best_ms": round(float(np.min(found[key])), 3),
        "ratio": ratio,
        "quartiles_ratio": [ratio_low, ratio_high],
    }


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m-instruct")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--passes", type=int, default=16, help="in a row, of each setting in each round")
    parser.add_argument("--patience", type=float, default=0.0, help="seconds to wait for quiet before each round")
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 4, 8])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--burners", type=int, nargs="+", default=[0, 1, 2])
    return parser.parse_args()


def main() -> None:
    """Measure, print a table, and the same as JSON on the last line."""
    args = arguments()
    found, quiet_rounds = measure(args)
    cells = [cell(found, key, args.threads[0]) for key in sorted(found)]
    print(f"{args.model}, {os.cpu_count()} cores, {quiet_rounds} of {args.rounds} rounds began in quiet")
    print("burners  rows  threads      ms   (quartiles)     best   ratio   (quartiles)")
    for one in cells:
        (low, high), (ratio_low, ratio_high) = one["quartiles_ms"], one["quartiles_ratio"]
        print(
            f"{one['burners']:7} {one['rows']:5} {one['threads']:8} {one['ms']:7.2f}  ({low:.2f}-{high:.2f})"
            f" {one['best_ms']:8.2f} {one['ratio']:7.2f}   ({ratio_low:.2f}-{ratio_high:.2f})"
        )
    machine = {"machine": platform.platform(), "cores": os.cpu_count(), "quiet_rounds": quiet_rounds}
    print(json.dumps({"benchmark": "threads", **machine, **vars(args), "cells": cells}))


if __name__ == "__main__":
    main()
