"""Prefix reuse: the caches of finished answers, so that the next turn of a chat reads only what is new.

Rows are bit-equal however they came into the cache, so a warm answer is the cold one.
"""

from __future__ import annotations

from collections.abc import Sequence

from headstart.protocols import Model

__all__ = ["PrefixCache"]


class PrefixCache:
    """Keeps the sequences of the last few answers open and forks from the one that shares most.

    Parameters
    ----------
    model : Model
    capacity : int
        Sequences kept; the one unused for longest is closed first.
    """

    def __init__(self, model: Model, *, capacity: int = 4) -> None:
        self._model, self._capacity = model, capacity
        self._kept: list[tuple[list[int], int]] = []

    def open(self, tokens: Sequence[int]) -> int:
        """A sequence that holds as much of all tokens but the last as any kept one does."""
        shared = [common_length(tokens[:-1], kept) for kept, _ in self._kept]
        if not shared or max(shared) == 0:
            return self._model.open()
        best = shared.index(max(shared))
        entry = self._kept.pop(best)
        self._kept.append(entry)
        return self._model.fork(entry[1], shared[best])

    def give_back(self, tokens: Sequence[int], sequence: int) -> None:
        """Keep a sequence that holds these tokens, as far as it has them."""
        held = list(tokens[: self._model.length(sequence)])
        covered = [entry for entry in self._kept if held[: len(entry[0])] == entry[0]]
        for entry in covered:
            self._kept.remove(entry)
        self._kept.append((held, sequence))
        while len(self._kept) > self._capacity:
            covered.append(self._kept.pop(0))
        for _, old in covered:
            self._model.close(old)


def common_length(a: Sequence[int], b: Sequence[int]) -> int:
    """Length of the longest common beginning."""
    return next((at for at, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
