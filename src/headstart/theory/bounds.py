"""What no lossless rule can beat, and what sharing the target's noise attains.

Generic in their numbers: fractions in, fractions out. Knows nothing of verifiers: tests hold these against them.
"""

from __future__ import annotations

from dataclasses import dataclass

from headstart.law import Law, Number
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
    best: Number = 1
    inside_p, inside_q = 0 * best, 0 * best
    for a, b in _by_ratio(p, q):
        inside_p, inside_q = inside_p + a, inside_q + b
        best = min(best, 1 - inside_p + 1 - (1 - inside_q) ** drafts)
    return best


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
    total: Number = 0
    pairs = _by_ratio(p, q)
    before, after = 0, sum(b for _, b in pairs)
    for a, b in pairs:
        before, after = before + a, after - b
        if a > 0 and b > 0:
            total = total + 1 / (before / a + after / b)
    return total


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


def _by_ratio(p: Law, q: Law) -> list[tuple[Number, Number]]:
    """Pairs (p, q) of every token that either law can give, by p / q descending."""
    pairs = [(p.prob(t), w) for t, w in q.support() if p.prob(t) > 0]
    pairs.sort(key=lambda pair: pair[0] / pair[1], reverse=True)
    only_p = [(w, 0 * w) for t, w in p.support() if not q.prob(t) > 0]
    only_q = [(0 * w, w) for t, w in q.support() if not p.prob(t) > 0]
    return only_p + pairs + only_q
