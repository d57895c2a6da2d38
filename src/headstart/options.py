"""What a request may ask for, checked as it is said."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from headstart.errors import InputError
from headstart.protocols import Drafter
from headstart.sampling import Sampling

__all__ = ["Options", "check_seed"]

GUARANTEES = ("text", "law", "lossy")
MAX_DRAFT_LENGTH = 64


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of a request.

    Parameters
    ----------
    max_tokens : int or None
        At most this many tokens, at least 1; None: until the model ends the answer or the context is full.
    temperature : float or None
        0 is greedy. None means 0, or 1.0 where top_k, top_p or min_p is given.
    top_k : int
        Keep the k likeliest tokens; 0 keeps all.
    top_p : float in (0, 1]
        Keep the likeliest tokens that together reach this probability.
    min_p : float in [0, 1]
        Keep tokens at least this likely relative to the likeliest.
    seed : int or None
        0 to 2**64 - 1; None draws one, which the result reports.
    stop : str or sequence of str
        Strings that end the answer.
    include_stop : bool
        Whether the stop string stays in the text.
    ignore_eos : bool
        Go on past the model's own end token.
    drafter : str, Drafter or None
        As for ``Engine``; None takes the engine's.
    draft_length : int or None
        Nodes drafted a round, 0 to 64; None leaves it to the controller.
    guarantee : {"text", "law", "lossy"}
        Same seed, same text as plain decoding (default); same distribution; or neither.
    verifier : str or None
        The rule by name; None takes the one that suits the draft and the guarantee.
    raw : bool
        Continue the prompt's text as it is, without chat template.
    """

    max_tokens: int | None = None
    temperature: float | None = None
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    seed: int | None = None
    stop: str | Sequence[str] = ()
    include_stop: bool = False
    ignore_eos: bool = False
    drafter: str | Drafter | None = None
    draft_length: int | None = None
    guarantee: str = "text"
    verifier: str | None = None
    raw: bool = False

    def __post_init__(self) -> None:
        if self.max_tokens is not None and not (_is_int(self.max_tokens) and self.max_tokens >= 1):
            raise InputError(
                f"max_tokens is {self.max_tokens!r}; it must be a whole number of at least 1, or unset for no limit"
            )
        if self.draft_length is not None and not (
            _is_int(self.draft_length) and 0 <= self.draft_length <= MAX_DRAFT_LENGTH
        ):
            raise InputError(
                f"draft_length is {self.draft_length!r}; it must be a whole number from 0 to {MAX_DRAFT_LENGTH}, or unset"
            )
        if self.guarantee not in GUARANTEES:
            raise InputError(f"guarantee is {self.guarantee!r}; it must be one of {', '.join(GUARANTEES)}")
        if not all(isinstance(stop, str) and stop for stop in self.stops):
            raise InputError("a stop string is empty; give at least one character, or leave it out")
        check_seed(self.seed)
        self.sampling()

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Options:
        """Build from names and values; an unknown name raises."""
        return cls().changed(options)

    def changed(self, options: Mapping[str, Any]) -> Options:
        """These options with some replaced; an unknown name raises."""
        known = [field.name for field in fields(self)]
        unknown = [name for name in options if name not in known]
        if unknown:
            raise InputError(f"option {unknown[0]!r} is unknown; the options are {', '.join(known)}")
        return replace(self, **options)

    @property
    def stops(self) -> tuple[str, ...]:
        """The stop strings."""
        return (self.stop,) if isinstance(self.stop, str) else tuple(self.stop)

    def sampling(self) -> Sampling:
        """The sampling parameters, with the temperature that an unset one means."""
        filtered = self.top_k != 0 or self.top_p != 1.0 or self.min_p != 0.0
        temperature = self.temperature if self.temperature is not None else (1.0 if filtered else 0.0)
        return Sampling(temperature=temperature, top_k=self.top_k, top_p=self.top_p, min_p=self.min_p)


def check_seed(seed: int | None) -> int:
    """Give the seed, or draw one; anything but a whole number from 0 to 2**64 - 1 raises."""
    if seed is None:
        return secrets.randbits(63)
    if not _is_int(seed) or not 0 <= seed < 2**64:
        raise InputError(f"seed is {seed!r}; it must be a whole number from 0 to 18446744073709551615")
    return seed


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
