"""Counts kept along equal counts made anew, wherever the history goes."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from headstart.tally import Tally

HISTORIES = st.lists(st.tuples(st.integers(0, 200), st.lists(st.integers(0, 90), max_size=150)), max_size=12)


@given(HISTORIES, st.integers(0, 20))
def test_equal_to_counting_anew(changes, prompt_length):
    """Each history keeps some of the one before and goes on in its own way, as branches of a draft do."""
    tally, history = Tally(), []
    for kept, more in changes:
        history = [*history[:kept], *more]
        tally.read(history, prompt_length)
        said = Counter(history[prompt_length:])
        assert tally.ids.tolist() == list(dict.fromkeys(history))
        assert tally.said.tolist() == [said[token] for token in tally.ids.tolist()]


def test_another_prompt_length_counts_anew():
    tally = Tally()
    tally.read([1, 2, 1], 0)
    tally.read([1, 2, 1], 2)
    assert (tally.ids.tolist(), tally.said.tolist()) == ([1, 2], [1, 0])
