"""Drafters: what may guess ahead."""

from __future__ import annotations

from headstart.draft.lookup import LookupDrafter
from headstart.draft.model import ModelDrafter
from headstart.draft.vocabulary import Translation
from headstart.errors import InputError
from headstart.protocols import Drafter, Model

__all__ = ["DRAFTERS", "LookupDrafter", "ModelDrafter", "make_drafter"]

DRAFTERS = ("none", "lookup", "model")
"""Names that ``make_drafter`` and the command line know."""


def make_drafter(
    name: str, target: Model, draft_model: Model | None, translation: Translation | None = None
) -> Drafter:
    """Make the drafter of that name.

    Raises
    ------
    InputError
        For an unknown name, or ``"model"`` without a draft model.
    """
    if name == "lookup":
        return LookupDrafter()
    if name == "model":
        if draft_model is None:
            raise InputError("the drafter 'model' needs a draft model; name one with draft_model (--draft-model)")
        return ModelDrafter(draft_model, target.vocab_size, translation=translation)
    raise InputError(f"drafter {name!r} is unknown; use one of {', '.join(DRAFTERS)}, or an object of your own")
