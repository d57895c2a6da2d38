"""Proof by enumeration: the exact law of drafting, verifying and going on, from the very code that runs.

For a researcher's own rule too: ``total_variation(output_law(...), toy.joint(target, length)) == 0`` is lossless, exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from typing import Any

from headstart.law import Law
from headstart.outcomes import BranchCoins, outcomes
from headstart.protocols import Coins, Laws, Verifier
from headstart.toy import Rule, joint
from headstart.tree import Draft

__all__ = ["Draw", "output_law", "play_round", "round_law", "target_laws", "total_variation"]

Tokens = tuple[int, ...]
Draw = Callable[[Rule, Coins], Draft]
"""Makes a draft from the drafter's laws after the committed text, e.g. ``lambda law_of, coins: sampled_chain(law_of, 3, coins)``."""


def target_laws(target: Rule, context: Tokens, draft: Draft) -> Laws:
    """Rows of one pass: the target's law after each node of a draft, each computed once."""

    @cache
    def laws(node: int) -> Law:
        return target((*context, *(draft.tokens[n] for n in draft.path(node))))

    return laws


def play_round(verifier: Verifier, target: Rule, source: Rule, draw: Draw, context: Tokens, coins: Any) -> Tokens:
    """One round as the engine plays it; gives the tokens it emits."""
    draft = draw(lambda tokens: source((*context, *tokens)), coins)
    verdict = verifier.verify(draft, target_laws(target, context, draft), coins, len(context))
    return (*(draft.tokens[node] for node in verdict.path), verdict.token)


def round_law(
    verifier: Verifier, target: Rule, source: Rule, draw: Draw, *, context: Tokens = (), budget: int = 100_000
) -> dict[Tokens, Fraction]:
    """Exact law of the tokens that one round emits.

    Parameters
    ----------
    verifier : Verifier
    target, source : Rule
        Laws of target and drafter, in fractions.
    draw : function of (laws after drafted tokens, coins)
    context : tuple of int
        The committed text.
    budget : int
        The most branches to run.
    """

    def play(coins: BranchCoins) -> Tokens:
        return play_round(verifier, target, source, draw, context, coins)

    return outcomes(play, budget=budget)


def output_law(
    verifier: Verifier,
    target: Rule,
    source: Rule,
    draw: Draw,
    length: int,
    *,
    rounds: int = 1,
    context: Tokens = (),
    budget: int = 100_000,
) -> dict[Tokens, Fraction]:
    """Exact law of the first ``length`` tokens of some rounds followed by plain decoding.

    Each round's coins are its own, so a round depends on the rounds before it through the text alone, and rounds compose.
    """
    if rounds == 0:
        return joint(target, length, context=context)
    known: dict[Tokens, dict[Tokens, Fraction]] = {}
    law: dict[Tokens, Fraction] = {}
    for tokens, weight in round_law(verifier, target, source, draw, context=context, budget=budget).items():
        start = tokens[:length]
        if start not in known:
            known[start] = output_law(
                verifier,
                target,
                source,
                draw,
                length - len(start),
                rounds=rounds - 1 if len(start) < length else 0,
                context=(*context, *start),
                budget=budget,
            )
        for rest, more in known[start].items():
            text = start + rest
            law[text] = law.get(text, Fraction(0)) + weight * more
    return law


def total_variation(a: Mapping[Any, Fraction], b: Mapping[Any, Fraction]) -> Fraction:
    """Half the sum of the differences between two laws.

    Examples
    --------
    >>> total_variation({0: Fraction(1)}, {0: Fraction(2, 3), 1: Fraction(1, 3)})
    Fraction(1, 3)
    """
    return sum((abs(a.get(k, Fraction(0)) - b.get(k, Fraction(0))) for k in {*a, *b}), Fraction(0)) / 2
