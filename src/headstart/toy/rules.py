"""Rules: next-token laws after every context, written down exactly. Knows nothing of models or sampling."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from headstart.law import Law, Number

__all__ = ["Rule", "always", "exact", "in_floats", "joint", "markov", "random_draft", "random_rule"]

Rule = Callable[[tuple[int, ...]], Law]
"""Next-token law after a context: every token so far, prompt included, oldest first."""


def exact(weights: Sequence[int | str | Fraction]) -> Law:
    """Law of exact fractions: ``exact(["3/5", "2/5"])``; whole numbers are normalised."""
    parts = [Fraction(w) for w in weights]
    total = sum(parts)
    return Law.of([w / total for w in parts])


def in_floats(law: Law) -> Law:
    """Round a law's fractions to float64.

    Examples
    --------
    >>> in_floats(Law.of([Fraction(3, 5), Fraction(2, 5)])).weights
    array([0.6, 0.4])
    """
    return Law(law.weights.astype(np.float64), law.ids, law.size)


def always(weights: Sequence[int | str | Fraction]) -> Rule:
    """Return the rule that gives one law whatever came before.

    Examples
    --------
    >>> always(["3/5", "2/5"])((1, 1)).prob(0)
    Fraction(3, 5)
    """
    law = exact(weights)
    return lambda _context: law


def markov(
    rows: Sequence[Sequence[int | str | Fraction]], *, start: Sequence[int | str | Fraction] | None = None
) -> Rule:
    """Return the rule whose law depends on the last token alone.

    Parameters
    ----------
    rows : sequence of sequences of numbers or of fractions as text
        ``rows[token]`` is the law after ``token``.
    start : sequence, optional
        The law after an empty context; every token alike if left out.

    Examples
    --------
    >>> markov([["7/10", "3/10"], ["2/5", "3/5"]])((0, 1)).prob(1)
    Fraction(3, 5)
    """
    laws = [exact(row) for row in rows]
    first = exact([1] * len(rows) if start is None else start)
    return lambda context: laws[context[-1]] if context else first


def random_rule(size: int, *, seed: int) -> Rule:
    """Return a rule with a law of its own for every context, many probabilities 0, some laws certain.

    Examples
    --------
    >>> rule = random_rule(3, seed=7)
    >>> rule((0, 2)).weights.tolist() == rule((0, 2)).weights.tolist()
    True
    """
    return lambda context: _random_law(f"target {seed} {context}", size)


def random_draft(target: Rule, size: int, *, seed: int) -> Rule:
    """Return a rule to draft with: by context the target's law, a certain one, one of disjoint support, or any other."""

    def rule(context: tuple[int, ...]) -> Law:
        key = f"draft {seed} {context}"
        p, kind = target(context), _bytes(key, 1)[0] % 6
        if kind == 0:
            return p
        if kind == 1:
            return Law.certain(_bytes(key + " certain", 1)[0] % size, size, one=Fraction(1))
        apart = [int(p.prob(token) == 0) for token in range(size)]
        return exact(apart) if kind == 2 and any(apart) else _random_law(key, size)

    return rule


def joint(rule: Rule, length: int, *, context: tuple[int, ...] = ()) -> dict[tuple[int, ...], Number]:
    """Probability of every continuation of ``length`` tokens that can occur.

    Examples
    --------
    >>> joint(always(["3/5", "2/5"]), 2)[(0, 1)]
    Fraction(6, 25)
    """
    if length == 0:
        return {(): Fraction(1)}
    return {
        (token, *rest): weight * more
        for token, weight in rule(context).support()
        for rest, more in joint(rule, length - 1, context=(*context, token)).items()
    }


def _bytes(key: str, count: int) -> bytes:
    return hashlib.shake_256(key.encode()).digest(count)


def _random_law(key: str, size: int) -> Law:
    digest = _bytes(key, size + 1)
    weights = [max(byte % 8 - 3, 0) for byte in digest[:size]]
    weights[digest[size] % size] += 1
    return exact(weights)
