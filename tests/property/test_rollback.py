"""Long histories of kept and dropped rows leave exactly what a fresh pass over the kept tokens would leave."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.protocols import Batch
from support.passes import CONTEXT, Forest, How, batch_of, bits, fresh, made, plain, start

BACKENDS = ["reference", "native"]
ROUNDS = {"reference": 12, "native": 200}


def random_tokens(count: int, seed: int = 0) -> list[int]:
    return np.random.default_rng(seed).integers(0, 300, count).tolist()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["llama", "mistral-window", "qwen2-half-windowed"])
def test_random_accept_lengths_leave_what_a_fresh_pass_leaves(backend: str, name: str) -> None:
    """A draft of up to four tokens a round, accepted up to a random place, all of it included (case 21)."""
    model, random = made(How(name, backend)), np.random.default_rng(1)
    text = random_tokens(6)
    sequence = start(model, text[:-1])
    for _ in range(ROUNDS[backend]):
        draft = random.integers(0, 300, random.integers(0, 5)).tolist()
        accepted = int(random.integers(0, len(draft) + 1))
        model.forward(Batch.chain(sequence, [text[-1], *draft], wanted="all"))
        model.keep(sequence, range(accepted + 1))
        text += [*draft[:accepted], int(random.integers(0, 300))]
        assert bits(model.forward(Batch.chain(sequence, text[-1:])), 0) == fresh(model, text)[-1]
    assert len(text) > 1.5 * ROUNDS[backend]
    model.close(sequence)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["mistral-window", "qwen2-half-windowed"])
@pytest.mark.parametrize("accepted", range(5))
def test_crossing_a_window_equals_recomputation(backend: str, name: str, accepted: int) -> None:
    """Prompt 6, window 5 or 7, 40 more tokens; each round turned down at the same place, or never (case 19)."""
    model = made(How(name, backend))
    text = random_tokens(46)
    sequence, kept = start(model, text[:6]), 6
    expected = fresh(model, text)
    while kept < len(text):
        chain = text[kept : kept + accepted + 1]
        wrong = [(token + 1) % 300 for token in text[kept + len(chain) : kept + 5]]
        rows = model.forward(Batch.chain(sequence, chain + wrong, wanted="all"))
        assert [bits(rows, row) for row in range(len(chain))] == expected[kept : kept + len(chain)]
        model.keep(sequence, range(len(chain)))
        kept += len(chain)
    model.close(sequence)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("depth", [1, 4, 9])
def test_branches_cross_a_window_each_on_its_own(backend: str, depth: int) -> None:
    """Two branches of equal depth: each sees its own ancestors within the window, none of the other's."""
    model, text = made(How("mistral-window", backend)), random_tokens(4)
    sequence = start(model, text)
    left, right = random_tokens(depth, 1), random_tokens(depth, 2)
    parents = [-1, -1, *range(2 * depth - 2)]
    mixed = [token for pair in zip(left, right, strict=True) for token in pair]
    batch, _ = batch_of([Forest(sequence, tuple(mixed), tuple(parents))], [True] * len(mixed))
    rows = model.forward(batch)
    found = [bits(rows, 2 * depth - 2), bits(rows, 2 * depth - 1)]
    assert found == [fresh(model, text + branch)[-1] for branch in (left, right)]
    model.close(sequence)


PROMPT = {"reference": random_tokens(24), "native": random_tokens(CONTEXT - 20)}


@cache
def one_by_one(backend: str, name: str) -> list[bytes]:
    """Logits along the prompt by plain decoding."""
    plain(How(name, backend)).after(PROMPT[backend])
    return [plain(How(name, backend)).after(PROMPT[backend][:end]) for end in range(1, len(PROMPT[backend]) + 1)]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["llama", "mistral-window", "qwen3", "llama-Q4_K"])
@settings(deadline=None, max_examples=8)
@given(data=st.data())
def test_a_prompt_may_be_read_in_any_pieces(backend: str, name: str, data: st.DataObject) -> None:
    model = made(How(name, backend))
    text = PROMPT[backend]
    cuts = sorted(data.draw(st.sets(st.integers(1, len(text) - 1), max_size=6)))
    sequence = model.open()
    for first, last in zip([0, *cuts], [*cuts, len(text)], strict=True):
        rows = model.forward(Batch.chain(sequence, text[first:last]))
        assert bits(rows, last - first - 1) == one_by_one(backend, name)[last - 1]
        model.keep(sequence, range(last - first))
    model.close(sequence)
