"""The exact law of a bug of kind law or noise, and how far it is from the target's. No engine is needed."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from headstart.outcomes import BranchCoins, outcomes
from headstart.toy import World, joint
from headstart.tree import Draft
from headstart.verify.broken.bug import Bug
from headstart.verify.proof import play_round, total_variation

__all__ = ["distance", "output_law"]

Tokens = tuple[int, ...]


def output_law(bug: Bug, world: World, *, window: int | None = None, budget: int = 200_000) -> dict[Tokens, Fraction]:
    """Exact law of the first ``window`` tokens, the bug's own by default.

    Parameters
    ----------
    bug : Bug
        Of kind law or noise.
    world : World
    window : int, optional
        Tokens to look at; where the bug's rounds give fewer, the target goes on.
    budget : int
        The most branches to run.
    """
    length = bug.window if window is None else window
    law: dict[Tokens, Fraction] = {}
    for tokens, weight in outcomes(lambda coins: _play(bug, world, coins, length), budget=budget).items():
        for rest, more in joint(world.target, length - len(tokens), context=tokens).items():
            law[tokens + rest] = law.get(tokens + rest, Fraction(0)) + weight * more
    return law


def distance(bug: Bug, world: World, *, window: int | None = None) -> Fraction:
    """Total variation between what the bug writes and what the target does; 0 where this world cannot show it.

    Examples
    --------
    >>> from headstart.toy import WORLDS
    >>> from headstart.verify.broken import ZOO
    >>> float(distance(ZOO["redraw-from-p"], WORLDS["three-word"], window=1))
    0.06
    """
    length = bug.window if window is None else window
    target: Mapping[Tokens, Fraction] = joint(world.target, length)
    return total_variation(output_law(bug, world, window=length), target)


def _play(bug: Bug, world: World, coins: BranchCoins, length: int) -> Tokens:
    """Tokens of the bug's rounds, at most ``length``."""
    verifier, recoin = bug.verifier(), bug.coins()
    redraft = bug.redraft() if bug.redraft is not None else _as_it_is
    text: Tokens = ()
    for _ in range(bug.rounds):
        if len(text) >= length:
            break
        flipped = recoin(coins, len(text))
        text += play_round(verifier, world.target, world.draft, lambda of, c: redraft(bug.draw(of, c)), text, flipped)
        coins.next_round()
    return text[:length]


def _as_it_is(draft: Draft) -> Draft:
    return draft
