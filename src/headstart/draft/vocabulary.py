"""Two vocabularies: whether ids mean the same, and what to do where they do not.

``Shared``        ids mean the same; the draft model's may be padded, larger or smaller. It does not read those it lacks.
``Intersection``  a token is drawn among those whose bytes both vocabularies have (token-level intersection).

Timor et al. (2025), arXiv:2502.05202. Lossless: the law on the intersection, renormalised, *is* the law that is
drawn from. Knows nothing of models.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from headstart.errors import InputError, RefusedError

__all__ = ["MODES", "Intersection", "Shared", "Translation", "differing_ids", "read_text", "translate"]

MODES = ("auto", "same", "intersection", "strings")
"""How a draft model's vocabulary is used: find out, take ids as they are, draw among the tokens both have, or respell its text."""


class Translation(Protocol):
    """Between the target's token ids and the draft model's."""

    note: str | None

    def context(self, tokens: Sequence[int]) -> Sequence[int] | None:
        """The target's tokens as the draft model reads them; None where it cannot: nothing it knows, or half a character."""

    def token(self, token: int) -> int | None:
        """Draft id of a target id; None where the draft has no such token."""

    def logits(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        """A draft row in the target's ids, -inf where the draft has no such token."""


class Shared:
    """Ids mean the same on both sides, up to the smaller vocabulary."""

    note: str | None

    def __init__(self, target_size: int, draft_size: int) -> None:
        self._target_size, self._draft_size = target_size, draft_size
        self.note = None if target_size == draft_size else _padding_note(target_size, draft_size)

    def context(self, tokens: Sequence[int]) -> Sequence[int] | None:
        if self._draft_size >= self._target_size:
            return tokens
        return [token for token in tokens if token < self._draft_size] or None

    def token(self, token: int) -> int | None:
        return token if token < self._draft_size else None

    def logits(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        if len(logits) >= self._target_size:
            return logits[: self._target_size]
        return np.concatenate([logits, np.full(self._target_size - len(logits), -np.inf, np.float32)])


class Intersection:
    """Tokens whose bytes both vocabularies have; special ones only where both call them so.

    The draft model reads the committed text in its own tokens, with at most one token for the beginning; committed target
    ids are never changed.
    """

    note: str | None

    def __init__(self, target: Any, draft: Any, target_size: int, draft_size: int) -> None:
        self._target, self._draft, self._target_size = target, draft, target_size
        by_bytes = {_name(draft, token): token for token in reversed(range(min(draft.vocab_size, draft_size)))}
        pairs = [(token, by_bytes.get(_name(target, token))) for token in range(min(target.vocab_size, target_size))]
        self._to_draft = {ours: theirs for ours, theirs in pairs if theirs is not None and _name(target, ours)[1]}
        self._ours = np.array(sorted(self._to_draft), np.int64)
        self._theirs = np.array([self._to_draft[token] for token in self._ours.tolist()], np.int64)
        if not len(self._ours):
            raise RefusedError("the draft model's vocabulary has no token in common with the target's; use another one")
        self.note = f"the draft model has another tokenizer: it draws among the {len(self._ours)} tokens that both vocabularies have"

    def context(self, tokens: Sequence[int]) -> Sequence[int] | None:
        return read_text(tokens, self._target, self._draft)

    def token(self, token: int) -> int | None:
        return self._to_draft.get(token)

    def logits(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        out = np.full(self._target_size, -np.inf, np.float32)
        out[self._ours] = logits[self._theirs]
        return out


def read_text(tokens: Sequence[int], target: Any, draft: Any) -> list[int] | None:
    """Write the text of the target's tokens in the draft's, with at most one first token; None while it ends inside a character."""
    body = tokens[1:] if tokens and tokens[0] == target.bos_id else tokens
    raw = b"".join(target.token_bytes(token) for token in body)
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        if error.end == len(raw) and len(raw) - error.start < 4 and error.reason == "unexpected end of data":
            return None
        text = raw.decode(errors="replace")
    ids = list(draft.encode(text, special=True))
    return ([draft.bos_id, *ids] if draft.add_bos else ids) or None


def differing_ids(target: Any, draft: Any, size: int) -> list[int]:
    """Ids below ``size`` that stand for different bytes."""
    if target.fingerprint == draft.fingerprint:
        return []
    shared = min(size, target.vocab_size, draft.vocab_size)
    return [token for token in range(shared) if _name(target, token) != _name(draft, token)]


def translate(target: Any, draft: Any, target_size: int, draft_size: int, *, mode: str = "auto") -> Translation:
    """Choose the translation between two models' ids.

    Parameters
    ----------
    target, draft : Tokenizer or None
        None where a model object came without one: its ids are then taken as the target's.
    target_size, draft_size : int
        Number of ids that each model scores.
    mode : {"auto", "same", "intersection"}
        ``"auto"``: shared where all common ids mean the same, intersection where the tokenizers differ; vocabularies of
        one size that mean different things are refused.

    Raises
    ------
    RefusedError
        For two vocabularies of one size with different meanings, naming the first ids, unless ``mode`` says what to do.
    InputError
        For an unknown mode.
    """
    if mode not in MODES:
        raise InputError(f"draft_vocabulary is {mode!r}; it must be one of {', '.join(MODES)}")
    if mode == "intersection" and target is not None and draft is not None:
        return Intersection(target, draft, target_size, draft_size)
    if mode == "same" or target is None or draft is None:
        return Shared(target_size, draft_size)
    differing = differing_ids(target, draft, min(target_size, draft_size))
    if not differing:
        return Shared(target_size, draft_size)
    if target_size == draft_size and target.vocab_size == draft.vocab_size:
        first = ", ".join(
            f"{token} ({target.token_bytes(token)!r} and {draft.token_bytes(token)!r})" for token in differing[:3]
        )
        raise RefusedError(
            f"target and draft model both have {target_size} token ids, but {len(differing)} of them mean different things, "
            f"the first ones {first}; use draft_vocabulary='intersection', or 'same' if you know better"
        )
    return Intersection(target, draft, target_size, draft_size)


def _name(tokenizer: Any, token: int) -> tuple[bool, bytes]:
    """What a token is: whether it is special, and its bytes."""
    return token in tokenizer.special_ids, bytes(tokenizer.token_bytes(token))


def _padding_note(target_size: int, draft_size: int) -> str:
    if draft_size > target_size:
        return f"the draft model has {draft_size - target_size} ids more than the target; they are never drawn"
    return f"the draft model has {target_size - draft_size} ids fewer than the target; those are never drafted"
