"""From logits to a law: temperature, top-k, top-p, min-p and typical-p, in float64, the same bits everywhere.

Sums run left to right over ascending ids; exp and log are our own. Knows nothing of history or randomness.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from headstart.coins import exp, log
from headstart.errors import NumericsError
from headstart.law import Law, running_sum

__all__ = ["warp"]


def warp(
    logits: NDArray[np.float32], temperature: float, top_k: int, top_p: float, min_p: float, typical_p: float
) -> Law:
    """Turn a row of logits into the law that is sampled.

    Parameters
    ----------
    logits : ndarray of shape (vocab,), dtype float32
        -inf for a token that cannot follow.
    temperature : float above 0
    top_k, top_p, min_p, typical_p
        As in ``Sampling``; each filter works on what the one before left, renormalised.

    Returns
    -------
    Law
        float64, on ascending ids where a filter is set, dense otherwise.

    Raises
    ------
    NumericsError
        If a logit is NaN or +inf, or none is above -inf.
    """
    largest = float(logits.max())
    if not np.isfinite(largest):
        raise NumericsError(_complaint(logits))
    weights = exp((logits.astype(np.float64) - largest) / temperature)
    ids = None if top_k == 0 and top_p == 1 and min_p == 0 and typical_p == 1 else np.flatnonzero(weights > 0)
    if ids is not None:
        weights = weights[ids]
        filters: list[tuple[bool, Callable[[], NDArray[np.int64]]]] = [
            (top_k > 0, lambda: _top_k(weights, top_k)),
            (top_p < 1, lambda: _top_p(weights, top_p)),
            (min_p > 0, lambda: np.flatnonzero(weights >= min_p * weights.max())),
            (typical_p < 1, lambda: _typical(weights / running_sum(weights), typical_p)),
        ]
        for wanted, keep in filters:
            if wanted:
                kept = keep()
                ids, weights = ids[kept], weights[kept]
    return Law(weights / running_sum(weights), ids, len(logits))


def _complaint(logits: NDArray[np.float32]) -> str:
    if np.isnan(logits).any():
        return "a logit is NaN; the model is broken"
    if (logits == np.inf).any():
        return "a logit is +inf; the model or a processor is broken"
    return "no token may follow: every logit is -inf; loosen what is banned, forced or prescribed"


def _top_k(weights: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Places of the k largest, ascending."""
    return np.sort(np.argsort(-weights, kind="stable")[:k])


def _top_p(weights: NDArray[np.float64], p: float) -> NDArray[np.int64]:
    """Places of the fewest largest whose sum reaches ``p`` of the whole, ascending."""
    order = np.argsort(-weights, kind="stable")
    running = np.add.accumulate(weights[order])
    count = int(np.searchsorted(running, p * running[-1], side="left")) + 1
    return np.sort(order[:count])


def _typical(law: NDArray[np.float64], p: float) -> NDArray[np.int64]:
    """Places whose information is nearest to the entropy, the fewest that reach ``p``, ascending."""
    information = -log(law)
    entropy = running_sum(law * information)
    order = np.argsort(np.abs(information - entropy), kind="stable")
    running = np.add.accumulate(law[order])
    count = int(np.searchsorted(running, p * running[-1], side="left")) + 1
    return np.sort(order[:count])
