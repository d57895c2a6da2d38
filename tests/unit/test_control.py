"""What a round of so many rows is thought to cost."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.control import PassCosts


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
