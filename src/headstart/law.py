"""Laws: probability vectors over a vocabulary, dense or on a few ids, generic in their number type.

float64 in use, exact fractions in proofs. Sums run in one fixed order over ascending ids, so that the same law gives the
same bits in every language. Knows nothing of logits, randomness or models.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstart.native import native

__all__ = ["Excess", "Law", "excess", "total"]

Number = Any
"""float, or ``fractions.Fraction`` in proofs."""


LANES = 16
"""Sums run in this many lanes: value i is added to lane i mod 16, then the lanes are added left to right."""

LONG = 4096
"""A row of so many logits or more is long: where few of them matter, only these are looked at closely."""


def total(values: NDArray[Any]) -> Number:
    """Sum in lanes, which wide registers can do and every language can repeat; up to 16 values simply left to right.

    Examples
    --------
    >>> total(np.array([0.1, 0.2, 0.3])) == (0.1 + 0.2) + 0.3
    True
    """
    whole = len(values) // LANES * LANES
    lanes = np.zeros(LANES, dtype=values.dtype)
    if whole:
        lanes += np.add.accumulate(values[:whole].reshape(-1, LANES), axis=0)[-1]
    lanes[: len(values) - whole] += values[whole:]
    return np.add.accumulate(lanes).tolist()[-1]


@dataclass(frozen=True, eq=False)
class Law:
    """A probability vector over ``size`` token ids.

    Parameters
    ----------
    weights : ndarray of shape (n,), dtype float64 or object (fractions)
        Probabilities; they sum to 1.
    ids : ndarray of shape (n,), dtype int64, ascending, or None
        The tokens that the weights belong to; None for all ids 0..size-1. Every other token has probability 0.
    size : int
        The number of token ids.
    mass : number, optional
        What the weights summed to before they were divided by it, where they are what is left of another law.
    """

    weights: NDArray[Any]
    ids: NDArray[np.int64] | None
    size: int
    mass: Number | None = None

    @classmethod
    def of(cls, weights: Sequence[Number]) -> Law:
        """Build a dense law from a list of numbers of one type.

        Examples
        --------
        >>> Law.of([0.6, 0.4]).prob(0)
        0.6
        """
        exact = not all(isinstance(w, (int, float)) for w in weights)
        return cls(np.array(weights, dtype=object if exact else np.float64), None, len(weights))

    @classmethod
    def certain(cls, token: int, size: int, *, one: Number = 1.0) -> Law:
        """Build the law of a token that is sure."""
        dtype = np.float64 if isinstance(one, float) else object
        return cls(np.array([one], dtype=dtype), np.array([token], dtype=np.int64), size)

    def prob(self, token: int) -> Number:
        """Probability of one token; 0 for an id that is not among the law's own."""
        if self.ids is None:
            weight = self.weights[token] if 0 <= token < len(self.weights) else 0
        else:
            at = int(np.searchsorted(self.ids, token))
            weight = self.weights[at] if at < len(self.ids) and self.ids[at] == token else 0
        return weight.item() if isinstance(weight, np.generic) else weight

    def support(self) -> Iterator[tuple[int, Number]]:
        """Every token of positive probability with its probability, ids ascending."""
        ids = range(len(self.weights)) if self.ids is None else self.ids.tolist()
        return ((i, w) for i, w in zip(ids, self.weights.tolist(), strict=True) if w > 0)

    def on(self, other: Law) -> NDArray[Any]:
        """Give this law's probabilities at another law's ids, in the order of its weights."""
        if self.ids is None and other.ids is None and len(self.weights) == len(other.weights):
            return self.weights
        out = np.zeros(len(other.weights), dtype=self.weights.dtype)
        if other.ids is None:
            ids = np.arange(len(self.weights)) if self.ids is None else self.ids
            out[ids[ids < len(out)]] = self.weights[ids < len(out)]
        elif self.ids is None:
            known = other.ids < len(self.weights)
            out[known] = self.weights[other.ids[known]]
        elif len(self.ids):
            at = np.minimum(np.searchsorted(self.ids, other.ids), len(self.ids) - 1)
            known = self.ids[at] == other.ids
            out[known] = self.weights[at[known]]
        return out

    def without(self, token: int) -> Law | None:
        """Remove a token and renormalise; None if nothing is left."""
        keep = np.arange(self.size)[: len(self.weights)] if self.ids is None else self.ids
        mask = keep != token
        weights = self.weights[mask]
        left = total(weights)
        return Law(weights / left, keep[mask].astype(np.int64), self.size) if left > 0 else None


@dataclass(frozen=True, eq=False)
class Excess:
    """What is left of one law above another: ``max(scale * p - q, 0)``, its mass, and p for an empty remainder."""

    weights: NDArray[Any]
    mass: Number
    ids: NDArray[np.int64] | None
    fallback: Law

    def law(self) -> Law:
        """Normalise, or give ``p`` where the mass is 0, which only rounding can bring about after a rejection."""
        if not self.mass > 0:
            return self.fallback
        return Law(self.weights / self.mass, self.ids, self.fallback.size, self.mass)


def excess(p: Law, q: Law, scale: Number = 1) -> Excess:
    """Target mass above the draft's, ``max(scale * p - q, 0)``.

    Parameters
    ----------
    p, q : Law
        Target and draft law of the next token; their sizes may differ.
    scale : number in [0, 1]
        Factor on ``p``: 1 for token rejection, the running product in block and traversal verification.

    Returns
    -------
    Excess
        Unnormalised weights on p's ids, their sum, and the normalised law on demand.

    Notes
    -----
    Law: ``min(p, q) + (1 - sum(min(p, q))) * excess(p, q).law() == p``.
    Leviathan et al. (2023), arXiv:2211.17192, Algorithm 1; Sun et al. (2024), arXiv:2403.10444 for ``scale``.

    Examples
    --------
    >>> excess(Law.of([0.5, 0.5]), Law.of([0.8, 0.2])).law().weights
    array([0., 1.])
    """
    there = q.on(p)
    if native is not None and p.weights.dtype == there.dtype == np.float64:
        left, mass = native.excess(p.weights, there, scale)
        return Excess(left, mass, p.ids, p)
    weights = np.maximum(scale * p.weights - there, 0 * p.weights)
    return Excess(weights, total(weights), p.ids, p)
