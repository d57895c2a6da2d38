"""Drafts from a model with any tokenizer at all: its text, written anew in the target's tokens.

The draft model continues the committed text in tokens of its own; what it wrote is encoded by the target's tokenizer together
with the last few committed tokens, and kept only if those come out as they stand. A guess without randomness, so lossless
whatever the tokenizers do: string-level exact match of Timor et al. (2025), arXiv:2502.05202. Knows nothing of laws.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headstart.draft.reader import Reader, room
from headstart.draft.vocabulary import read_text
from headstart.protocols import Model, Needs
from headstart.tree import EMPTY, Draft

if TYPE_CHECKING:
    from headstart.request import Request

__all__ = ["RespellingDrafter"]

WINDOWS = (4, 8, 1)
"""How many committed tokens are encoded along with the draft, in the order tried: a boundary inside a word is rare."""


class RespellingDrafter:
    """Runs a draft model greedily and respells its text.

    Parameters
    ----------
    model : Model
    target, draft : Tokenizer
        Tokenizers of the target and of the draft model.
    """

    name = "model"
    needs = Needs()

    def __init__(self, model: Model, target: Any, draft: Any) -> None:
        self._reader, self._target, self._draft = Reader(model), target, draft

    def start(self, request: Request) -> None:
        """Nothing to do: the prompt is read when the first draft is wanted."""

    def propose(self, request: Request, budget: int) -> Draft:
        """Continue the text by up to ``budget`` tokens of the draft model, and respell what it wrote."""
        context = read_text(request.tokens, self._target, self._draft)
        if context is None:
            return EMPTY
        rows, row = self._reader.catch_up(request.id, context)
        written: list[int] = []
        for node in range(min(budget, room(self._reader.model, context))):
            if node:
                rows, row = self._reader.advance(request.id, written[-1:])
            token = rows.argmax(row)
            if token in self._draft.special_ids or token >= self._draft.vocab_size:
                break
            written.append(token)
        return Draft.chain(self._respelled(request.tokens, written)[:budget])

    def observe(self, request: Request, tokens: Sequence[int], rows: Any) -> None:
        """Nothing to do: ``propose`` compares its cache with the request."""

    def fork(self, request: Request, copy: Request) -> None:
        """Nothing to do: the copy finds in the cache what the two share."""

    def close(self, request: Request) -> None:
        """Keep the request's cache for the next that begins like it."""
        self._reader.close(request.id)

    def free(self) -> None:
        """Free the caches of requests that are over."""
        self._reader.free()

    def _respelled(self, tokens: Sequence[int], written: Sequence[int]) -> list[int]:
        """Target ids of the draft's text after the committed tokens; none if the tokenizer would have joined them otherwise."""
        new = b"".join(self._draft.token_bytes(token) for token in written).decode(errors="ignore")
        for size in WINDOWS if new else ():
            tail = list(tokens[-size:])
            if any(token in self._target.special_ids for token in tail):
                continue
            old = b"".join(self._target.token_bytes(token) for token in tail).decode(errors="replace")
            ids = list(self._target.encode(old + new))
            if ids[: len(tail)] == tail:
                return ids[len(tail) :]
        return []
