"""Log-probabilities of tokens, from the same rows that decided them.

Convention: natural logarithms of the model's own softmax, before temperature, penalties, filters and grammar, for plain and
drafted rows alike. Knows nothing of how a token was chosen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headstart.coins import LOG2_E, exp, log
from headstart.law import LONG, total
from headstart.native import native
from headstart.protocols import Rows

__all__ = ["Logprob", "likeliest", "logprob"]

POWERS = [np.float32(math.log(2) ** j / math.factorial(j)) for j in range(5, -1, -1)]
"""Taylor series of 2**r, highest power first."""

ROUNDER32 = np.float32(12582912)
"""1.5 * 2**23: adding it rounds to a whole number."""


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

    The same bits everywhere. Of rows of ``LONG`` logits and more, those that are 8 or more below the largest are summed in
    float32, which is off by less than 1e-5 of what they sum to, and so by less than the logits are by being float32.
    """
    if native is not None:
        found: tuple[float, list[int], list[float]] = native.likeliest(logits, count)
        return found
    ids = np.argsort(-logits, kind="stable")[:count]
    top = float(logits[ids[0]])
    floor = logits[ids[0]] - np.float32(8) if len(logits) >= LONG else np.float32(-np.inf)
    near = exp(np.where(logits > floor, logits, -np.inf).astype(np.float64) - top)
    norm = top + float(log(np.array([total(near) + _far(logits, floor)]))[0])
    return norm, ids.tolist(), logits[ids].tolist()


def _far(logits: NDArray[np.float32], floor: np.float32) -> float:
    """Sum of ``exp(logit - top)`` of all logits that are not above ``floor``, in float32, within 1e-5."""
    if floor == -np.inf:
        return 0.0
    x = np.maximum((logits - logits.max()) * np.float32(LOG2_E), np.float32(-126))
    shifted = x + ROUNDER32
    r = x - (shifted - ROUNDER32)
    y = np.full_like(r, POWERS[0])
    for c in POWERS[1:]:
        y = y * r + c
    powers = (y.view(np.int32) + (shifted.view(np.int32) << 23)).view(np.float32)
    chunks = np.zeros((-(-len(powers) // 256), 16, 16), np.float32)
    chunks.reshape(-1)[: len(powers)] = np.where(logits > floor, np.float32(0), powers)
    sums = np.add.accumulate(np.add.accumulate(chunks, axis=1)[:, -1], axis=1)[:, -1]
    return float(np.add.accumulate(sums.astype(np.float64))[-1])
