"""What no lossless rule can beat, and what sharing the target's noise attains.

Generic in their numbers: fractions in, fractions out. Knows nothing of verifiers: tests hold these against them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstart.law import Law, Number, total
from headstart.theory.speed import acceptance, total_variation
from headstart.toy.rules import Rule

__all__ = ["ChainTokens", "chain_tokens", "coupling_acceptance", "coupling_floor", "drafts_acceptance"]


def drafts_acceptance(p: Law, q: Law, drafts: int) -> Number:
    """Best probability of keeping one of ``drafts`` independent tokens drawn from ``q``.

    Parameters
    ----------
    p, q : Law
        Target and draft law of the next token.
    drafts : int
        Number of drafts, with replacement; 1 or more.

    Returns
    -------
    number in [0, 1]
        ``acceptance(p, q)`` for one draft.

    Notes
    -----
    Law: ``min over sets A of (1 - p(A)) + (1 - (1 - q(A))**k)``, max-flow equal to min-cut; the least A is a prefix of
    the tokens sorted by ``p / q`` descending, so O(V log V). SpecTr's transport problem, Sun et al. (2023),
    arXiv:2310.15141.

    Examples
    --------
    >>> from fractions import Fraction
    >>> p, q = Law.of([Fraction(3, 5), Fraction(2, 5)]), Law.of([Fraction(1, 5), Fraction(4, 5)])
    >>> drafts_acceptance(p, q, 2)
    Fraction(19, 25)
    """
    a, b = _by_ratio(p, q)
    cuts = 1 - np.add.accumulate(a) + 1 - (1 - np.add.accumulate(b)) ** drafts
    return min(1, *cuts.tolist())


def coupling_acceptance(p: Law, q: Law) -> Number:
    """Probability that target and draft pick the same token by the same Gumbel noise.

    Parameters
    ----------
    p, q : Law
        Target and draft law of the next token.

    Returns
    -------
    number in [0, 1]
        Between ``coupling_floor(p, q)`` and ``acceptance(p, q)``; the latter where there are two tokens.

    Notes
    -----
    Law: ``sum over x of 1 / sum over v of max(p(v) / p(x), q(v) / q(x))``. Daliri et al. (2024), arXiv:2408.07978.
    With the tokens sorted by ``p / q`` descending, those before x give ``p(v) / p(x)`` and those after it
    ``q(v) / q(x)``, so O(V log V).

    Examples
    --------
    >>> from fractions import Fraction
    >>> p = Law.of([Fraction(1, 2), Fraction(3, 10), Fraction(1, 5)])
    >>> q = Law.of([Fraction(3, 10), Fraction(1, 5), Fraction(1, 2)])
    >>> coupling_acceptance(p, q)
    Fraction(43, 62)
    """
    a, b = _by_ratio(p, q)
    before = np.add.accumulate(a)
    after = np.append(np.add.accumulate(b[:0:-1])[::-1], 0 * b[:1])
    both = (a > 0) & (b > 0)
    return total(1 / (before[both] / a[both] + after[both] / b[both]))


def coupling_floor(p: Law, q: Law) -> Number:
    """Acceptance that shared noise attains for every pair of laws, and no drafter-blind rule can better for all.

    Notes
    -----
    Law: ``(1 - TV) / (1 + TV)``. Daliri et al. (2024), arXiv:2408.07978.

    Examples
    --------
    >>> coupling_floor(Law.of([0.5, 0.5]), Law.of([1.0, 0.0]))
    0.3333333333333333
    """
    return acceptance(p, q) / (1 + total_variation(p, q))


@dataclass(frozen=True)
class ChainTokens:
    """Expected tokens per pass of a sampled chain.

    ``token`` under token rejection, ``block`` under block verification, ``bound`` for a rule that knew everything
    beforehand: ``token <= block <= bound``.
    """

    token: Number
    block: Number
    bound: Number


def chain_tokens(target: Rule, draft: Rule, draft_length: int, *, context: tuple[int, ...] = ()) -> ChainTokens:
    """Tokens per pass of a chain drawn from ``draft``, by walking every draft that can occur.

    Parameters
    ----------
    target, draft : Rule
        Laws after every context.
    draft_length : int
        Drafted tokens; the work grows with the vocabulary to this power.
    context : tuple of int
        The committed text.

    Notes
    -----
    With r the ratio p / q of a drafted token, a prefix is kept with probability ``prod(min(1, r))`` under token
    rejection, ``min(1, ... min(1, r1) * r2 ...)`` under block verification (Sun et al., arXiv:2403.10444), and with at
    most ``min(1, prod(r))``: 1 minus the total variation of the joint laws. One more token follows in each case.

    Examples
    --------
    >>> from fractions import Fraction
    >>> p, q = Law.of([Fraction(1, 3), Fraction(2, 3)]), Law.of([Fraction(2, 3), Fraction(1, 3)])
    >>> chain_tokens(lambda _: p, lambda _: q, 2)
    ChainTokens(token=Fraction(19, 9), block=Fraction(20, 9), bound=Fraction(7, 3))
    """
    kept = _kept(target, draft, draft_length, context, ChainTokens(1, 1, 1))
    return ChainTokens(1 + kept.token, 1 + kept.block, 1 + kept.bound)


def _kept(target: Rule, draft: Rule, length: int, context: tuple[int, ...], keep: ChainTokens) -> ChainTokens:
    """Expected number of kept drafts below a prefix whose keeping probabilities are ``keep`` (``bound`` uncapped)."""
    token = block = bound = 0 * keep.token
    if length:
        p, q = target(context), draft(context)
        for x, weight in q.support():
            ratio = p.prob(x) / weight
            here = ChainTokens(keep.token * min(1, ratio), min(1, keep.block * ratio), keep.bound * ratio)
            below = _kept(target, draft, length - 1, (*context, x), here)
            token += weight * (here.token + below.token)
            block += weight * (here.block + below.block)
            bound += weight * (min(1, here.bound) + below.bound)
    return ChainTokens(token, block, bound)


def _by_ratio(p: Law, q: Law) -> tuple[NDArray[Any], NDArray[Any]]:
    """Probabilities of every token that either law can give, by p / q descending."""
    a, b = (_dense(law, max(p.size, q.size)) for law in (p, q))
    only_p, rest = (a > 0) & ~(b > 0), b > 0
    order = np.argsort(-(a[rest] / b[rest]), kind="stable")
    return np.append(a[only_p], a[rest][order]), np.append(b[only_p], b[rest][order])


def _dense(law: Law, size: int) -> NDArray[Any]:
    out = np.zeros(size, dtype=law.weights.dtype)
    out[np.arange(len(law.weights)) if law.ids is None else law.ids] = law.weights
    return out
