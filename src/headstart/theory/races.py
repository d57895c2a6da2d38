"""Two samples by one noise: what the second is, given the first. Exact where the laws are."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from headstart.law import Law, Number

__all__ = ["rematch"]


def rematch(first: Law, winner: int, second: Law) -> Law:
    """Law of a sample of ``second``, given that the same noise gave ``winner`` as the sample of ``first``.

    Parameters
    ----------
    first, second : Law
        Both sampled by the exponential race on one noise (equally: by the argmax with the same Gumbel noise).
    winner : int
        A token that ``first`` can give.

    Returns
    -------
    Law over the ids that ``second`` can give

    Notes
    -----
    With a and b the two laws and ``D(r) = sum of max(a, r b)``, winner i and then j have probability
    ``a_i b_j * integral of 1 / D(r)**2`` over r from ``a_j / b_j`` to ``a_i / b_i``, 0 where the latter is smaller, and
    twice the same token ``1 / sum of max(a / a_i, b / b_i)``. D is linear between the tokens' ratios. Its diagonal
    summed is ``coupling_acceptance``.

    Examples
    --------
    >>> from fractions import Fraction
    >>> draft = Law.of([Fraction(1, 5), Fraction(4, 5)])
    >>> target = Law.of([Fraction(3, 5), Fraction(2, 5)])
    >>> rematch(draft, 1, target).weights
    array([Fraction(1, 2), Fraction(1, 2)], dtype=object)
    """
    a, own = first.prob(winner), second.prob(winner)
    ids = [token for token, _ in second.support()]
    ratios = {token: first.prob(token) / second.prob(token) for token in ids}
    end = a / own if own > 0 else None
    weights = [
        1 / _width(first, second, end)
        if token == winner
        else second.prob(token) * _integral(first, second, ratios, ratios[token], end)
        for token in ids
    ]
    dtype = np.float64 if isinstance(weights[0], float) else object
    return Law(np.array(weights, dtype=dtype), np.array(ids, dtype=np.int64), second.size)


def _width(first: Law, second: Law, ratio: Number) -> Number:
    """D at a ratio."""
    tokens = {token for law in (first, second) for token, _ in law.support()}
    return sum((max(first.prob(token), ratio * second.prob(token)) for token in sorted(tokens)), 0 * ratio)


def _integral(first: Law, second: Law, ratios: dict[int, Number], begin: Number, end: Number | None) -> Number:
    """Integral of 1 / D**2; ``end`` None is infinity, where D grows as r does."""
    if end is not None and end <= begin:
        return 0 * begin
    inner: Iterable[Number] = {r for r in ratios.values() if r > begin and (end is None or r < end)}
    cuts = [begin, *sorted(inner), *([end] if end is not None else [])]
    widths = [_width(first, second, cut) for cut in cuts]
    pieces = zip(cuts, cuts[1:], widths, widths[1:], strict=False)
    total = sum(((high - low) / (wide * wider) for low, high, wide, wider in pieces), 0 * begin)
    return total if end is not None else total + 1 / widths[-1]
