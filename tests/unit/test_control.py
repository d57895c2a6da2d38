"""What a round of so many rows is thought to cost."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.control import PassCosts
from headstart.grammar import Grammar
from support.kit import engine, random_model


def test_a_guess_before_anything_was_measured():
    assert PassCosts().curve(3) == pytest.approx([1, 1.06, 1.12])


@given(st.dictionaries(st.integers(1, 40), st.floats(0.001, 10), min_size=1, max_size=8))
def test_costs_never_fall_as_rows_grow_and_keep_what_was_measured(measured):
    costs = PassCosts(measured)
    curve = costs.curve(20)
    assert curve == [costs(rows) for rows in range(1, 21)]
    assert all(a <= b * (1 + 1e-12) for a, b in itertools.pairwise(curve))
    for rows, seconds in measured.items():
        wider = min(s for n, s in measured.items() if n >= rows)
        assert rows > 20 or curve[rows - 1] == wider <= seconds


def test_text_that_a_grammar_forces_teaches_nothing_about_the_drafter():
    one = engine(random_model(seed=2), draft_model=random_model(seed=5))
    one.generate("x", raw=True, grammar=Grammar("regex", "the only possible answer"), max_tokens=60)
    assert "model" not in one._controller._records or not one._controller._records["model"].tried
    one.generate("x", raw=True, max_tokens=20)
    assert one._controller._records["model"].tried
