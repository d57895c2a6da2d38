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

__all__ = ["Logprob", "likeliest", "logprob"]


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
    rows.argmax(row)  # raises where the row holds a NaN
    logits = rows.logits(row)
    norm, ids, values = likeliest(logits, max(count, 1))
    top = tuple([(i, value - norm) for i, value in zip(ids[:count], values[:count], strict=True)])
    return Logprob(token, float(logits[token]) - norm, top)


def likeliest(logits: NDArray[np.float32], count: int) -> tuple[float, list[int], list[float]]:
    """Logarithm of the sum of exponentials of a row, and ids and logits of the ``count`` largest, ties by lowest id.

    Sums are in float64, the same bits everywhere.
    """
    if native is not None:
        found: tuple[float, list[int], list[float]] = native.likeliest(logits, count)
        return found
    ids = np.argsort(-logits, kind="stable")[:count]
    top = float(logits[ids[0]])
    norm = top + float(log(np.array([total(exp(logits.astype(np.float64) - top))]))[0])
    return norm, ids.tolist(), logits[ids].tolist()
