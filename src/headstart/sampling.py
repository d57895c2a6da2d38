"""What a user may ask of sampling, and the law that comes of it: one implementation for plain and drafted rows.

Order of application: the processors (penalties, bias, custom ones, bans, grammar; see ``processors``), then temperature,
top-k, top-p, min-p, typical-p, each on what the one before left, as in Hugging Face's ``generate``. Ties go to the lowest id.
Knows nothing of randomness.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstart.errors import InputError
from headstart.law import Law
from headstart.processors import Processor, processed
from headstart.warp import warp

__all__ = ["Sampling"]


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """Sampling parameters.

    Parameters
    ----------
    temperature : float
        At least 0; 0 takes the likeliest token.
    top_k : int
        Keep the k likeliest tokens; 0 keeps all.
    top_p : float in (0, 1]
        Keep the likeliest tokens that together reach this probability.
    min_p : float in [0, 1]
        Keep tokens at least this likely relative to the likeliest.
    typical_p : float in (0, 1]
        Keep the tokens whose information is nearest to the law's entropy, until they reach this probability.
    processors : tuple of Processor
        What changes logits beforehand, in order.

    Raises
    ------
    InputError
        For a value outside its range.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    typical_p: float = 1.0
    processors: tuple[Processor, ...] = ()

    def __post_init__(self) -> None:
        _number("temperature", self.temperature, 0, math.inf, "a finite number of at least 0 (0 is greedy)")
        if isinstance(self.top_k, bool) or not isinstance(self.top_k, int) or self.top_k < 0:
            raise InputError(f"top_k is {self.top_k!r}; it must be a whole number of at least 0 (0 keeps all)")
        _number("top_p", self.top_p, 0, 1, "above 0 and at most 1 (1 keeps all)", above=True)
        _number("min_p", self.min_p, 0, 1, "from 0 (keeps all) to 1")
        _number("typical_p", self.typical_p, 0, 1, "above 0 and at most 1 (1 keeps all)", above=True)

    @property
    def greedy(self) -> bool:
        """Whether the law is all on one token."""
        return self.temperature == 0

    def as_dict(self) -> dict[str, Any]:
        """Plain data; processors by their description."""
        return {**vars(self), "processors": [repr(processor) for processor in self.processors]}

    def law(self, logits: NDArray[np.float32], history: Sequence[int], prompt_length: int) -> Law:
        """The law of the next token.

        Parameters
        ----------
        logits : ndarray of shape (vocab,), dtype float32
        history : sequence of int
            Prompt, output, and the drafted ancestors of the row.
        prompt_length : int
            How many tokens of ``history`` are the prompt.

        Raises
        ------
        NumericsError, DeadEndError
            If a logit is NaN, or none is left above -inf; says for which position of the text.
        """
        logits = processed(self.processors, logits, history, prompt_length)
        row = len(history)
        return warp(logits, self.temperature, self.top_k, self.top_p, self.min_p, self.typical_p, row=row)


def _number(name: str, value: Any, low: float, high: float, allowed: str, *, above: bool = False) -> None:
    """Refuse what is not a finite number in the range, ``low`` itself excluded if ``above``."""
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise InputError(f"{name} is {value!r}; it must be {allowed}")
    if not low <= float(value) <= high or (above and value == low):
        raise InputError(f"{name} is {value!r}; it must be {allowed}")
