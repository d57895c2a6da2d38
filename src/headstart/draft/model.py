"""Drafts from a second, smaller model: a chain, drawn as the target's rule wants it.

``greedy``: the draft model's likeliest tokens, certain. ``coupled``: its law sampled by the target's own noise, so that the
two agree as often as their laws do. ``sampled``: its law sampled by coins of its own, for rejection-type rules.
Knows nothing of the target but its vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from headstart.draft.vocabulary import Shared, Translation
from headstart.errors import InputError, RefusedError
from headstart.law import Law
from headstart.protocols import Batch, Model, Needs, Rows
from headstart.request import Request
from headstart.tree import EMPTY, Draft, Origin

__all__ = ["ModelDrafter"]

CHUNK = 256
"""Rows of one pass while the draft model reads a prompt."""

Style = Literal["auto", "greedy", "coupled", "sampled"]


class ModelDrafter:
    """Runs a draft model a few tokens ahead.

    Parameters
    ----------
    model : Model
    vocab_size : int
        Number of the target's token ids.
    translation : Translation or None
        Between the target's ids and the model's own; None where they mean the same.
    style : {"auto", "greedy", "coupled", "sampled"}
        How tokens are drawn; ``"auto"`` takes what suits the request: greedy at temperature 0, coupled under the guarantee
        ``text``, sampled otherwise.
    name : str
        What results call it.

    Raises
    ------
    InputError
        For an unknown style.
    """

    needs = Needs()

    def __init__(
        self,
        model: Model,
        vocab_size: int,
        *,
        translation: Translation | None = None,
        style: Style = "auto",
        name: str = "model",
    ) -> None:
        if style not in ("auto", "greedy", "coupled", "sampled"):
            raise InputError(f"draft style {style!r} is unknown; use auto, greedy, coupled or sampled")
        self.name = name
        self._model, self._style = model, style
        self._translation = translation if translation is not None else Shared(vocab_size, model.vocab_size)
        self._sequences: dict[int, int] = {}
        self._cached: dict[int, list[int]] = {}

    def start(self, request: Request) -> None:
        """Open a sequence; the prompt is read when the first draft is wanted."""
        self._sequences[request.id] = self._model.open()
        self._cached[request.id] = []

    def propose(self, request: Request, budget: int) -> Draft:
        """Draw a chain of up to ``budget`` tokens, fewer where the draft model's own context ends."""
        context = self._translation.context(request.tokens)
        if context is None:
            return EMPTY
        budget = min(budget, self._model.context - len(context) + 1)
        if budget <= 0:
            raise RefusedError(f"the text reached the draft model's context of {self._model.context} tokens")
        origin = self._origin(request)
        rows, row = self._catch_up(request.id, context)
        tokens: list[int] = []
        laws: list[Law] = []
        for node in range(budget):
            if node:
                rows, row = self._advance(request.id, [self._translation.token(tokens[-1])])
            law = self._law(request, rows, row, tokens)
            if law is None:
                break
            tokens.append(self._draw(request, law, node, origin))
            laws.append(law)
        return Draft.chain(tokens, origin=origin, laws=laws if origin == "sampled" else None)

    def observe(self, request: Request, tokens: Sequence[int], rows: Any) -> None:
        """Nothing to do: ``propose`` compares its cache with the request."""

    def fork(self, request: Request, copy: Request) -> None:
        """Share the cache."""
        self._sequences[copy.id] = self._model.fork(self._sequences[request.id])
        self._cached[copy.id] = list(self._cached[request.id])

    def close(self, request: Request) -> None:
        """Forget the request's cache."""
        sequence = self._sequences.pop(request.id, None)
        self._cached.pop(request.id, None)
        if sequence is not None:
            self._model.close(sequence)

    def _origin(self, request: Request) -> Origin:
        if self._style == "greedy" or (self._style == "auto" and request.sampling.greedy):
            return "certain"
        if self._style == "auto":
            return "coupled" if request.guarantee == "text" else "sampled"
        return "coupled" if self._style == "coupled" else "sampled"

    def _catch_up(self, request_id: int, tokens: Sequence[int]) -> tuple[Rows, int]:
        """Drop what the target turned down and read what it committed; gives the row that follows the whole text."""
        cached = self._cached[request_id]
        same = 0
        while same < min(len(cached), len(tokens) - 1) and cached[same] == tokens[same]:
            same += 1
        if same < len(cached):
            old = self._sequences[request_id]
            self._sequences[request_id] = self._model.fork(old, same)
            self._model.close(old)
            del cached[same:]
        return self._advance(request_id, tokens[same:])

    def _advance(self, request_id: int, tokens: Sequence[int]) -> tuple[Rows, int]:
        """Read tokens, in passes of bounded size; gives the row that follows the last of them."""
        sequence = self._sequences[request_id]
        for begin in range(0, len(tokens), CHUNK):
            part = tokens[begin : begin + CHUNK]
            wanted: Literal["last", "none"] = "last" if begin + CHUNK >= len(tokens) else "none"
            rows = self._model.forward(Batch.chain(sequence, part, wanted=wanted))
            self._model.keep(sequence, range(len(part)))
            self._cached[request_id].extend(part)
        return rows, len(part) - 1

    def _law(self, request: Request, rows: Rows, row: int, drafted: Sequence[int]) -> Law | None:
        """The law the next token is drawn from: the request's own sampling, in the target's ids; None if it is empty."""
        history = [*request.tokens, *drafted]
        sampling = replace(request.sampling, temperature=0.0) if self._style == "greedy" else request.sampling
        logits = self._translation.logits(rows.logits(row))
        if not logits.max() > -np.inf and not np.isnan(logits).any():
            return None
        return sampling.law(logits, history, request.prompt_length)

    def _draw(self, request: Request, law: Law, node: int, origin: Origin) -> int:
        if origin == "certain":
            return max(law.support(), key=lambda entry: (entry[1], -entry[0]))[0]
        if origin == "coupled":
            return request.coins.target(law, len(request.tokens) + node)
        return request.coins.propose(law, node)
