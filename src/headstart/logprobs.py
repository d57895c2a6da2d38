"""Log-probabilities of tokens, from the same rows that decided them.

Convention: natural logarithms of the model's own softmax, before temperature, penalties, filters and grammar, for plain and
drafted rows alike. Knows nothing of how a token was chosen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headstart.coins import exp, log
from headstart.law import total
from headstart.native import native
from headstart.protocols import Rows

__all__ = [
    "Logprob",
    "log_sum_exp",
    "logprob",
]


@dataclass(frozen=True)
class Logprob:
    """Log-probability of one token, and of the likeliest at its place.

    Parameters
    ----------
    token : int
    logprob : float
        At most 0; 0 only where the probability is 1.
    top : tuple of (int, float)
        The likeliest tokens with theirs, descending, ties by lowest id; as many as were asked for.
    """

    token: int
    logprob: float
    top: tuple[tuple[int, float], ...]


def logprob(rows: Rows, row: int, token: int, count: int) -> Logprob:
    """Log-probability of ``token`` after a row, and of the ``count`` likeliest tokens there."""
    logits = rows.logits(row)
    found, largest = rows.top(row, max(count, 1))
    ids, values = found.tolist(), largest.tolist()
    norm = log_sum_exp(logits, values[0])
    top = tuple([(i, value - norm) for i, value in zip(ids[:count], values[:count], strict=True)])
    return Logprob(token, float(logits[token]) - norm, top)


def log_sum_exp(logits: NDArray[np.float32], top: float) -> float:
    """Logarithm of the sum of exponentials of a row whose largest logit is ``top``, in float64, the same bits everywhere."""
    if native is not None:
        value: float = native.log_sum_exp(logits, top)
        return value
    weights = exp(logits.astype(np.float64) - top)
    return top + float(log(np.array([total(weights)]))[0])
