"""Acceptance, tokens per pass, and speed-up. Fractions in, fractions out. Knows nothing of models or clocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headstart.errors import InputError
from headstart.law import Law, Number, excess

__all__ = [
    "BestLength",
    "acceptance",
    "best_draft_length",
    "break_even",
    "expected_tokens",
    "expected_tokens_by_position",
    "round_cost",
    "speedup",
    "token_counts",
    "token_variance",
    "total_variation",
]


def total_variation(p: Law, q: Law) -> Number:
    """Half the summed difference of two laws: the mass of ``p`` above ``q``.

    Parameters
    ----------
    p, q : Law
        Their sizes may differ.

    Returns
    -------
    number in [0, 1]

    Notes
    -----
    Law: ``sum(max(p - q, 0)) == sum(abs(p - q)) / 2 == 1 - sum(min(p, q))``.

    Examples
    --------
    >>> total_variation(Law.of([0.5, 0.5]), Law.of([0.75, 0.25]))
    0.25
    """
    return excess(p, q).mass


def acceptance(p: Law, q: Law) -> Number:
    """Probability that one token drafted from ``q`` is kept: the best any rule can do.

    Parameters
    ----------
    p, q : Law
        Target and draft law of the next token.

    Returns
    -------
    number in [0, 1]

    Notes
    -----
    Law: ``sum(min(p, q)) == 1 - total_variation(p, q)``. Leviathan et al. (2023), arXiv:2211.17192, Theorem 3.5.

    Examples
    --------
    >>> from fractions import Fraction
    >>> acceptance(Law.of([Fraction(3, 5), Fraction(2, 5)]), Law.of([Fraction(1, 5), Fraction(4, 5)]))
    Fraction(3, 5)
    """
    return 1 - total_variation(p, q)


def expected_tokens(alpha: Number, draft_length: int) -> Number:
    """Tokens per pass when every drafted token is kept with the same probability.

    Parameters
    ----------
    alpha : number in [0, 1]
        Acceptance rate.
    draft_length : int
        Drafted tokens a round, 0 or more.

    Returns
    -------
    number in [1, draft_length + 1]

    Notes
    -----
    Law: ``1 + a + ... + a**g == (1 - a**(g + 1)) / (1 - a)``, and ``g + 1`` at ``a = 1``. The sum itself is taken, so
    that the limit needs no case of its own. Leviathan et al. (2023), arXiv:2211.17192, equation 1.

    Examples
    --------
    >>> expected_tokens(0.5, 3), expected_tokens(1, 3), expected_tokens(0.9, 0)
    (1.875, 4, 1)
    """
    return expected_tokens_by_position([_rate(alpha)] * _length(draft_length))


def expected_tokens_by_position(rates: Sequence[Number]) -> Number:
    """Tokens per pass when the i-th drafted token is kept with probability ``rates[i]``, given all before it were.

    Examples
    --------
    >>> expected_tokens_by_position([0.5, 0.5, 0.0])
    1.75

    Notes
    -----
    Law: ``1 + r1 + r1 r2 + ...``.
    """
    total: Number = 1
    survival: Number = 1
    for rate in rates:
        survival = survival * _rate(rate)
        total = total + survival
    return total


def token_counts(rates: Sequence[Number]) -> tuple[Number, ...]:
    """Probability of 1, 2, ... ``len(rates) + 1`` tokens in a pass; ``rates`` as in ``expected_tokens_by_position``.

    Examples
    --------
    >>> token_counts([0.5, 0.5])
    (0.5, 0.25, 0.25)
    """
    counts: list[Number] = []
    survival: Number = 1
    for rate in rates:
        counts.append(survival * (1 - _rate(rate)))
        survival = survival * rate
    return (*counts, survival)


def token_variance(rates: Sequence[Number]) -> Number:
    """Variance of the number of tokens in a pass; ``rates`` as in ``expected_tokens_by_position``.

    Examples
    --------
    >>> token_variance([0.5, 0.5])
    0.6875
    """
    mean = expected_tokens_by_position(rates)
    return sum(weight * (n - mean) ** 2 for n, weight in enumerate(token_counts(rates), 1))


def round_cost(
    draft_length: int, *, draft_cost: Number = 0, pass_costs: Sequence[Number] = (), overhead: Number = 0
) -> Number:
    """Time of a round, in plain steps (a pass of one row).

    Parameters
    ----------
    draft_length : int
        Drafted tokens a round, 0 or more.
    draft_cost : number
        Time to draft one token, in plain steps.
    pass_costs : sequence of numbers
        Measured time of a pass of 1, 2, ... rows, in any unit; empty: every pass costs the same.
    overhead : number
        Whatever else a round with a draft costs, in plain steps.

    Raises
    ------
    InputError
        If the curve ends before ``draft_length + 1`` rows.

    Examples
    --------
    >>> round_cost(2, draft_cost=0.25, pass_costs=[10.0, 10.0, 15.0])
    2.0
    """
    if not pass_costs:
        pass_costs = [1] * (_length(draft_length) + 1)
    if not 0 <= draft_length < len(pass_costs):
        raise InputError(f"pass costs for 1 to {len(pass_costs)} rows do not tell the cost of {draft_length + 1} rows")
    extra = draft_length * draft_cost + (overhead if draft_length else 0)
    return extra + pass_costs[draft_length] / pass_costs[0]


def speedup(
    alpha: Number | Sequence[Number],
    draft_length: int,
    *,
    draft_cost: Number = 0,
    pass_costs: Sequence[Number] = (),
    overhead: Number = 0,
) -> Number:
    """How many times faster than plain decoding.

    Parameters
    ----------
    alpha : number in [0, 1], or sequence of at least ``draft_length`` such numbers
        Acceptance rate, or the rate at each position given that all before it were kept.
    draft_length, draft_cost, pass_costs, overhead
        As in ``round_cost``.

    Notes
    -----
    Law: ``tokens * t(1) / (g * draft + t(g + 1) + overhead)``. With a flat curve it is the wall-time factor of
    Leviathan et al. (2023), arXiv:2211.17192, Theorem 3.8.

    Examples
    --------
    >>> round(speedup(0.8, 8, draft_cost=0.05), 2)
    3.09
    """
    cost = round_cost(draft_length, draft_cost=draft_cost, pass_costs=pass_costs, overhead=overhead)
    return expected_tokens_by_position(_rates(alpha, draft_length)) / cost


@dataclass(frozen=True)
class BestLength:
    """The draft length that pays most (0: do not draft) and the speed-up it gives."""

    draft_length: int
    speedup: Number


def best_draft_length(
    alpha: Number | Sequence[Number],
    *,
    draft_cost: Number = 0,
    pass_costs: Sequence[Number] = (),
    overhead: Number = 0,
    limit: int = 64,
) -> BestLength:
    """Draft length of the greatest speed-up; the shortest of those that tie.

    Parameters
    ----------
    alpha, draft_cost, pass_costs, overhead
        As in ``speedup``. Every length the curve and the rates cover is tried: a measured curve has steps, so the
        first length that does not help need not be the last.
    limit : int
        The longest draft to consider.

    Examples
    --------
    >>> best_draft_length(0.8, draft_cost=0.05).draft_length
    8
    >>> best_draft_length(0.3, pass_costs=[1.0, 2.0, 3.0])
    BestLength(draft_length=0, speedup=1.0)
    """
    longest = min([limit, *([len(pass_costs) - 1] if pass_costs else []), *_known(alpha)])
    gains = [
        speedup(alpha, length, draft_cost=draft_cost, pass_costs=pass_costs, overhead=overhead)
        for length in range(longest + 1)
    ]
    best = max(range(len(gains)), key=lambda length: (gains[length], -length))
    return BestLength(best, gains[best])


def break_even(
    draft_length: int, *, draft_cost: float = 0.0, pass_costs: Sequence[float] = (), overhead: float = 0.0
) -> float | None:
    """Acceptance rate from which drafting pays; None where not even accepting everything would.

    Parameters
    ----------
    draft_length, draft_cost, pass_costs, overhead
        As in ``round_cost``.

    Notes
    -----
    Law: the root of ``expected_tokens(alpha, g) == round_cost(g)``, by bisection: the left side grows from 1 to g + 1.
    With a flat curve and one drafted token it is ``draft_cost``.

    Examples
    --------
    >>> round(break_even(1, draft_cost=0.25), 12)
    0.25
    >>> break_even(1, pass_costs=[1.0, 2.5]) is None
    True
    """
    cost = round_cost(draft_length, draft_cost=draft_cost, pass_costs=pass_costs, overhead=overhead)
    if cost > draft_length + 1:
        return None
    if cost <= 1:
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if expected_tokens(middle, draft_length) >= cost else (middle, high)
    return high


def _rates(alpha: Number | Sequence[Number], draft_length: int) -> Sequence[Number]:
    if not isinstance(alpha, Sequence):
        return [alpha] * _length(draft_length)
    if len(alpha) < draft_length:
        raise InputError(f"acceptance rates of {len(alpha)} positions do not tell the yield of {draft_length}")
    return alpha[:draft_length]


def _known(alpha: Number | Sequence[Number]) -> list[int]:
    return [len(alpha)] if isinstance(alpha, Sequence) else []


def _rate(rate: Number) -> Number:
    if not 0 <= rate <= 1:
        raise InputError(f"an acceptance rate of {rate} was given; it is a probability between 0 and 1")
    return rate


def _length(draft_length: int) -> int:
    if draft_length < 0:
        raise InputError(f"a draft length of {draft_length} was given; it is 0 or more")
    return draft_length
