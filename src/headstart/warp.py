"""From logits to a law: temperature, top-k, top-p, min-p and typical-p, for plain and drafted rows alike.

The meanings are Hugging Face's, in its order: temperature, top-k, top-p, min-p, typical-p, each on what the one before
left. Ties at an edge are ours: the lowest ids stay. Knows nothing of history, randomness or models.

Everything is + - x / in float64 in a fixed order, so that the native twin gives the same bits on every machine.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from headstart.coins import exp, log
from headstart.errors import DeadEndError, HeadstartError, NumericsError
from headstart.law import LONG, Law, total
from headstart.native import native

__all__ = ["warp"]

EDGES = 0x3FF0000000000000 - (np.arange(2048, dtype=np.uint64) << np.uint64(47))
"""Bits of 2048 numbers from 1 down to 2**-63, 32 to an octave: top-p sums weights down to one of these, then one by one."""


def warp(
    logits: NDArray[np.float32],
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    min_p: float = 0.0,
    typical_p: float = 1.0,
    *,
    row: int | None = None,
) -> Law:
    """Turn a row of logits into the law that is sampled.

    Parameters
    ----------
    logits : ndarray of shape (vocab,), dtype float32
        -inf for a token that cannot follow.
    temperature : float >= 0
        0: all on the largest logit, lowest id on ties.
    top_k, top_p, min_p, typical_p
        As in ``Sampling``; each filter works on what the one before left, renormalised.
    row : int, optional
        Position in the text of the token that this row is about, to name it in an error.

    Returns
    -------
    Law
        float64; on all ids where nothing is cut, otherwise on those that are kept, or on the few above minus infinity.

    Raises
    ------
    NumericsError
        If a logit is NaN or plus infinity.
    DeadEndError
        If none is above minus infinity.

    Examples
    --------
    >>> warp(np.array([2, 1, 0], np.float32), top_k=1).weights
    array([1.])
    """
    law = _cut(logits, temperature, top_k, top_p, min_p, row)
    return law if typical_p == 1 or temperature == 0 else _typical(law, typical_p)


def _cut(
    logits: NDArray[np.float32], temperature: float, top_k: int, top_p: float, min_p: float, row: int | None
) -> Law:
    """All filters but typical-p."""
    best = int(np.argmax(logits))
    top = float(logits[best])
    if not math.isfinite(top):
        raise _complaint(top, row)
    if temperature == 0:
        return Law.certain(best, len(logits))
    inverse = min(1.0 / temperature, 1.7976931348623157e308)
    if native is not None:
        weights, ids = native.warp(logits, top, inverse, min(top_k, len(logits)), top_p, min_p)
        return Law(weights, ids, len(logits))
    ids = _largest(logits, top_k) if 0 < top_k < len(logits) else _few_alive(logits)
    kept = logits if ids is None else logits[ids]
    with np.errstate(over="ignore"):
        scaled = (kept.astype(np.float64) - top) * inverse
    weights = exp(scaled)
    keep = np.ones(len(kept), dtype=bool)
    if top_p < 1:
        keep = _nucleus(kept, weights, top_p)
    if min_p > 0:
        keep &= weights >= min_p
    if top_p < 1 or min_p > 0:
        ids = np.flatnonzero(keep) if ids is None else ids[keep]
        weights = weights[keep]
    return Law(weights * (1.0 / total(weights)), ids, len(logits))


def _complaint(top: float, row: int | None) -> HeadstartError:
    where = "" if row is None else f" for the token at position {row}"
    if top == -math.inf:
        return DeadEndError(
            f"no token may follow: every logit{where} is -inf; loosen what is banned, forced or prescribed"
        )
    return NumericsError(
        f"the model's logits{where} hold a {'NaN' if math.isnan(top) else '+inf'}; the model is broken"
    )


def _largest(logits: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """Ids of the ``count`` largest logits, ascending; of equal ones the lowest; none that is minus infinity."""
    edge = np.partition(logits, len(logits) - count)[len(logits) - count]
    above = np.flatnonzero(logits > edge)
    equal = np.flatnonzero(logits == edge)[: count - len(above)] if edge > -np.inf else above[:0]
    return np.sort(np.concatenate([above, equal])).astype(np.int64)


def _few_alive(logits: NDArray[np.float32]) -> NDArray[np.int64] | None:
    """Ids of the logits above minus infinity where, of a long row, they are a sixteenth at most: what a grammar leaves, say."""
    alive = np.flatnonzero(logits > -np.inf)
    return alive if len(logits) >= LONG and 16 * len(alive) <= len(logits) else None


def _nucleus(logits: NDArray[np.float32], weights: NDArray[np.float64], top_p: float) -> NDArray[np.bool_]:
    """Tokens such that all that are likelier sum to less than ``top_p`` of the whole, the best among them."""
    goal = top_p * total(weights)
    edges = EDGES.view(np.float64)
    above, below = 0, len(edges) - 1  # what is above the first edge falls short of the goal
    while below - above > 1:
        middle = (above + below) // 2
        short = _total_above(weights, edges[middle]) < goal
        above, below = (middle, below) if short else (above, middle)
    floor = edges[below] if below < len(edges) - 1 else -1.0
    keep: NDArray[np.bool_] = weights > edges[above]
    between = np.flatnonzero((weights > floor) & ~keep)
    between = between[np.argsort(-logits[between], kind="stable")]
    start = _total_above(weights, edges[above])
    before = np.add.accumulate(np.concatenate([[start], weights[between]]))[:-1]
    keep[between[before < goal]] = True
    keep[np.argmax(logits)] = True
    return keep


def _total_above(weights: NDArray[np.float64], floor: float) -> float:
    return float(total(np.where(weights > floor, weights, 0.0)))


def _typical(law: Law, mass: float) -> Law:
    """Keep the tokens whose surprise is nearest the law's entropy, the fewest that reach ``mass``, at least one.

    Notes
    -----
    Meister et al. (2023), arXiv:2202.00666; ties go to the lowest id.
    """
    ids = np.flatnonzero(law.weights > 0) if law.ids is None else law.ids[law.weights > 0]
    weights = law.weights[law.weights > 0]
    surprise = -log(weights)
    order = np.argsort(np.abs(surprise - total(weights * surprise)), kind="stable")
    before = np.add.accumulate(weights[order]) - weights[order]
    keep = np.zeros(len(weights), dtype=bool)
    keep[order[before < mass]] = True
    keep[order[0]] = True
    return Law(weights[keep] * (1.0 / total(weights[keep])), ids[keep], law.size)
