"""What a round costs outside the target's pass and the building of laws: drafting, verdict, commit, text, figures.

    python benchmarks/overhead.py [--model NAME] [--tokens 192] [--answers 4]

With every feature on (penalties, bias, bans, a JSON schema, log-probabilities of 5, stop strings, min_tokens) and with none,
at temperature 0 and 0.8, drafted by lookup. Reported per setting, in milliseconds a round: median, 10th and 90th percentile
outside passes and laws, as wall time and as time on the processor of this thread, and the median of both excluded parts. The last
line on stdout is JSON.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from headstart.engine import Engine, Stream
from headstart.grammar import Grammar
from headstart.native import native

SCHEMA = {
    "type": "array",
    "minItems": 30,
    "items": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 12},
            "colour": {"enum": ["red", "green", "blue"]},
            "legs": {"type": "integer", "minimum": 0, "maximum": 100},
        },
        "required": ["name", "colour", "legs"],
        "additionalProperties": False,
    },
}
PROMPT = "List thirty animals with their name, colour and number of legs as JSON."
FEATURES: dict[str, Any] = {
    "repetition_penalty": 1.05,
    "presence_penalty": 0.1,
    "frequency_penalty": 0.02,
    "logit_bias": dict.fromkeys(range(1000, 1020), 0.5),
    "banned_tokens": list(range(2000, 2020)),
    "grammar": Grammar.json_schema(SCHEMA),
    "logprobs": 5,
    "stop": ["\n\n\n", "THE END"],
    "min_tokens": 32,
}


@dataclass
class Spent:
    """Seconds in one part of the rounds, by wall clock and by this thread's processor time."""

    wall: float = 0.0
    processor: float = 0.0

    def run(self, work: Any, *args: Any, **named: Any) -> Any:
        wall, processor = time.perf_counter(), time.thread_time()
        try:
            return work(*args, **named)
        finally:
            self.processor += time.thread_time() - processor
            self.wall += time.perf_counter() - wall


class Watched:
    """Something whose one method is timed."""

    def __init__(self, inner: Any, method: str) -> None:
        self.inner, self.spent = inner, Spent()
        work = getattr(inner, method)
        setattr(self, method, lambda *args, **named: self.spent.run(work, *args, **named))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def rounds_of(engine: Engine, seed: int, args: argparse.Namespace, options: dict[str, Any]) -> list[list[float]]:
    """Of each round: wall and processor milliseconds outside, wall milliseconds of passes and of laws, tokens."""
    rounds = []
    target = Watched(engine.model, "forward")
    engine.model = target
    with engine.stream(PROMPT, max_tokens=args.tokens, seed=seed, drafter="lookup", **options) as stream:
        laws = Watched(stream.request.sampling, "law")
        stream.request.sampling = laws  # type: ignore[assignment]
        stream.start()
        while not stream.done:
            rounds.append(one(stream, target.spent, laws.spent))
    engine.model = target.inner
    return rounds


def one(stream: Stream, passes: Spent, laws: Spent) -> list[float]:
    passes.wall = passes.processor = laws.wall = laws.processor = 0.0
    tokens, whole = len(stream.request.tokens), Spent()
    whole.run(stream.advance)
    stream.request.text.take()
    outside = [whole.wall - passes.wall - laws.wall, whole.processor - passes.processor - laws.processor]
    return [1e3 * s for s in (*outside, passes.wall, laws.wall)] + [len(stream.request.tokens) - tokens]


def summary(rounds: list[list[float]]) -> dict[str, float]:
    table = np.array(rounds)
    low, median, high = np.percentile(table, [10, 50, 90], axis=0)
    return {
        "rounds": len(table),
        "tokens_per_round": float(table[:, 4].mean()),
        "outside_p10_ms": low[0],
        "outside_ms": median[0],
        "outside_p90_ms": high[0],
        "outside_processor_ms": median[1],
        "outside_processor_p90_ms": high[1],
        "pass_ms": median[2],
        "laws_ms": median[3],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m-instruct")
    parser.add_argument("--tokens", type=int, default=192)
    parser.add_argument("--answers", type=int, default=4)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    engine = Engine(args.model, threads=args.threads)
    settings = {
        f"{name}, temperature {temperature}": {**options, "temperature": temperature}
        for name, options in (("no features", {}), ("all features", FEATURES))
        for temperature in (0.0, 0.8)
    }
    rounds: dict[str, list[list[float]]] = {name: [] for name in settings}
    for seed in range(args.answers):
        for name, options in settings.items():
            rounds[name] += rounds_of(engine, seed, args, options)[2:]
    cells = {name: summary(found) for name, found in rounds.items()}
    for name, cell in cells.items():
        print(name + ":", ", ".join(f"{key} {value:.3f}" for key, value in cell.items()))
    isa = None if native is None else native.chosen_isa()
    report = {"benchmark": "overhead", "machine": platform.machine(), "isa": isa, **vars(args), "cells": cells}
    print(json.dumps(report))


if __name__ == "__main__":
    main()
