"""Make ``coins.json``: vectors that the NumPy, C++ and JavaScript coins must all reproduce, float64 as 16 hex digits."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

from headstart.coins import STREAMS, RoundCoins, exp, log, pick, race, uniform, words
from headstart.law import Law

SEEDS = (0, 1, 7, 2**31, 2**32 - 1, 2**32, 2**53 + 1, 2**64 - 1)


def hexed(x: float) -> str:
    return struct.pack(">d", x).hex()


def vectors() -> dict[str, Any]:
    rng = np.random.default_rng(20240817)
    pairs = [*rng.integers(0, 2**32, (24, 4)).tolist(), [0] * 4, [2**32 - 1] * 4]
    xs = np.concatenate(
        [rng.random(60), 1 - rng.random(30) * 1e-9, np.ldexp(0.5 + rng.random(60) / 2, rng.integers(-1000, 1000, 60))]
    )
    xs = np.concatenate([xs, [1.0, 2.0, 0.5, 0.7071067811865475, 0.7071067811865476, 2.0**-53, 1 - 2.0**-53]])
    zs = np.concatenate([-rng.random(60), -rng.random(60) * 700, rng.random(20) * 700])
    zs = np.concatenate([zs, [0.0, -0.0, -708.0, -708.0001, 709.0, 709.0001, -1e9, 0.34657359027997264]])
    drawn = [rng.integers(1, 1000, n) for n in (1, 2, 3, 5, 40)]
    weights = [*((w / w.sum()).tolist() for w in drawn), [0.0, 0.5, 0.0, 0.5, 0.0]]
    return {
        "words": [[a, b, c, d, *words((a, b), (c, d))] for a, b, c, d in pairs],
        "uniform": [[a, b, hexed(uniform(a, b))] for a, b, _, _ in pairs],
        "log": [[hexed(x), hexed(y)] for x, y in zip(xs, log(xs), strict=True)],
        "exp": [[hexed(x), hexed(y)] for x, y in zip(zs, exp(zs), strict=True)],
        "draws": [
            [str(seed), choice, round_, stream, node, hexed(RoundCoins(seed, choice, round_)._draw(stream, node))]
            for seed in SEEDS
            for choice, round_, node in ((0, 0, -1), (0, 3, 2), (2, 900, 5))
            for stream in STREAMS
        ],
        "targets": [
            [str(seed), choice, position, [hexed(w) for w in ws], RoundCoins(seed, choice).target(Law.of(ws), position)]
            for seed in SEEDS[:4]
            for choice, position in ((0, 0), (3, 70000))
            for ws in weights
        ],
        "races": [
            [a, b, [hexed(w) for w in ws], race(Law.of(ws), (a, b))[0]] for a, b, _, _ in pairs for ws in weights
        ],
        "picks": [
            [[hexed(w) for w in ws], hexed(u), pick(Law.of(ws), u)]
            for ws in weights
            for u in (2.0**-53, 0.25, 0.5, 0.9, 1 - 2.0**-53)
        ],
    }


def main() -> None:
    rows = {name: [json.dumps(row) for row in rows] for name, rows in vectors().items()}
    body = ",\n".join(f'"{name}": [\n' + ",\n".join(lines) + "\n]" for name, lines in rows.items())
    Path(__file__).with_name("coins.json").write_text("{\n" + body + "\n}\n")


if __name__ == "__main__":
    main()
