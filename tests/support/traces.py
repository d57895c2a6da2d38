"""Traces of toy worlds for tests: one answer by any rule, read and written as plain records."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from headstart.engine import Engine
from headstart.law import Law
from headstart.toy import World

__all__ = ["RULES", "WIDE", "records", "rewritten", "traced", "wide_world"]

WIDE = 600
"""Words of a world whose laws are too wide to be stored whole."""

RULES = [
    ("text", None, "lookup"),
    ("text", None, "none"),
    ("text", None, "model"),
    ("law", "walk", "lookup"),
    ("law", "token", "model"),
    ("law", "block", "model"),
    ("law", "multi-step", "model"),
    ("law", "traversal", "model"),
    ("law", "k-seq", "model"),
    ("lossy", "lossy-typical", "model"),
    ("lossy", "lossy-lenience", "model"),
]


def wide_rule(shift: int) -> Callable[[tuple[int, ...]], Law]:
    def law(context: tuple[int, ...]) -> Law:
        weights = np.random.default_rng([shift, *context[-2:]]).exponential(size=WIDE) ** 3
        base = np.random.default_rng(context[-1]).exponential(size=WIDE) ** 3
        mixed = weights + 4 * base
        return Law(mixed / np.add.accumulate(mixed)[-1], None, WIDE)

    return law


def wide_world() -> World:
    return World("wide", tuple(f"w{i}" for i in range(WIDE)), wide_rule(1), wide_rule(2))


def traced(path: Path, world: World, guarantee: str, rule: str | None, drafter: str, **options: Any) -> Path:
    engine = Engine(world.model(), tokenizer=world.tokenizer(), draft_model=world.draft_model(), drafter=drafter)
    length = None if drafter == "none" else 3
    chosen = {"max_tokens": 16, "temperature": 0.8, "seed": 2**64 - 5, "draft_length": length} | options
    engine.generate([0, 1, 0], trace=path, guarantee=guarantee, verifier=rule, **chosen)
    return path


def records(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def rewritten(path: Path, lines: list[Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path
