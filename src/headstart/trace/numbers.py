"""What a trace keeps of a law, and the arithmetic of draws that writer and checker share.

A law on few ids is kept whole. Of a wider one the tokens that matter are kept, with a bound on all others (``floor``)
small enough to prove who won its race. Knows nothing of files or rules.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstart.coins import log, noise, words
from headstart.law import Law

__all__ = ["LARGEST", "WHOLE", "Key", "law_record", "position_key", "spread", "times"]

Key = tuple[int, int]

WHOLE = 256
"""A law on at most this many ids is stored whole."""

LARGEST = 32
"""Of a wider law, this many of the largest weights are stored, beside the tokens that a decision touched."""


def position_key(seed: int, choice: int, position: int) -> Key:
    """Key of the target's noise at an absolute position."""
    return words(words((seed & 0xFFFFFFFF, seed >> 32), (choice, 0)), (position, 1))


def times(weights: NDArray[np.float64], ids: NDArray[np.int64], key: Key) -> NDArray[np.float64]:
    """Finishing times of the race, ``-log(U) / weight``; infinite for weight 0."""
    with np.errstate(over="ignore", divide="ignore"):
        return np.asarray(-log(noise(key, ids)) / weights)


def law_record(law: Law, touched: Iterable[int] = (), race_key: Key | None = None) -> dict[str, Any]:
    """What is stored of a law: all of it, or the largest weights, the touched tokens, and a floor for the rest.

    Parameters
    ----------
    law : Law
    touched : iterable of int
        Tokens that a decision looked at.
    race_key : pair of int, optional
        Key of the noise, where the law was sampled by the target's noise: then every token is stored that a weight of
        ``floor`` would have let win.
    """
    ids = np.arange(len(law.weights)) if law.ids is None else law.ids
    weights = law.weights.astype(np.float64)
    if len(ids) <= WHOLE:
        return {"weights": weights.tolist()} if law.ids is None else {"ids": ids.tolist(), "weights": weights.tolist()}
    stored = _largest(weights, LARGEST)
    stored[np.isin(ids, np.fromiter(touched, np.int64))] = True
    floor = float(weights[~stored].max())
    if race_key is not None and floor > 0:
        best = times(weights, ids, race_key).min()
        stored |= times(np.full(len(ids), floor), ids, race_key) <= best
    return {"ids": ids[stored].tolist(), "weights": weights[stored].tolist(), "floor": floor}


def spread(law: Law, token: int) -> dict[str, float]:
    """Where a draw's token lies in its law: running sum ``before`` it, weight ``at`` it, and ``total``, left to right."""
    weights = law.weights.astype(np.float64)
    running = np.add.accumulate(weights)
    at = token if law.ids is None else int(np.searchsorted(law.ids, token))
    before = float(running[at - 1]) if at else 0.0
    return {"before": before, "at": float(weights[at]), "total": float(running[-1])}


def _largest(weights: NDArray[np.float64], count: int) -> NDArray[np.bool_]:
    """Mask of the ``count`` largest, ties by lowest index."""
    bound = np.partition(weights, len(weights) - count)[len(weights) - count]
    mask = weights > bound
    ties = np.flatnonzero(weights == bound)[: count - int(mask.sum())]
    mask[ties] = True
    return np.asarray(mask)
