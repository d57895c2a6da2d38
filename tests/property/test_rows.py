"""A row's logits have the same bits whatever company the row keeps, and whatever became of earlier company.

The yardstick is plain decoding: one sequence, one row a pass, one thread. Against it stand passes of drawn shape over
several sequences (chains, trees, several roots), random paths kept, forks of any length and closings in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from headstart import _native
from headstart.protocols import Batch, Model, Rows
from support.passes import TINY, Forest, How, Plain, batch_of, bits, made, plain, start

ISAS = _native.available_isas()
CASES = [How(name, "reference") for name in ("llama", "mistral-window", "qwen3", "llama-Q6_K")]
CASES += [How(name, threads=2, isa=isa) for name in TINY for isa in ISAS] + [How(name) for name in TINY]
CASES += [How(name, "native", "float32", 2, isa) for name in ("llama", "mistral-window") for isa in ISAS]
PROMPT = np.random.default_rng(8).integers(0, 4, 250).tolist()
EASY = settings(deadline=None, suppress_health_check=list(HealthCheck))


@st.composite
def forests(draw: st.DrawFn, sequence: int, most: int) -> Forest:
    """A chain, or any forest, of tokens from a small alphabet, so that texts meet again."""
    size = draw(st.integers(1, most))
    chain = list(range(-1, size - 1))
    parents = draw(st.just(chain) | st.tuples(*(st.integers(-1, row - 1) for row in range(size))))
    random = np.random.default_rng(draw(st.integers(0, 99)))
    return Forest(sequence, tuple(random.integers(0, 4, size).tolist()), tuple(parents))


class History:
    """Sequences that grow, fork and vanish as drawn; every wanted row is held against plain decoding."""

    def __init__(self, model: Model, plain: Plain, data: st.DataObject, most: int) -> None:
        self.model, self.plain, self.data, self.most = model, plain, data, most
        prompt = PROMPT[: data.draw(st.sampled_from([0, 5, 29] if most < 10 else [0, 5, 29, 250]))]
        self.texts: dict[int, list[int]] = {start(model, prompt): list(prompt)}

    def a_pass(self) -> None:
        chosen = self.data.draw(st.lists(st.sampled_from(list(self.texts)), min_size=1, unique=True))
        grown = [self.data.draw(forests(sequence, self.most)) for sequence in chosen]
        size = sum(len(forest.tokens) for forest in grown)
        wanted = self.data.draw(st.just([True] * size) | st.lists(st.booleans(), min_size=size, max_size=size))
        batch, starts = batch_of(grown, wanted)
        rows = self.model.forward(batch)
        for forest, first in zip(grown, starts, strict=True):
            for row in range(len(forest.tokens)):
                if wanted[first + row]:
                    text = self.texts[forest.sequence] + [forest.tokens[r] for r in forest.path(row)]
                    assert bits(rows, first + row) == self.plain.after(text), f"row {first + row}, text {text}"
        for forest, first in zip(grown, starts, strict=True):
            self.keep(forest, first)

    def keep(self, forest: Forest, first: int) -> None:
        """A random path, perhaps none; sometimes no call at all, which leaves the rows to be dropped."""
        path = forest.path(self.data.draw(st.integers(-1, len(forest.tokens) - 1)))
        if path or self.data.draw(st.booleans()):
            self.model.keep(forest.sequence, [first + row for row in path])
        self.texts[forest.sequence] += [forest.tokens[row] for row in path]
        assert self.model.length(forest.sequence) == len(self.texts[forest.sequence])

    def fork(self) -> None:
        sequence = self.data.draw(st.sampled_from(list(self.texts)))
        length = self.data.draw(st.integers(0, len(self.texts[sequence])))
        self.texts[self.model.fork(sequence, length)] = self.texts[sequence][:length]

    def close(self) -> None:
        if len(self.texts) > 1:
            sequence = self.data.draw(st.sampled_from(list(self.texts)))
            self.model.close(sequence)
            del self.texts[sequence]

    def end(self) -> None:
        for sequence in self.texts:
            self.model.close(sequence)


def play(model: Model, plain: Plain, data: st.DataObject, most: int) -> None:
    """One history from its first pass to the last closing."""
    history = History(model, plain, data, most)
    try:
        for _ in range(data.draw(st.integers(1, 5))):
            history.a_pass()
            data.draw(st.sampled_from([history.fork, history.close, history.a_pass]))()
    finally:
        history.end()


@pytest.mark.parametrize("how", CASES, ids=str)
@settings(EASY, max_examples=5)
@given(data=st.data())
def test_rows_keep_their_bits_in_any_company(how: How, data: st.DataObject) -> None:
    """The yardstick is computed with the best instruction set, so this also says that all of them agree."""
    play(made(how), plain(how), data, 30 if how.backend == "native" else 6)


class Faulty:
    """A right model with one fault put in front of it."""

    def __init__(self, model: Model, fault: str) -> None:
        self.model, self.fault = model, fault
        self.open, self.close, self.keep, self.length = model.open, model.close, model.keep, model.length

    def fork(self, sequence: int, length: int | None = None) -> int:
        return self.model.fork(sequence, None if self.fault == "forks are never cut" else length)

    def forward(self, batch: Batch, *, taps: Sequence[int] = ()) -> Any:
        size = len(batch.tokens)
        if self.fault == "a row sees its elder sibling" and size > 1 and batch.sequences[-1] == batch.sequences[-2]:
            batch = replace(batch, parents=np.append(batch.parents[:-1], np.int32(size - 2)))
        rows = self.model.forward(batch, taps=taps)
        return LastBit(rows) if self.fault == "width changes a bit" and size > 3 else rows


class LastBit:
    """Rows whose first logit is the next number up."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def logits(self, row: int) -> Any:
        logits = self.rows.logits(row).copy()
        logits[0] = np.nextafter(logits[0], np.float32(np.inf))
        return logits


@pytest.mark.parametrize("fault", ["forks are never cut", "a row sees its elder sibling", "width changes a bit"])
def test_the_property_finds_planted_faults(fault: str) -> None:
    model = Faulty(made(How("llama")), fault)

    @settings(
        EASY, max_examples=200, database=None, derandomize=True, report_multiple_bugs=False, phases=[Phase.generate]
    )
    @given(data=st.data())
    def check(data: st.DataObject) -> None:
        play(cast(Model, model), plain(How("llama")), data, 4)

    with pytest.raises(AssertionError, match="text"):
        check()
