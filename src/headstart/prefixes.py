"""Prefix reuse: the caches of finished answers, so that the next turn of a chat reads only what is new.

Rows are bit-equal however they came into the cache, so a warm answer is the cold one.
"""

from __future__ import annotations

from collections.abc import Sequence

from headstart.protocols import Model

__all__ = [
    "PrefixCache",
    "common_length",
]


STRIDE = 64
"""Tokens compared at a time."""


class PrefixCache:
    """Keeps the sequences of the last few answers open, and forks from the one, kept or running, that shares most.

    Parameters
    ----------
    model : Model
    capacity : int
        Sequences kept; the one unused for longest is closed first.
    """

    def __init__(self, model: Model, *, capacity: int = 4) -> None:
        self._model, self._capacity = model, capacity
        self._kept: list[tuple[list[int], int]] = []
        self._running: dict[int, list[int]] = {}

    def open(self, tokens: list[int], *, fresh: bool = False) -> int:
        """A sequence that holds as much of all tokens but the last as any other does, or nothing if it must be ``fresh``.

        ``tokens`` may grow while the sequence runs.
        """
        held = [(known[: self._model.length(sequence)], sequence) for sequence, known in self._running.items()]
        shared = [(common_length(tokens[:-1], known), sequence) for known, sequence in [*self._kept, *held]]
        length, best = (0, -1) if fresh else max(shared, default=(0, -1))
        sequence = self._model.fork(best, length) if length else self._model.open()
        self._kept.sort(key=lambda entry: entry[1] == best)
        self._running[sequence] = tokens
        return sequence

    def cut(self, sequence: int, length: int) -> int:
        """Go on with the first ``length`` tokens of a running sequence only; gives the handle that takes its place."""
        shorter = self._model.fork(sequence, length)
        self._running[shorter] = self._running.pop(sequence)
        self._model.close(sequence)
        return shorter

    def give_back(self, sequence: int) -> None:
        """Keep a sequence whose answer is over, in place of those that it goes on from."""
        held = self._running.pop(sequence)[: self._model.length(sequence)]
        covered = [entry for entry in self._kept if held[: len(entry[0])] == entry[0]]
        self._kept = [*(entry for entry in self._kept if entry not in covered), (held, sequence)]
        while len(self._kept) > self._capacity:
            covered.append(self._kept.pop(0))
        for _, old in covered:
            self._model.close(old)

    def clear(self) -> None:
        """Close every kept sequence."""
        while self._kept:
            self._model.close(self._kept.pop()[1])


def common_length(a: Sequence[int], b: Sequence[int]) -> int:
    """Length of the longest common beginning; of two lists it takes a few microseconds for a thousand tokens."""
    shared, at = min(len(a), len(b)), 0
    if a[:shared] == b[:shared]:
        return shared
    while at < shared and a[at : at + STRIDE] == b[at : at + STRIDE]:
        at += STRIDE
    while at < shared and a[at] == b[at]:
        at += 1
    return at
