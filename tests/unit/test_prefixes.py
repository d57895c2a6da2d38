"""Common beginnings, and which cache an answer starts from."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.prefixes import STRIDE, common_length
from support.kit import engine, random_model

SIZES = st.integers(0, 3 * STRIDE)


@given(SIZES, SIZES, SIZES, st.booleans())
def test_common_length(shared, left, right, as_tuple):
    a, b = [*range(shared), *[-1] * left], [*range(shared), *[-2] * right]
    assert common_length(tuple(a) if as_tuple else a, b) == shared


class Counted:
    """A model that counts the rows it reads."""

    def __init__(self, model):
        self._model, self.rows = model, 0

    def __getattr__(self, name):
        return getattr(self._model, name)

    def forward(self, batch, *, taps=()):
        self.rows += len(batch.tokens)
        return self._model.forward(batch, taps=taps)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_draft_model_reads_only_what_a_turn_adds(temperature):
    """And drafts what it would have drafted cold."""
    prompt, options = list(range(200)), {"max_tokens": 12, "draft_length": 3, "temperature": temperature, "seed": 4}

    def turns(fresh):
        drafts, one, text, found = [], None, prompt, []
        for _ in range(3):
            if one is None or fresh:
                drafts.append(Counted(random_model(seed=5)))
                one = engine(random_model(seed=2), draft_model=drafts[-1], ignore_eos=True)
            answer = one.generate(text, **options)
            text = [*text, *answer.tokens, 7, 8]
            found.append((answer.tokens, answer.statistics.tokens_accepted, answer.statistics.tokens_drafted))
        return found, sum(draft.rows for draft in drafts)

    (warm, rows), (cold, all_rows) = turns(False), turns(True)
    assert warm == cold
    assert all_rows > 600 > 350 > rows > 200
