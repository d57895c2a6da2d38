"""The suffix automaton against a search by hand, and the drafts made of it."""

import numpy as np
import pytest

from headstart.draft.lookup import SuffixAutomaton


def longest_match(tokens):
    """Length of the longest proper suffix that occurred earlier, by trying all."""
    n = len(tokens)
    for length in range(n - 1, 0, -1):
        for end in range(n - 1, length - 1, -1):
            if tokens[end - length : end] == tokens[n - length :]:
                return length, end
    return 0, 0


@pytest.mark.parametrize("letters", [1, 2, 3, 8])
@pytest.mark.parametrize("seed", range(5))
def test_match_equals_search_by_hand(letters, seed):
    tokens = np.random.default_rng(seed).integers(letters, size=80).tolist()
    automaton = SuffixAutomaton()
    for n, token in enumerate(tokens, start=1):
        automaton.extend([token])
        length, end = automaton.match
        truth = longest_match(tokens[:n])
        assert length == truth[0]
        assert tokens[end - length : end] == tokens[n - length : n]
        assert end < n or length == 0


def test_the_most_recent_occurrence_wins():
    automaton = SuffixAutomaton()
    automaton.extend([1, 2, 3, 0, 1, 2, 4, 0, 1, 2])
    assert automaton.match == (3, 6)
    automaton.extend([9, 1, 2])
    assert automaton.match == (2, 10)
