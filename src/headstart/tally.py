"""How often each token stands in a history, kept as the history grows, goes back, or turns into another branch of a draft.

Knows nothing of what is made of the counts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from headstart.prefixes import common_length

__all__ = ["Tally"]


class Tally:
    """Counts of a history's distinct tokens; reading another history costs what the two differ in.

    Examples
    --------
    >>> tally = Tally()
    >>> tally.read([7, 5, 7, 9, 7], prompt_length=2)
    >>> tally.ids.tolist(), tally.said.tolist()
    ([7, 5, 9], [2, 0, 1])
    """

    def __init__(self) -> None:
        self._history: list[int] = []
        self._prompt_length = 0
        self._place: dict[int, int] = {}
        self._all: list[int] = []
        self._ids = np.empty(64, np.int64)
        self._said = np.empty(64, np.int64)

    @property
    def ids(self) -> NDArray[np.int64]:
        """Distinct tokens of prompt and output, in the order of their first occurrence."""
        return self._ids[: len(self._all)]

    @property
    def said(self) -> NDArray[np.int64]:
        """How often each of ``ids`` stands in the output."""
        return self._said[: len(self._all)]

    def read(self, history: Sequence[int], prompt_length: int) -> None:
        """Stand at the end of this history."""
        if prompt_length != self._prompt_length:
            self._forget(0)
            self._prompt_length = prompt_length
        same = common_length(self._history, history)
        self._forget(same)
        for token in history[same:]:
            self._add(token)

    def _add(self, token: int) -> None:
        place = self._place.setdefault(token, len(self._all))
        if place == len(self._all):
            self._make_room()
            self._all.append(0)
            self._ids[place], self._said[place] = token, 0
        self._all[place] += 1
        self._said[place] += len(self._history) >= self._prompt_length
        self._history.append(token)

    def _forget(self, size: int) -> None:
        """Go back to the first ``size`` tokens; a token forgotten altogether is the last that was new."""
        while len(self._history) > size:
            place = self._place[token := self._history.pop()]
            self._all[place] -= 1
            self._said[place] -= len(self._history) >= self._prompt_length
            if not self._all[place]:
                self._all.pop()
                del self._place[token]

    def _make_room(self) -> None:
        if len(self._all) == len(self._ids):
            self._ids = np.concatenate([self._ids, np.empty_like(self._ids)])
            self._said = np.concatenate([self._said, np.empty_like(self._said)])
