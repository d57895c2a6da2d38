"""All weight matrices of a model, multiplied by few rows: milliseconds, GB/s and the share of the measured bandwidth.

    python benchmarks/matrix.py --model smollm2-135m --kind Q4_1 --head Q8_0
    python benchmarks/matrix.py --model llama-3.2-1b --kind Q4_K --head Q6_K --isa avx2 --threads 2

The ceiling is read in the same run: the same number of bytes, read in order by the same number of threads. Weights are
random, shapes are the model's; ``7b`` has 6 of its 32 layers, to fit memory. Rounds of all cells are interleaved; a
cell is the median, its spread the quartiles. The last line is JSON. It does not know the rest of a pass.
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headstart import _native

# Of each quantised kind: inputs and bytes of a block of the file, and where its half-precision numbers stand.
BLOCKS: dict[str, tuple[int, int, tuple[int, ...]]] = {
    "Q8_0": (32, 34, (0,)),
    "Q4_0": (32, 18, (0,)),
    "Q4_1": (32, 20, (0, 2)),
    "Q5_0": (32, 22, (0,)),
    "Q5_1": (32, 24, (0, 2)),
    "Q4_K": (256, 144, (0, 2)),
    "Q5_K": (256, 176, (0, 2)),
    "Q6_K": (256, 210, (208,)),
}
FLOATS = {"F32": 4, "F16": 2, "BF16": 2}


@dataclass(frozen=True)
class Shape:
    """What the matrices of a model measure: inputs of a layer, of its second half, layers, and outputs of q, k and the head."""

    hidden: int
    mlp: int
    layers: int
    q: int
    kv: int
    vocab: int


SHAPES = {
    "smollm2-135m": Shape(576, 1536, 30, 576, 192, 49152),
    "qwen2.5-0.5b": Shape(896, 4864, 24, 896, 128, 151936),
    "llama-3.2-1b": Shape(2048, 8192, 16, 2048, 512, 128256),
    "7b": Shape(4096, 11008, 6, 4096, 4096, 32000),
}


def random_matrix(kind: str, outputs: int, inputs: int, isa: str) -> Any:
    """A matrix of that shape with random codes and modest scales."""
    rng = np.random.default_rng(0)
    if kind in FLOATS:
        raw = np.resize(np.full(64, 0x3C, np.uint8), outputs * inputs * FLOATS[kind])
    else:
        size, width, halves = BLOCKS[kind]
        blocks = np.resize(rng.integers(0, 256, (4096, width), dtype=np.uint8), (outputs * inputs // size, width))
        for at in halves:
            blocks[:, at : at + 2] = np.array([0.01], np.float16).view(np.uint8)
        raw = blocks.ravel()
    return _native.Matrix(kind, outputs, inputs, raw, isa)


def steps_of(shape: Shape, kind: str, head: str, isa: str) -> list[list[Any]]:
    """Every matrix of the model, in lists that may run side by side."""

    def matrix(outputs: int, inputs: int) -> Any:
        return random_matrix(kind, outputs, inputs, isa)

    steps = []
    for _ in range(shape.layers):
        steps.append([matrix(outputs, shape.hidden) for outputs in (shape.q, shape.kv, shape.kv)])
        steps.append([matrix(shape.hidden, shape.q)])
        steps.append([matrix(shape.mlp, shape.hidden), matrix(shape.mlp, shape.hidden)])
        steps.append([matrix(shape.hidden, shape.mlp)])
    return [*steps, [random_matrix(head, shape.vocab, shape.hidden, isa)]]


def measure(
    steps: list[list[Any]], size: int, rows: Sequence[int], threads: int, rounds: int
) -> Iterator[dict[str, Any]]:
    """A record for each number of rows; reads and products take turns, so that all see the same machine."""
    reads: list[float] = []
    seconds: dict[int, list[float]] = {count: [] for count in rows}
    for _ in range(rounds):
        reads += _native.time_reading(size, threads, 3)
        for count in rows:
            seconds[count] += _native.time_products(steps, count, threads, 3)
    bandwidth = size / float(np.median(reads)) / 1e9
    for count in rows:
        low, middle, high = np.percentile(seconds[count], [25, 50, 75])
        rate = size / middle / 1e9
        yield {
            "rows": count,
            "ms": round(middle * 1e3, 3),
            "quartiles_ms": [round(low * 1e3, 3), round(high * 1e3, 3)],
            "best_ms": round(min(seconds[count]) * 1e3, 3),
            "gb_s": round(rate, 1),
            "bandwidth_gb_s": round(bandwidth, 1),
            "bandwidth_share": round(rate / bandwidth, 3),
        }


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=SHAPES, default="smollm2-135m")
    parser.add_argument("--kind", choices=[*BLOCKS, *FLOATS], default="Q4_1", help="of the layers")
    parser.add_argument("--head", choices=[*BLOCKS, *FLOATS], default=None, help="of the head; default: as the layers")
    parser.add_argument("--isa", choices=_native.available_isas(), default=_native.chosen_isa())
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--rounds", type=int, default=7)
    return parser.parse_args()


def main() -> None:
    """Measure, print a table, and the same as JSON on the last line."""
    given = arguments()
    steps = steps_of(SHAPES[given.model], given.kind, given.head or given.kind, given.isa)
    size = sum(matrix.bytes for step in steps for matrix in step)
    report: dict[str, Any] = {**vars(given), "bytes": size, "machine": platform.platform(), "cells": {}}
    print(f"{given.model} {given.kind}, {given.isa}: {size / 1e6:.0f} MB")
    for threads in given.threads:
        cells = list(measure(steps, size, given.rows, threads, given.rounds))
        report["cells"][threads] = cells
        print(f"\n{threads} thread(s), reading alone {cells[0]['bandwidth_gb_s']} GB/s")
        print("rows      ms   (quartiles)     best    GB/s  share  / 1st")
        for cell in cells:
            low, high = cell["quartiles_ms"]
            print(
                f"{cell['rows']:4} {cell['ms']:7.2f}  ({low:.2f}-{high:.2f}) {cell['best_ms']:8.2f} {cell['gb_s']:7.1f}"
                f"  {cell['bandwidth_share']:5.0%}  {cell['ms'] / cells[0]['ms']:.2f}x"
            )
    print(json.dumps(report))


if __name__ == "__main__":
    main()
