"""What a request may ask for, checked as it is said."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from headstart.errors import InputError, RefusedError
from headstart.grammar import Grammar, Matcher
from headstart.processors import Ban, Bias, Custom, Force, Grammatical, MinTokens, Penalties, Processor
from headstart.protocols import Drafter
from headstart.sampling import Sampling
from headstart.verify import GUARANTEES, named

__all__ = [
    "Options",
    "check_int",
    "check_number",
]

MAX_DRAFT_LENGTH = 64
MAX_LOGPROBS = 100
LARGEST = 1e6
"""Size of a penalty or bias at most: far beyond any logit, and sums of them stay finite in float32."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of a request. Every one is honoured exactly on every drafted row, or refused by name.

    Parameters
    ----------
    max_tokens : int or None
        At most this many tokens, at least 1; None: until the model ends the answer or the context is full.
    min_tokens : int
        Tokens made before the answer may end: until then end tokens cannot follow and stop strings are not looked for.
    temperature : float or None
        0 is greedy. None means 0, or 1.0 where top_k, top_p, min_p or typical_p is given.
    top_k : int
        Keep the k likeliest tokens; 0 keeps all.
    top_p : float in (0, 1]
        Keep the likeliest tokens that together reach this probability.
    min_p : float in [0, 1]
        Keep tokens at least this likely relative to the likeliest.
    typical_p : float in (0, 1]
        Keep the tokens nearest to the law's entropy that together reach this probability.
    repetition_penalty : float from 1e-6 to 1e6
        Over prompt and output, as Hugging Face and llama.cpp count; 1 is none.
    presence_penalty, frequency_penalty : float
        Over the output only, as the OpenAI API and vLLM count; 0 is none.
    logit_bias : mapping of int to float
        Added to the logits of these tokens; at most 1e6 in size, like every penalty.
    banned_tokens : sequence of int
        Tokens that never follow.
    forced_tokens : mapping of int to int
        Place in the output, counted from 0, to the token that must stand there; an error once that is met if something else
        keeps it from there.
    processors : sequence of callables
        ``f(logits, history, prompt_length) -> logits``, applied after the penalties and biases; must be a pure function.
    grammar : Grammar or None
        What the answer must look like.
    seed : int or None
        0 to 2**64 - 1; None draws one, which the result reports.
    stop : str or sequence of str
        Strings that end the answer.
    include_stop : bool
        Whether the stop string stays in the text.
    stop_token_ids : sequence of int
        More tokens that end the answer; like the model's own end token they have no text.
    ignore_eos : bool
        Go on past the model's own end token.
    logprobs : int or None
        Report each token's log-probability and those of this many likeliest (0 to 100); None: report none.
    prompt_logprobs : int or None
        The same for the prompt's tokens.
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

    Raises
    ------
    InputError
        For a value that is not allowed.
    """

    max_tokens: int | None = None
    min_tokens: int = 0
    temperature: float | None = None
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    typical_p: float = 1.0
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    logit_bias: Mapping[int, float] = field(default_factory=dict)
    banned_tokens: Sequence[int] = ()
    forced_tokens: Mapping[int, int] = field(default_factory=dict)
    processors: Sequence[Processor] = ()
    grammar: Grammar | None = None
    seed: int | None = None
    stop: str | Sequence[str] = ()
    include_stop: bool = False
    stop_token_ids: Sequence[int] = ()
    ignore_eos: bool = False
    logprobs: int | None = None
    prompt_logprobs: int | None = None
    drafter: str | Drafter | None = None
    draft_length: int | None = None
    guarantee: str = "text"
    verifier: str | None = None
    raw: bool = False

    def __post_init__(self) -> None:
        self._check_kinds()
        check_int("max_tokens", self.max_tokens, 1, None, "unset for no limit")
        check_int("min_tokens", self.min_tokens, 0)
        check_int("draft_length", self.draft_length, 0, MAX_DRAFT_LENGTH, "unset to leave it to the controller")
        check_int("logprobs", self.logprobs, 0, MAX_LOGPROBS, "unset for none")
        check_int("prompt_logprobs", self.prompt_logprobs, 0, MAX_LOGPROBS, "unset for none")
        check_int("seed", self.seed, 0, 2**64 - 1, "unset to draw one")
        if self.max_tokens is not None and self.min_tokens > self.max_tokens:
            raise InputError(f"min_tokens is {self.min_tokens} and max_tokens {self.max_tokens}; it must not be larger")
        if self.guarantee not in GUARANTEES:
            raise InputError(f"guarantee is {self.guarantee!r}; it must be one of {', '.join(reversed(GUARANTEES))}")
        if not all(isinstance(stop, str) and stop for stop in self.stops):
            raise InputError("a stop string is empty or not text; give at least one character, or leave it out")
        if self.grammar is not None and self.ignore_eos:
            raise RefusedError("a grammar ends the answer and ignore_eos forbids that; leave one of them out")
        self._check_penalties()
        greedy = self.sampling().greedy
        if self.verifier is not None:
            named(self.verifier, self.guarantee)
        if self.verifier == "greedy" and not greedy:
            raise RefusedError("verifier 'greedy' needs temperature 0; set it, or use verifier 'coupled'")

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Options:
        """Build from names and values; an unknown name raises."""
        return cls().changed(options)

    def changed(self, options: Mapping[str, Any]) -> Options:
        """These options with some replaced; an unknown name raises."""
        known = [option.name for option in fields(self)]
        unknown = [name for name in options if name not in known]
        if unknown:
            raise InputError(f"option {unknown[0]!r} is unknown; the options are {', '.join(known)}")
        return replace(self, **options) if options else self

    @property
    def stops(self) -> tuple[str, ...]:
        """The stop strings."""
        return (self.stop,) if isinstance(self.stop, str) else tuple(self.stop)

    def sampling(self, processors: tuple[Processor, ...] = ()) -> Sampling:
        """The sampling parameters, with the temperature that an unset one means."""
        filtered = self.top_k != 0 or self.top_p != 1.0 or self.min_p != 0.0 or self.typical_p != 1.0
        return Sampling(
            temperature=self.temperature if self.temperature is not None else (1.0 if filtered else 0.0),
            top_k=self.top_k,
            top_p=self.top_p,
            min_p=self.min_p,
            typical_p=self.typical_p,
            processors=processors,
        )

    def all_processors(self, matcher: Matcher | None, ends: Collection[int], vocab_size: int) -> tuple[Processor, ...]:
        """What changes the logits, in the order of application; tokens are checked against the vocabulary."""
        named = [*self.logit_bias, *self.banned_tokens, *self.forced_tokens.values(), *self.stop_token_ids]
        for token in named:
            check_int("a token of logit_bias, banned_tokens, forced_tokens or stop_token_ids", token, 0, vocab_size - 1)
        penalties = Penalties(self.repetition_penalty, self.presence_penalty, self.frequency_penalty)
        return (
            *((penalties,) if penalties != Penalties() else ()),
            *((Bias(dict(self.logit_bias)),) if self.logit_bias else ()),
            *(Custom(processor) for processor in self.processors),
            *((Ban(tuple(self.banned_tokens)),) if len(self.banned_tokens) else ()),
            *((MinTokens(self.min_tokens, tuple(sorted(ends))),) if self.min_tokens and ends else ()),
            *((Grammatical(matcher),) if matcher is not None else ()),
            *((Force(dict(self.forced_tokens)),) if self.forced_tokens else ()),
        )

    def _check_kinds(self) -> None:
        """Refuse what is of another kind than its parameter."""
        for name in ("logit_bias", "forced_tokens"):
            _check_kind(name, getattr(self, name), Mapping, "a mapping by token id or place, or left out")
        for name in ("banned_tokens", "stop_token_ids", "processors"):
            _check_kind(name, getattr(self, name), Collection, "a list, or left out")
        _check_kind("stop", self.stop, Collection, "a text or a list of texts, or left out")
        for name in ("ignore_eos", "raw"):
            _check_kind(name, getattr(self, name), bool, "True or False")
        _check_kind("grammar", self.grammar, Grammar | None, "a Grammar, or None")

    def _check_penalties(self) -> None:
        check_number("repetition_penalty", self.repetition_penalty, 1 / LARGEST, "1 is none")
        check_number("presence_penalty", self.presence_penalty, -LARGEST, "0 is none")
        check_number("frequency_penalty", self.frequency_penalty, -LARGEST, "0 is none")
        for token, bias in self.logit_bias.items():
            check_number(f"the logit_bias of token {token}", bias, -LARGEST, "banned_tokens bans a token")
        for place in self.forced_tokens:
            check_int("a place of forced_tokens", place, 0)


def _check_kind(name: str, value: object, kind: Any, wanted: str) -> None:
    if not isinstance(value, kind):
        raise InputError(f"{name} is {value!r:.60}; it must be {wanted}")


def check_int(name: str, value: object, low: int, high: int | None = None, unset: str | None = None) -> None:
    """Refuse what is not a whole number in the range, or None where ``unset`` says what that means."""
    if value is None and unset is not None:
        return
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or value < low or (high is not None and value > high):  # type: ignore[operator]
        allowed = f"of at least {low}" if high is None else f"from {low} to {high}"
        raise InputError(
            f"{name} is {value!r}; it must be a whole number {allowed}" + (f", or {unset}" if unset else "")
        )


def check_number(name: str, value: object, low: float, hint: str) -> None:
    """Refuse what is not a number between ``low`` and ``LARGEST``."""
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not number or not low <= value <= LARGEST:  # type: ignore[operator]
        raise InputError(f"{name} is {value!r}; it must be a number from {low:g} to {LARGEST:g} ({hint})")
