"""Exact laws of anything that uses coins, by running it down every branch; and coins whose noise is given.

Production code is what runs: a function of coins is called again and again, each time with the coins falling another way,
until every way was seen. Knows nothing of drafts or verification.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeVar

from headstart.law import Law, Number
from headstart.theory.races import rematch

__all__ = ["BranchCoins", "GivenNoise", "outcomes"]

Result = TypeVar("Result", bound=Hashable)


class BranchCoins:
    """Coins that fall the way they are told, and note what else could have happened (the ``Coins`` seam).

    Parameters
    ----------
    script : sequence of int
        Which branch to take at each decision; beyond its end the first branch is taken.
    """

    def __init__(self, script: Sequence[int] = ()) -> None:
        self.weight: Number = Fraction(1)
        self.taken: list[int] = []
        self.branches: list[int] = []
        self._script = script
        self._drawn: set[tuple[str, int]] = set()
        self._met: dict[int, tuple[Law, int]] = {}

    def accept(self, numerator: Number, denominator: Number, node: int) -> bool:
        """Branch with weight ``min(1, numerator / denominator)``; an accept that is sure is no decision."""
        self._once("accept", node)
        if numerator <= 0:
            return False
        if numerator >= denominator:
            return True
        yes = Fraction(numerator) / Fraction(denominator)
        return bool(self._decide([(1, yes), (0, 1 - yes)]))

    def recover(self, law: Law, node: int) -> int:
        """Branch over the law's support."""
        self._once("recover", node)
        return self._decide(list(law.support()))

    def propose(self, law: Law, node: int) -> int:
        """Branch over the law's support."""
        self._once("propose", node)
        return self._decide(list(law.support()))

    def target(self, law: Law, position: int) -> int:
        """Branch over what the noise of a position gives; a second law meets it as the first has left it."""
        if position not in self._met:
            self._met[position] = (law, self._decide(list(law.support())))
            return self._met[position][1]
        self._once("target", position)
        return self._decide(list(rematch(*self._met[position], law).support()))

    def rank(self, law: Law, position: int, count: int) -> list[int]:
        """Branch over the winner of the race; more than the winner cannot be branched over."""
        if count != 1:
            raise AssertionError(f"the first {count} of the race at position {position} are an order; use GivenNoise")
        return [self.target(law, position)]

    def next_round(self) -> None:
        """Begin another round, whose keys are new."""
        self._drawn = {(stream, place) for stream, place in self._drawn if stream == "target"}

    def _once(self, stream: str, place: int) -> None:
        if (stream, place) in self._drawn:
            raise AssertionError(f"the {stream} coin of {place} was drawn twice")
        self._drawn.add((stream, place))

    def _decide(self, branches: list[tuple[int, Number]]) -> int:
        at = self._script[len(self.taken)] if len(self.taken) < len(self._script) else 0
        self.taken.append(at)
        self.branches.append(len(branches))
        value, weight = branches[at]
        self.weight *= Fraction(weight)
        return value


def outcomes(play: Callable[[Any], Result], *, budget: int = 100_000) -> dict[Result, Fraction]:
    """Compute the exact law of ``play(coins)``.

    Parameters
    ----------
    play : function of coins
        Deterministic but for its coins; its result must be hashable.
    budget : int
        The most branches to run.

    Returns
    -------
    dict of result to Fraction
        Probability of every result that can happen; they sum to 1 if the laws do.

    Raises
    ------
    RuntimeError
        If there are more branches than ``budget``.

    Examples
    --------
    >>> outcomes(lambda coins: coins.accept(Fraction(1, 3), 1, 0))
    {True: Fraction(1, 3), False: Fraction(2, 3)}
    """
    law: dict[Result, Fraction] = {}
    scripts: list[list[int]] = [[]]
    for _ in range(budget):
        script = scripts.pop()
        coins = BranchCoins(script)
        result = play(coins)
        law[result] = law.get(result, Fraction(0)) + coins.weight
        for depth in range(len(script), len(coins.taken)):
            scripts.extend([*coins.taken[:depth], other] for other in range(1, coins.branches[depth]))
        if not scripts:
            return law
    raise RuntimeError(f"more than {budget} branches; make the world smaller or raise the budget")


class GivenNoise:
    """Target noise from a table, everything else refused: for going through every noise there is on a grid.

    Parameters
    ----------
    times : mapping of position to sequence of numbers
        Exponential variable of each token; the token of smallest ``time / weight`` wins, lowest id on ties.
    """

    def __init__(self, times: Mapping[int, Sequence[Number]]) -> None:
        self._times = times

    def target(self, law: Law, position: int) -> int:
        """Winner of the race."""
        return self.rank(law, position, 1)[0]

    def rank(self, law: Law, position: int, count: int) -> list[int]:
        """Give the first ``count`` of the race."""
        times = self._times[position]
        return sorted((i for i, _ in law.support()), key=lambda i: (times[i] / law.prob(i), i))[:count]

    def accept(self, numerator: Number, denominator: Number, node: int) -> bool:
        """Refuse: coupled verification flips no coin."""
        raise AssertionError(f"an accept coin ({numerator} / {denominator}) was flipped at node {node}")

    def recover(self, law: Law, node: int) -> int:
        """Refuse: coupled verification recovers nothing."""
        raise AssertionError(f"a token of {law} was recovered at node {node}")

    def propose(self, law: Law, node: int) -> int:
        """Refuse: a coupled draft proposes by the target's noise."""
        raise AssertionError(f"a token of {law} was proposed for node {node}")
