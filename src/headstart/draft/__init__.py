"""Drafters: what may guess ahead."""

from __future__ import annotations

from typing import Any

from headstart.draft.lookup import LookupDrafter
from headstart.draft.model import ModelDrafter
from headstart.draft.respell import RespellingDrafter
from headstart.draft.vocabulary import translate
from headstart.errors import InputError
from headstart.protocols import Drafter, Model, Needs

__all__ = ["DRAFTERS", "LookupDrafter", "ModelDrafter", "RespellingDrafter", "check_drafter", "make_drafter", "pair"]

DRAFTERS = ("none", "lookup", "model")
"""Names that the engine and the command line know."""


def make_drafter(name: str) -> Drafter:
    """Make the drafter of that name that needs no draft model.

    Raises
    ------
    InputError
        For an unknown name, or ``"model"``, which needs one.
    """
    if name == "lookup":
        return LookupDrafter()
    if name == "model":
        raise InputError("the drafter 'model' needs a draft model; name one with draft_model (--draft-model)")
    raise InputError(f"drafter {name!r} is unknown; use one of {', '.join(DRAFTERS)}, or an object of your own")


def check_drafter(drafter: Any) -> Drafter:
    """Refuse, naming what is missing, an object that is no ``Drafter``."""
    missing = [part for part in ("start", "propose", "observe", "fork", "close") if not hasattr(drafter, part)]
    missing += ["name (a text)"] if not isinstance(getattr(drafter, "name", None), str) else []
    missing += ["needs (a Needs)"] if not isinstance(getattr(drafter, "needs", None), Needs) else []
    if isinstance(drafter, type) or missing:
        what = "it is a class, give an object of it" if isinstance(drafter, type) else f"it lacks {', '.join(missing)}"
        raise InputError(f"{drafter!r:.60} is not a drafter: {what}; headstart.protocols.Drafter says what one has")
    return drafter  # type: ignore[no-any-return]


def pair(
    target: Model, target_tokenizer: Any, draft: Model, draft_tokenizer: Any, *, vocabulary: str = "auto"
) -> tuple[Drafter, str | None]:
    """Make the drafter of a draft model, and what the user should know of the two vocabularies, if anything.

    Raises
    ------
    RefusedError
        If the two do not go together.
    InputError
        For an unknown ``vocabulary``; see ``headstart.draft.vocabulary.MODES``.
    """
    if vocabulary == "strings" and target_tokenizer is not None and draft_tokenizer is not None:
        note = "the draft model's text is respelled in the target's tokens"
        return RespellingDrafter(draft, target_tokenizer, draft_tokenizer), note
    sizes = target.vocab_size, draft.vocab_size
    translation = translate(target_tokenizer, draft_tokenizer, *sizes, mode=vocabulary)
    return ModelDrafter(draft, target.vocab_size, translation=translation), translation.note
