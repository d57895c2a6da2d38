"""Evidence for or against exactness: bets that may be looked at after every round, and chi-square.

A bet is a law r, chosen before the token is seen, that would hold under some bug. Betting on it multiplies one's money
by r(y) / p(y), which is a fair game exactly as long as the tokens follow p: whoever gets rich has shown that they do
not. Money of 1/level has chance at most ``level`` under p, however often one looks (Ville's inequality).
Knows nothing of engines: they are audited by feeding it what they emitted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from headstart.errors import InputError
from headstart.law import Law, Number, excess

__all__ = [
    "BETS",
    "Bet",
    "ChiSquare",
    "Evidence",
    "LeakInterval",
    "Seen",
    "anti_leak",
    "chi_square",
    "leak",
    "nucleus",
    "redraw",
    "sharpen",
    "tokens_to_evidence",
]


@dataclass(frozen=True)
class Seen:
    """One emitted token and what was known before it was drawn.

    Parameters
    ----------
    token : int
    p : Law
        The target's law, after the text so far.
    q : Law or None
        The draft's law at this place, where there is one.
    fix : Law or None
        At a correction the law it had to come from: the residual. None elsewhere.
    rejected : int or None
        The drafted token that the correction replaces.
    """

    token: int
    p: Law
    q: Law | None = None
    fix: Law | None = None
    rejected: int | None = None


@dataclass(frozen=True)
class Bet:
    """A bet by name; ``factor(seen)`` is what it multiplies one's money by, 1 where it does not apply."""

    name: str
    factor: Callable[[Seen], Number]


def leak(size: Number) -> Bet:
    """Bet that tokens come from the draft's law with probability ``size``: ``r = (1 - e) p + e q``.

    Examples
    --------
    >>> p, q = Law.of([0.5, 0.5]), Law.of([1.0, 0.0])
    >>> leak(0.5).factor(Seen(0, p, q)), leak(0.5).factor(Seen(1, p, q))
    (1.5, 0.5)
    """

    def factor(seen: Seen) -> Number:
        if seen.q is None:
            return 1
        return 1 - size + size * seen.q.prob(seen.token) / seen.p.prob(seen.token)

    return Bet(f"leak {size}", factor)


def anti_leak(size: Number) -> Bet:
    """Bet that drafts are turned down too often: ``r = (1 - e) p + e norm(max(p - q, 0))``.

    Notes
    -----
    The factor ``1 + e - e q / p``, kept from going below 0 where ``q`` is far above ``p``.

    Examples
    --------
    >>> p, q = Law.of([0.5, 0.5]), Law.of([1.0, 0.0])
    >>> anti_leak(0.5).factor(Seen(1, p, q))
    1.5
    """

    def factor(seen: Seen) -> Number:
        mass = excess(seen.p, seen.q).mass if seen.q is not None else 0
        if seen.q is None or not mass > 0:
            return 1
        ratio = seen.q.prob(seen.token) / seen.p.prob(seen.token)
        return 1 - size + size * max(1 - ratio, 0) / mass

    return Bet(f"anti-leak {size}", factor)


def sharpen(power: float) -> Bet:
    """Bet on another temperature: ``r`` proportional to ``p ** (1 + power)``; a negative power flattens.

    Examples
    --------
    >>> round(sharpen(1.0).factor(Seen(0, Law.of([0.75, 0.25]))), 12)
    1.2
    """

    def factor(seen: Seen) -> float:
        weights = seen.p.weights.astype(np.float64)
        total = float((weights[weights > 0] ** (1 + power)).sum())
        return float(float(seen.p.prob(seen.token)) ** power / total)

    return Bet(f"{'sharpen' if power > 0 else 'flatten'} {abs(power)}", factor)


def nucleus(top_p: float) -> Bet:
    """Bet that rare tokens are cut off: nine tenths of the money on the likeliest tokens that hold ``top_p``.

    Examples
    --------
    >>> nucleus(0.5).factor(Seen(1, Law.of([0.5, 0.5])))
    0.1
    """

    def factor(seen: Seen) -> float:
        weights = seen.p.weights.astype(np.float64)
        order = np.argsort(-weights, kind="stable")
        running = np.add.accumulate(weights[order])
        last = min(int(np.searchsorted(running, top_p)), len(order) - 1)
        ids = order if seen.p.ids is None else seen.p.ids[order]
        inside = seen.token in ids[: last + 1]
        return _HEDGE + ((1 - _HEDGE) / float(running[last]) if inside else 0.0)

    return Bet(f"top-p {top_p}", factor)


def redraw(kind: Literal["p", "p minus x", "argmax"]) -> Bet:
    """Bet on a classic bug at corrections, where the token must come from ``seen.fix``.

    Parameters
    ----------
    kind : {"p", "p minus x", "argmax"}
        The law the correction is said to come from: the target's, the same without the rejected token, or its
        likeliest token. Nine tenths of the money is on it.

    Examples
    --------
    >>> p, fix = Law.of([0.5, 0.3, 0.2]), Law.of([0.75, 0.25, 0.0])
    >>> round(redraw("argmax").factor(Seen(0, p, fix=fix, rejected=2)), 12)
    1.3
    """

    def factor(seen: Seen) -> Number:
        if seen.fix is None:
            return 1
        due = seen.fix.prob(seen.token)
        return _HEDGE + (1 - _HEDGE) * _redrawn(kind, seen) / due if due > 0 else math.inf

    return Bet(f"redraw from {kind}", factor)


_HEDGE = 0.1
"""Money kept aside where one token could lose all of it."""


def _redrawn(kind: str, seen: Seen) -> Number:
    """Probability of the token under the bug."""
    if kind == "argmax":
        best = int(np.argmax(seen.p.weights))
        return int(seen.token == (best if seen.p.ids is None else int(seen.p.ids[best])))
    if kind == "p" or seen.rejected is None:
        return seen.p.prob(seen.token)
    rest = seen.p.without(seen.rejected)
    return rest.prob(seen.token) if rest is not None else 0


BETS: tuple[Bet, ...] = (
    *(leak(size) for size in (0.01, 0.03, 0.1, 0.3)),
    *(anti_leak(size) for size in (0.03, 0.1)),
    *(sharpen(power) for power in (0.1, -0.1)),
    nucleus(0.95),
    redraw("p"),
    redraw("p minus x"),
    redraw("argmax"),
)
"""The bets an audit lays side by side."""


class Evidence:
    """Money made by betting against exactness; fair at the end of every round of an exact engine.

    Parameters
    ----------
    bets : sequence of Bet
        Each starts with an equal share.

    Notes
    -----
    The average of the bets has mean at most 1 under every lossless rule, so it reaches ``1 / level`` with chance at
    most ``level``, at whatever time one stops. A token of probability 0 makes it infinite: proof by itself.

    Examples
    --------
    >>> evidence = Evidence([leak(0.5)])
    >>> for token in (0, 0, 1):
    ...     evidence.observe(Seen(token, Law.of([0.5, 0.5]), Law.of([1.0, 0.0])))
    >>> evidence.tokens, round(evidence.value, 12)
    (3, 1.125)
    """

    def __init__(self, bets: Sequence[Bet] = BETS) -> None:
        self.bets = tuple(bets)
        self.tokens = 0
        self.impossible = 0
        self._logs = np.zeros(len(self.bets))

    def observe(self, seen: Seen) -> None:
        """Settle every bet on one token."""
        self.tokens += 1
        possible = seen.p.prob(seen.token) > 0
        self.impossible += not possible
        for i, bet in enumerate(self.bets):
            self._logs[i] = _plus(float(self._logs[i]), bet.factor(seen) if possible else math.inf)

    @property
    def log_value(self) -> float:
        """Natural logarithm of ``value``."""
        return _log_mean(self._logs)

    @property
    def value(self) -> float:
        """Money now, having started with 1."""
        return _exp(self.log_value)

    @property
    def by_bet(self) -> dict[str, float]:
        """What each bet by itself has made of 1."""
        return {bet.name: _exp(log) for bet, log in zip(self.bets, self._logs.tolist(), strict=True)}


class LeakInterval:
    """Sizes of a leak towards the draft's law that the tokens so far do not rule out.

    Parameters
    ----------
    level : float
        The interval misses the true size with chance at most this, at all times together.
    grid : int
        Number of sizes tried, evenly from 0 to 1.

    Notes
    -----
    A size e is out once the average likelihood over all sizes is ``1 / level`` times that of
    ``(1 - e) p + e q``: an e-process against e, kept running.

    Examples
    --------
    >>> interval = LeakInterval()
    >>> for _ in range(40):
    ...     interval.observe(Seen(0, Law.of([0.5, 0.5]), Law.of([1.0, 0.0])))
    >>> interval.bounds
    (0.73, 1.0)
    """

    def __init__(self, *, level: float = 0.05, grid: int = 101) -> None:
        if not 0 < level < 1 or grid < 2:
            raise InputError(
                f"level {level} and grid {grid} were given; the level is between 0 and 1, the grid 2 or more"
            )
        self.level = level
        self._sizes = np.linspace(0.0, 1.0, grid)
        self._logs = np.zeros(grid)
        self._open = np.ones(grid, dtype=bool)

    def observe(self, seen: Seen) -> None:
        """Take one token into account; one without a draft law says nothing."""
        if seen.q is None:
            return
        p, q = float(seen.p.prob(seen.token)), float(seen.q.prob(seen.token))
        with np.errstate(divide="ignore"):
            self._logs += np.log((1 - self._sizes) * p + self._sizes * q)
        ceiling = _log_mean(self._logs) + math.log(self.level)
        self._open &= self._logs > ceiling

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Smallest and largest size still open; None where no leak at all explains the tokens."""
        sizes = self._sizes[self._open]
        return (float(sizes[0]), float(sizes[-1])) if len(sizes) else None


def tokens_to_evidence(truth: Law, p: Law, evidence: float) -> float:
    """Tokens after which the best bet has typically made ``evidence`` out of 1, the tokens following ``truth``.

    Notes
    -----
    Law: ``log(evidence) / KL(truth || p)``; infinite where the two are equal.

    Examples
    --------
    >>> round(tokens_to_evidence(Law.of([0.44, 0.56]), Law.of([0.6, 0.4]), 1e3))
    133
    """
    growth = 0.0
    for token, weight in truth.support():
        due = p.prob(token)
        growth += float(weight) * (math.log(weight / due) if due > 0 else math.inf)
    return math.log(evidence) / growth if growth > 0 else math.inf


@dataclass(frozen=True)
class ChiSquare:
    """Pearson's statistic, its degrees of freedom, and the chance of one at least as large."""

    statistic: float
    degrees: int
    p_value: float


def chi_square(observed: Sequence[int], expected: Sequence[float], *, least: float = 5.0) -> ChiSquare:
    """Pearson's test of counts against what was to be expected.

    Parameters
    ----------
    observed : sequence of int
        Counts by cell.
    expected : sequence of float
        Expected counts of the same cells. A cell of 0 must be empty, or the p-value is 0.
    least : float
        Cells expected fewer times are pooled, the smallest first, until the pool holds this many.

    Examples
    --------
    >>> chi_square([60, 40], [50.0, 50.0])
    ChiSquare(statistic=4.0, degrees=1, p_value=0.045500263896358396)
    """
    cells = [(e, o) for e, o in zip(expected, observed, strict=True) if e > 0]
    if sum(observed) != sum(o for _, o in cells):
        return ChiSquare(math.inf, max(len(cells) - 1, 0), 0.0)
    cells.sort(key=lambda cell: cell[0])  # by what is expected alone: pooling must not look at the counts
    while len(cells) > 1 and cells[0][0] < least:
        (e0, o0), (e1, o1), *rest = cells
        cells = [(e0 + e1, o0 + o1), *rest]
    statistic = sum((o - e) ** 2 / e for e, o in cells)
    return ChiSquare(statistic, len(cells) - 1, _chi_square_tail(statistic, len(cells) - 1))


def _chi_square_tail(statistic: float, degrees: int) -> float:
    """Chance of a chi-square above ``statistic``: a finite sum for whole degrees of freedom."""
    half = statistic / 2
    if degrees == 0 or half == 0:
        return 1.0
    shift = degrees % 2 / 2
    tail = math.erfc(math.sqrt(half)) if shift else 0.0
    powers = [k + shift for k in range(degrees // 2)]
    return tail + sum(math.exp(k * math.log(half) - half - math.lgamma(k + 1)) for k in powers)


def _plus(log: float, factor: Number) -> float:
    """Add the logarithm of a factor; what is infinite stays so."""
    if log == math.inf or factor == math.inf:
        return math.inf
    return log + math.log(factor) if factor > 0 else -math.inf


def _log_mean(logs: NDArray[np.float64]) -> float:
    top = float(logs.max())
    return top if math.isinf(top) else top + math.log(float(np.exp(logs - top).mean()))


def _exp(log: float) -> float:
    return math.exp(log) if log < 709 else math.inf
