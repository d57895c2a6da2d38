"""Drafts from a second, smaller model: a chain, drawn as the target's rule wants it.

``greedy``: the draft model's likeliest tokens, certain. ``coupled``: its law sampled by the target's own noise, so that the
two agree as often as their laws do. ``sampled``: its law sampled by coins of its own, for rejection-type rules.
Knows nothing of the target but its vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from headstart.draft.reader import Reader, room
from headstart.draft.vocabulary import Shared, Translation
from headstart.errors import DeadEndError, InputError
from headstart.law import Law
from headstart.protocols import Model, Needs, Rows
from headstart.request import Request
from headstart.tree import EMPTY, Draft, Origin

__all__ = ["ModelDrafter"]

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
        self._reader, self._style = Reader(model), style
        self._translation = translation if translation is not None else Shared(vocab_size, model.vocab_size)

    def start(self, request: Request) -> None:
        """Nothing to do: the prompt is read when the first draft is wanted."""

    def propose(self, request: Request, budget: int) -> Draft:
        """Draw a chain of up to ``budget`` tokens, fewer where the draft model's own context ends."""
        context = self._translation.context(request.tokens)
        if context is None:
            return EMPTY
        budget = min(budget, room(self._reader.model, context))
        origin = self._origin(request)
        rows, row = self._reader.catch_up(request.id, context)
        tokens: list[int] = []
        laws: list[Law] = []
        for node in range(budget):
            if node:
                last = self._translation.token(tokens[-1])
                if last is None:  # prescribed by the request, and unknown to the draft model
                    break
                rows, row = self._reader.advance(request.id, [last])
            law = self._law(request, rows, row, tokens)
            if law is None:
                break
            tokens.append(self._draw(request, law, node, origin))
            laws.append(law)
            if tokens[-1] in request.ends.eos_ids:
                break
        return Draft.chain(tokens, origin=origin, laws=laws if origin == "sampled" else None)

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

    def _origin(self, request: Request) -> Origin:
        if self._style == "greedy" or (self._style == "auto" and request.sampling.greedy):
            return "certain"
        if self._style == "auto":
            return "coupled" if request.guarantee == "text" else "sampled"
        return "coupled" if self._style == "coupled" else "sampled"

    def _law(self, request: Request, rows: Rows, row: int, drafted: Sequence[int]) -> Law | None:
        """The law the next token is drawn from: the request's own sampling, in the target's ids; None if it is empty."""
        history = [*request.tokens, *drafted]
        sampling = replace(request.sampling, temperature=0.0) if self._style == "greedy" else request.sampling
        try:
            return sampling.law(self._translation.logits(rows.logits(row)), history, request.prompt_length)
        except DeadEndError:
            return None

    def _draw(self, request: Request, law: Law, node: int, origin: Origin) -> int:
        if origin == "certain":
            return max(law.support(), key=lambda entry: (entry[1], -entry[0]))[0]
        if origin == "coupled":
            return request.coins.target(law, len(request.tokens) + node)
        return request.coins.propose(law, node)
