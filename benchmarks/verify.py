"""What a round costs besides its pass: laws from logits, and the verdict, at a real vocabulary; in milliseconds.

    python benchmarks/verify.py
    python benchmarks/verify.py --vocabulary 151936 --draft-length 4
    python benchmarks/verify.py --model smollm2-135m-instruct

Logits are random, and as peaked as a language model's: the best token has between a quarter and nine tenths, top-p 0.9
keeps between 2 and 500 tokens. Draft and target share four fifths of their mass or more. A cell is the median of the
rounds with its quartiles, cells interleaved, one thread; so is the pass, and on more cores that one is shorter. `rows`
is how many rows the rule asked for, on average. ``--model`` times that model's pass in the same rounds.
The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headstart.backends import load_backend
from headstart.coins import RoundCoins
from headstart.draft.draw import coupled_chain, coupled_tree, sampled_chain, sampled_tree
from headstart.law import Law
from headstart.models import load
from headstart.native import native
from headstart.protocols import Batch
from headstart.sampling import Sampling
from headstart.toy import Rule
from headstart.tree import Draft
from headstart.verify import VERIFIERS

SETTINGS = {
    "temperature 1": Sampling(),
    "temperature 0.7": Sampling(temperature=0.7),
    "top-k 50": Sampling(top_k=50),
    "top-p 0.9": Sampling(top_p=0.9),
    "min-p 0.05": Sampling(min_p=0.05),
    "top-k 50, top-p 0.9, min-p 0.05": Sampling(top_k=50, top_p=0.9, min_p=0.05),
    "temperature 0": Sampling(temperature=0),
}
LARGEST = 256
"""Contexts have one of this many rows of logits."""


@dataclass
class Cell:
    """Times of one thing, in milliseconds, and the rows it asked for."""

    times: list[float] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)

    def summary(self) -> dict[str, float]:
        low, median, high = np.percentile(self.times, [25, 50, 75]).tolist()
        rows = {"rows": float(np.mean(self.rows))} if self.rows else {}
        return {"median_ms": median, "low_ms": low, "high_ms": high} | rows


class Logits:
    """Rows of logits by context, target's and draft's, near each other."""

    def __init__(self, vocabulary: int) -> None:
        rng = np.random.default_rng(0)
        self.target = [self._row(rng, vocabulary) for _ in range(8)]
        self.draft = [(row + rng.normal(0, 0.3, vocabulary)).astype(np.float32) for row in self.target]

    @staticmethod
    def _row(rng: np.random.Generator, vocabulary: int) -> Any:
        row = rng.normal(0, 2.5, vocabulary)
        row[rng.integers(vocabulary, size=20)] += np.linspace(8, 12, 20)
        return row.astype(np.float32)

    @staticmethod
    def of(rows: list[Any], context: tuple[int, ...]) -> Any:
        return rows[sum(context) % len(rows)]


class AskedLaws:
    """The target's laws of one pass: the row's logits become a law when a rule asks for it, once."""

    def __init__(self, logits: Logits, draft: Draft, sampling: Sampling, known: dict[int, Law] | None = None) -> None:
        self._logits, self._draft, self._sampling = logits, draft, sampling
        self.seen: dict[int, Law] = {} if known is None else known

    def __call__(self, node: int) -> Law:
        if node not in self.seen:
            context = tuple(self._draft.tokens[n] for n in self._draft.path(node))
            self.seen[node] = self._sampling.law(self._logits.of(self._logits.target, context), context, 0)
        return self.seen[node]


def drafts(length: int) -> dict[str, Callable[[Rule, RoundCoins], Draft]]:
    """How each rule's drafts are made: chains of ``length``, trees of six nodes."""

    def certain(law_of: Rule, _coins: RoundCoins) -> Draft:
        tokens: list[int] = []
        for _ in range(length):
            tokens.append(int(np.argmax(law_of(tuple(tokens)).weights)))
        return Draft.chain(tokens)

    return {
        "coupled": lambda law_of, coins: coupled_chain(law_of, length, coins, 0),
        "coupled tree": lambda law_of, coins: coupled_tree(law_of, (2, 2), coins, 0),
        "walk": certain,
        "token": lambda law_of, coins: sampled_chain(law_of, length, coins),
        "block": lambda law_of, coins: sampled_chain(law_of, length, coins),
        "multi-step tree": lambda law_of, coins: sampled_tree(law_of, (2, 2), coins),
        "traversal tree": lambda law_of, coins: sampled_tree(law_of, (2, 2), coins),
        "greedy": lambda law_of, coins: coupled_chain(law_of, length, coins, 0),
    }


def timed(cell: Cell, work: Callable[[], Any]) -> Any:
    begin = time.perf_counter()
    result = work()
    cell.times.append(1e3 * (time.perf_counter() - begin))
    return result


def one_round(number: int, logits: Logits, length: int, cells: dict[str, Cell]) -> None:
    for label, sampling in SETTINGS.items():
        rows = [logits.target[(number + i) % 8] for i in range(length)]
        timed(cells[f"laws: {label}"], lambda r=rows, s=sampling: [s.law(row, (), 0) for row in r])  # type: ignore[misc]
    for label, draw in drafts(length).items():
        sampling = Sampling(temperature=0) if label == "greedy" else Sampling()

        def source(context: tuple[int, ...], sampling: Sampling = sampling) -> Law:
            return sampling.law(logits.of(logits.draft, context), context, 0)

        draft = draw(source, RoundCoins(number, 0, 0))
        verifier, asked = VERIFIERS[label.split()[0]], AskedLaws(logits, draft, sampling)
        verifier.verify(draft, asked, RoundCoins(number, 0, 0), 0)
        cells[f"verify: {label}"].rows.append(len(asked.seen))
        known = AskedLaws(logits, draft, sampling, dict(asked.seen))

        def verdict(verifier: Any = verifier, draft: Draft = draft, known: AskedLaws = known) -> Any:
            return verifier.verify(draft, known, RoundCoins(number, 0, 0), 0)

        timed(cells[f"verify: {label}"], verdict)


def passes(name: str, rows: int) -> Callable[[], Any]:
    """One pass of a model over that many rows, after 128 tokens."""
    model = load_backend(load(name), threads=1)
    sequence = model.open()
    model.forward(Batch.chain(sequence, list(range(1, 129)), wanted="none"))
    model.keep(sequence, range(128))
    batch = Batch.chain(sequence, list(range(1, rows + 1)), wanted="all")
    return lambda: model.forward(batch)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vocabulary", type=int, default=49_152)
    parser.add_argument("--draft-length", type=int, default=6, help="rows whose laws are made, and tokens of a chain")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--model", help="a model whose pass is timed too, to state the figures against")
    options = parser.parse_args()
    logits = Logits(options.vocabulary)
    names = [f"laws: {label}" for label in SETTINGS] + [f"verify: {label}" for label in drafts(1)]
    one_pass = passes(options.model, options.draft_length + 1) if options.model else None
    names += ["pass"] if one_pass else []
    cells = {name: Cell() for name in names}
    for number in range(options.rounds + 10):
        if number == 10:
            cells = {name: Cell() for name in names}
        one_round(number, logits, options.draft_length, cells)
        if one_pass:
            timed(cells["pass"], one_pass)
    summaries = {name: cell.summary() for name, cell in cells.items()}
    for name, summary in summaries.items():
        share = f"  {100 * summary['median_ms'] / summaries['pass']['median_ms']:5.1f} % of a pass" if one_pass else ""
        rows = f"  rows {summary['rows']:.1f}" if "rows" in summary else ""
        spread = f"{summary['low_ms']:.3f}..{summary['high_ms']:.3f}"
        print(f"{name:42s} {summary['median_ms']:7.3f} ms  {spread:15s}{share}{rows}")
    isa = None if native is None else native.chosen_isa()
    settings = {key.replace("_", "-"): value for key, value in vars(options).items()}
    print(
        json.dumps({"benchmark": "verify", "machine": platform.machine(), "isa": isa, **settings, "cells": summaries})
    )


if __name__ == "__main__":
    main()
