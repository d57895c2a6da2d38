"""Reads a draft model along with each request: what the target committed is read, what it turned down is dropped.

Knows nothing of laws or of how tokens are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from headstart.errors import RefusedError
from headstart.prefixes import PrefixCache, common_length
from headstart.protocols import Batch, Model, Rows

__all__ = ["Reader", "room"]

CHUNK = 256
"""Rows of one pass while a prompt is read."""


def room(model: Model, tokens: Sequence[int]) -> int:
    """How many tokens a model can draft after these, at least 1; raises RefusedError where its context is full."""
    left = model.context - len(tokens) + 1
    if left <= 0:
        raise RefusedError(f"the text reached the draft model's context of {model.context} tokens")
    return left


class Reader:
    """One draft model's caches, by request; those of the last few requests are kept, so that a next turn reads only what is new.

    Parameters
    ----------
    model : Model
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self._prefixes = PrefixCache(model)
        self._sequences: dict[int, int] = {}
        self._cached: dict[int, list[int]] = {}

    def close(self, request_id: int) -> None:
        """Forget a request; its cache is kept for a later one with the same beginning."""
        self._cached.pop(request_id, None)
        if (sequence := self._sequences.pop(request_id, None)) is not None:
            self._prefixes.give_back(sequence)

    def free(self) -> None:
        """Free what was kept of requests that are over."""
        self._prefixes.clear()

    def catch_up(self, request_id: int, tokens: Sequence[int]) -> tuple[Rows, int]:
        """Hold exactly these tokens; gives the row that follows the last of them, which is read even if it was before."""
        if request_id not in self._sequences:
            self._open(request_id, list(tokens))
        cached = self._cached[request_id]
        same = min(common_length(cached, tokens), len(tokens) - 1)
        if same < len(cached):
            self._sequences[request_id] = self._prefixes.cut(self._sequences[request_id], same)
            del cached[same:]
        return self.advance(request_id, tokens[same:])

    def _open(self, request_id: int, tokens: list[int]) -> None:
        """Begin a sequence with as much of a text as an earlier one holds."""
        sequence = self._sequences[request_id] = self._prefixes.open(tokens)
        del tokens[self.model.length(sequence) :]
        self._cached[request_id] = tokens

    def advance(self, request_id: int, tokens: Sequence[int]) -> tuple[Rows, int]:
        """Read more tokens, in passes of bounded size; gives the row that follows the last of them."""
        sequence = self._sequences[request_id]
        for begin in range(0, len(tokens), CHUNK):
            part = tokens[begin : begin + CHUNK]
            wanted: Literal["last", "none"] = "last" if begin + CHUNK >= len(tokens) else "none"
            rows = self.model.forward(Batch.chain(sequence, part, wanted=wanted))
            self.model.keep(sequence, range(len(part)))
            self._cached[request_id].extend(part)
        return rows, len(part) - 1
