"""Plain decoding as a yardstick, and batches of drawn shape, for tests of what a pass promises."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from headstart.backends import load_backend
from headstart.backends.native import NativeModel
from headstart.protocols import Batch, Model, Rows
from support.tiny import tiny_weights

TINY: dict[str, dict[str, Any]] = {
    "llama": {},
    "llama-untied-biases": {"tied": False, "biases": True, "kind": "F16", "head_size": 24},
    "mistral-window": {"architecture": "mistral", "window": 5, "kind": "Q4_0"},
    "qwen2-half-windowed": {"architecture": "qwen2", "window": (None, 7), "kind": "Q8_0"},
    "qwen3": {"architecture": "qwen3", "kind": "BF16", "kv_heads": 1},
} | {
    f"llama-{kind}": {"kind": kind, "hidden": 256, "heads": 4, "mlp": 256}
    for kind in ("Q4_1", "Q5_0", "Q5_1", "Q4_K", "Q5_K", "Q6_K")
}
"""Tiny models: every architecture, every kind of matrix, windows, biases, norms, heads of odd size."""

CONTEXT = 640


@dataclass(frozen=True)
class How:
    """A way to compute one of the tiny models; ``isa`` forces the native backend's instruction set."""

    name: str
    backend: str = "native"
    precision: Literal["auto", "float32"] = "auto"
    threads: int = 1
    isa: str | None = None

    def __str__(self) -> str:
        return "-".join(str(part) for part in astuple(self) if part is not None)


@lru_cache(maxsize=4)
def made(how: How) -> Model:
    """The model, made once for all the tests that ask for it in a row."""
    weights = tiny_weights(context=CONTEXT, **TINY[how.name])
    if how.isa is not None:
        return NativeModel(weights, threads=how.threads, precision=how.precision, isa=how.isa)
    return load_backend(weights, backend=how.backend, threads=how.threads, precision=how.precision)


@dataclass
class Plain:
    """Logits by plain decoding: a fresh sequence, one row a pass, nothing else in it."""

    model: Model
    known: dict[tuple[int, ...], bytes] = field(default_factory=dict)

    def after(self, tokens: Sequence[int]) -> bytes:
        """Bits of the logits that follow ``tokens``."""
        if tuple(tokens) not in self.known:
            sequence = self.model.open()
            for end, token in enumerate(tokens, start=1):
                rows = self.model.forward(Batch.chain(sequence, [token]))
                self.known[tuple(tokens[:end])] = rows.logits(0).tobytes()
                self.model.keep(sequence, [0])
            self.model.close(sequence)
        return self.known[tuple(tokens)]


@lru_cache(maxsize=4)
def plain(how: How) -> Plain:
    """The yardstick: the same backend and precision with one thread and the best instruction set."""
    return Plain(made(replace(how, threads=1, isa=None)))


@dataclass(frozen=True)
class Forest:
    """Rows of one sequence in a pass: tokens, and parents among themselves (-1: the kept text)."""

    sequence: int
    tokens: tuple[int, ...]
    parents: tuple[int, ...]

    def path(self, row: int) -> list[int]:
        """Rows from the top down to ``row``; empty for -1."""
        return [] if row < 0 else [*self.path(self.parents[row]), row]


def batch_of(forests: Iterable[Forest], wanted: Sequence[bool]) -> tuple[Batch, list[int]]:
    """One batch of several forests, and where each begins."""
    sequences: list[int] = []
    tokens: list[int] = []
    parents: list[int] = []
    starts = []
    for forest in forests:
        starts.append(len(tokens))
        sequences += [forest.sequence] * len(forest.tokens)
        parents += [parent if parent < 0 else parent + starts[-1] for parent in forest.parents]
        tokens += forest.tokens
    arrays = (np.array(values, np.int32) for values in (sequences, tokens, parents))
    return Batch(*arrays, np.array(wanted, np.bool_)), starts


def start(model: Model, tokens: Sequence[int]) -> int:
    """A sequence that holds ``tokens``."""
    sequence = model.open()
    model.forward(Batch.chain(sequence, tokens, wanted="none"))
    model.keep(sequence, range(len(tokens)))
    return sequence


def fresh(model: Model, tokens: Sequence[int]) -> list[bytes]:
    """Bits of the logits after each token, from one pass over all of them and an empty cache."""
    sequence = model.open()
    rows = model.forward(Batch.chain(sequence, tokens, wanted="all"))
    found = [rows.logits(row).tobytes() for row in range(len(tokens))]
    model.close(sequence)
    return found


def bits(rows: Rows, row: int) -> bytes:
    """Bits of a row's logits."""
    return rows.logits(row).tobytes()
