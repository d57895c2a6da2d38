"""Drafts from the text itself: what followed the last time that these words stood here.

A suffix automaton of prompt and output finds the longest end of the text that occurred before; the tokens after its most
recent occurrence are the draft. No model, no training, a few microseconds a token. Knows nothing of the target.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headstart.protocols import Needs
from headstart.tree import EMPTY, Draft

if TYPE_CHECKING:
    from headstart.request import Request

__all__ = ["LookupDrafter", "SuffixAutomaton"]

REFRESHED = 16
"""How many suffixes of a new token are told that they occurred just now; shorter ones learn of it later."""


PRIOR = (0.2, 0.45, 0.6, 0.62, 0.65, 0.75, 0.76, 0.8, 0.82, 0.84, 0.85, 0.85, 0.86, 0.88, 0.9, 0.95)
"""Share of copied tokens that a target keeps, by length of match, before anything was learnt: from answers of the default model."""

PRIOR_WEIGHT = 8.0
"""How many observations the prior counts for."""

MEMORY = 0.99
"""Weight of what was learnt, at each new observation of the same length."""


class SuffixAutomaton:
    """All substrings of a growing token sequence, with the end of a recent occurrence of each.

    Notes
    -----
    Blumer et al. (1985); the use for drafts is that of SAM decoding, Hu et al. (2025), arXiv:2411.10666. Adding a token
    takes amortised constant time. ``match`` is (length, end): the longest proper suffix that also occurred earlier, and
    the index just after that occurrence.

    Examples
    --------
    >>> automaton = SuffixAutomaton()
    >>> automaton.extend([1, 2, 3, 1, 2])
    >>> automaton.match
    (2, 2)
    """

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.match = (0, 0)
        self._next: list[dict[int, int]] = [{}]
        self._link = [-1]
        self._length = [0]
        self._end = [0]
        self._last = 0

    def extend(self, tokens: Sequence[int]) -> None:
        """Append tokens."""
        for token in tokens:
            self._append(token)

    def _append(self, token: int) -> None:
        self.tokens.append(token)
        new = self._state({}, self._length[self._last] + 1, len(self.tokens))
        state = self._last
        while state != -1 and token not in self._next[state]:
            self._next[state][token] = new
            state = self._link[state]
        self._link[new] = 0 if state == -1 else self._suffix(state, token)
        self._last = new
        longest = self._link[new]
        self.match = (self._length[longest], self._end[longest])
        for _ in range(REFRESHED):
            if longest <= 0:
                break
            self._end[longest] = len(self.tokens)
            longest = self._link[longest]

    def _suffix(self, state: int, token: int) -> int:
        """The state of the longest suffix that was there before, split off where it shared one with longer strings."""
        target = self._next[state][token]
        if self._length[state] + 1 == self._length[target]:
            return target
        clone = self._state(dict(self._next[target]), self._length[state] + 1, self._end[target])
        self._link[clone], self._link[target] = self._link[target], clone
        while state != -1 and self._next[state].get(token) == target:
            self._next[state][token] = clone
            state = self._link[state]
        return clone

    def _state(self, following: dict[int, int], length: int, end: int) -> int:
        self._next.append(following)
        self._link.append(-1)
        self._length.append(length)
        self._end.append(end)
        return len(self._length) - 1


class LookupDrafter:
    """Copies what followed the longest, most recent earlier occurrence of the text's end.

    How far a copy can be trusted is learnt as it goes: for each length of match (and for tokens further on, the matched
    length grown by what was copied) the share of copied tokens that the target kept.
    """

    name = "lookup"
    needs = Needs()

    def __init__(self) -> None:
        self._texts: dict[int, SuffixAutomaton] = {}
        self._guesses: dict[int, tuple[int, list[int]]] = {}
        self._seen = [PRIOR_WEIGHT] * len(PRIOR)
        self._kept = [PRIOR_WEIGHT * share for share in PRIOR]

    def start(self, request: Request) -> None:
        """Begin an index; it is filled when the first draft is wanted."""
        self._texts[request.id] = SuffixAutomaton()

    def propose(self, request: Request, budget: int) -> Draft:
        """Copy up to ``budget`` tokens; where the copy reaches the text's end it goes on with itself."""
        text = self._texts[request.id]
        new = request.tokens[len(text.tokens) :]
        self._learn(*self._guesses.pop(request.id, (0, [])), new)
        text.extend(new)
        length, end = text.match
        if not length:
            return EMPTY
        tokens = text.tokens[end : end + budget]
        period = len(text.tokens) - end
        for at in range(len(tokens), budget):
            tokens.append(tokens[at - period])
        self._guesses[request.id] = (length, tokens)
        return Draft.chain(tokens, chances=self._chances(length, budget))

    def observe(self, request: Request, tokens: Sequence[int], rows: Any) -> None:
        """Nothing to do: ``propose`` reads what was committed from the request."""

    def fork(self, request: Request, copy: Request) -> None:
        """Give the copy an index of its own."""
        self.start(copy)

    def close(self, request: Request) -> None:
        """Forget the request's index."""
        self._texts.pop(request.id, None)
        self._guesses.pop(request.id, None)

    def _learn(self, length: int, guess: Sequence[int], tokens: Sequence[int]) -> None:
        """Count, for each length of match, whether the copied token was the one committed."""
        for depth, (guessed, token) in enumerate(zip(guess, tokens, strict=False)):
            bucket = self._bucket(length + depth)
            self._seen[bucket] = MEMORY * self._seen[bucket] + 1
            self._kept[bucket] = MEMORY * self._kept[bucket] + (guessed == token)
            if guessed != token:
                break

    def _chances(self, length: int, count: int) -> list[float]:
        """Estimated acceptance of ``count`` tokens copied after a match of a length."""
        these = slice(self._bucket(length), self._bucket(length) + count)
        chances = [min(kept / seen, 0.99) for kept, seen in zip(self._kept[these], self._seen[these], strict=True)]
        return chances + chances[-1:] * (count - len(chances))

    def _bucket(self, length: int) -> int:
        return min(length, len(PRIOR)) - 1
