"""What changes a row's logits before temperature: penalties, bias, bans, forced tokens, grammar, and the user's own.

A processor is a callable of (logits, history, prompt_length) that returns logits and leaves its argument alone. History holds
the drafted ancestors of the row, so a drafted row is treated exactly as plain decoding would treat it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from headstart.errors import InputError
from headstart.grammar import Matcher
from headstart.tally import Tally

__all__ = [
    "Ban",
    "Bias",
    "Custom",
    "Force",
    "Grammatical",
    "MinTokens",
    "Penalties",
    "Processor",
    "Writer",
    "processed",
]

Logits = NDArray[np.float32]
"""A row's logits, shape (vocab,)."""


class Processor(Protocol):
    """Changes a row's logits: shape (vocab,), float32, in and out; must not write into what it is given."""

    def __call__(self, logits: Logits, history: Sequence[int], prompt_length: int) -> Logits: ...


class Writer(ABC):
    """A processor of our own: it can also ``write`` into logits that nobody else looks at."""

    @abstractmethod
    def write(self, logits: Logits, history: Sequence[int], prompt_length: int) -> None:
        """Change the logits in place."""

    def __call__(self, logits: Logits, history: Sequence[int], prompt_length: int) -> Logits:
        out: Logits = logits.copy()
        self.write(out, history, prompt_length)
        return out


def processed(processors: Sequence[Processor], logits: Logits, history: Sequence[int], prompt_length: int) -> Logits:
    """What is left of a row's logits after all processors, in order; copied once at most between those of the user."""
    ours = False  # whether nobody else looks at these logits
    for processor in processors:
        if isinstance(processor, Writer):
            logits, ours = logits if ours else logits.copy(), True
            processor.write(logits, history, prompt_length)
        else:
            logits, ours = processor(logits, history, prompt_length), False
    return logits


@dataclass(frozen=True)
class Penalties(Writer):
    """Make what was said less likely to be said again.

    Parameters
    ----------
    repetition : float
        Above 0. Divides the positive logits and multiplies the negative ones of every token of prompt and output, as in
        Hugging Face and llama.cpp. Keskar et al. (2019), arXiv:1909.05858.
    presence, frequency : float
        Subtracted from tokens of the output: once, and once per occurrence, as in the OpenAI API and vLLM.
    """

    repetition: float = 1.0
    presence: float = 0.0
    frequency: float = 0.0

    def write(self, logits: Logits, history: Sequence[int], prompt_length: int) -> None:
        """Change the logits in place."""
        self._tally.read(history, prompt_length)
        ids, counts = self._tally.ids, self._tally.said
        values = logits[ids]
        if self.repetition != 1.0:
            factor = np.float32(self.repetition)
            values = np.where(values < 0, values * factor, values / factor)
        if self.presence or self.frequency:
            said = counts > 0
            values[said] -= (self.presence + self.frequency * counts[said]).astype(np.float32)
        logits[ids] = values

    @cached_property
    def _tally(self) -> Tally:
        return Tally()


@dataclass(frozen=True)
class Bias(Writer):
    """Add to the logits of some tokens."""

    biases: Mapping[int, float]

    def write(self, logits: Logits, history: Sequence[int], prompt_length: int) -> None:
        """Change the logits in place."""
        ids, values = self._arrays
        logits[ids] += values

    @cached_property
    def _arrays(self) -> tuple[NDArray[np.int64], Logits]:
        return np.array(list(self.biases), np.int64), np.array(list(self.biases.values()), np.float32)


@dataclass(frozen=True)
class Ban(Writer):
    """Never let these tokens follow."""

    tokens: tuple[int, ...]

    def write(self, logits: Logits, history: Sequence[int], prompt_length: int) -> None:
        """Change the logits in place."""
        logits[list(self.tokens)] = -np.inf


@dataclass(frozen=True)
class MinTokens(Writer):
    """Keep an answer from ending before it has ``count`` tokens."""

    count: int
    ends: tuple[int, ...]

    def write(self, logits: Logits, history: Sequence[int], prompt_length: int) -> None:
        """Change the logits in place."""
        if len(history) - prompt_length < self.count:
            logits[list(self.ends)] = -np.inf


@dataclass(frozen=True)
class Force(Writer):
    """Prescribe tokens at places of the output, counted from 0: no other may follow there, and this one only if it may."""

    tokens: Mapping[int, int]

    def write(self, logits: Logits, history: Sequence[int], prompt_length: int) -> None:
        """Change the logits in place."""
        token = self.tokens.get(len(history) - prompt_length)
        if token is not None:
            kept = logits[token]
            logits.fill(-np.inf)
            logits[token] = kept


@dataclass(frozen=True)
class Grammatical(Writer):
    """Allow what a grammar allows."""

    matcher: Matcher

    def write(self, logits: Logits, history: Sequence[int], prompt_length: int) -> None:
        """Change the logits in place."""
        allowed = self.matcher.allowed(history[prompt_length:])
        np.copyto(logits, np.float32(-np.inf), where=~allowed)


@dataclass(frozen=True)
class Custom:
    """A callable of the user's own, checked: it gives as many float32 logits as it got, each a number or -inf."""

    function: Processor

    def __call__(self, logits: Logits, history: Sequence[int], prompt_length: int) -> Logits:
        try:
            out = np.asarray(self.function(logits.copy(), tuple(history), prompt_length), np.float32)
        except Exception as error:
            raise InputError(f"a custom processor failed{_at(history)}: {type(error).__name__}: {error}") from error
        if out.shape != logits.shape:
            raise InputError(f"a custom processor returned shape {out.shape}; it must return {logits.shape}, as given")
        if not (out < np.inf).all():
            raise InputError(f"a custom processor returned NaN or plus infinity{_at(history)}; return numbers, or -inf")
        return out


def _at(history: Sequence[int]) -> str:
    return f" for the token at position {len(history)}"
