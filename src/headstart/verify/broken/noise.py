"""Coins that are looked at twice.

A coin met again is played as what it is: a uniform of which so much is known as was asked before. That way the faults
run on any coins, and their laws can be computed exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

import numpy as np

from headstart.law import Law, Number, total
from headstart.protocols import Coins, Laws, Verdict, Verifier
from headstart.tree import Draft

__all__ = [
    "Rekeyed",
    "Remembered",
    "SharedNoise",
    "by_position",
    "fix_by_accept",
    "one_for_siblings",
    "shared",
]

Key = Callable[[Draft, int, int], Hashable]
"""Key of a coin, from the draft, the absolute position of the round, and the node."""


@dataclass
class Remembered:
    """A uniform that is known to lie in [low, high)."""

    low: Number = 0
    high: Number = 1

    def below(self, numerator: Number, denominator: Number, coins: Coins, node: int) -> bool:
        """Whether it lies below ``numerator / denominator``."""
        cut = numerator / denominator if numerator < denominator else 1
        if cut <= self.low or cut >= self.high:
            return bool(cut >= self.high)
        won = coins.accept(cut - self.low, self.high - self.low, node)
        self.low, self.high = (self.low, cut) if won else (cut, self.high)
        return won

    def pick(self, law: Law, draw: Callable[[Law, int], int], node: int) -> int:
        """Token in whose share of the running sum it lies, found by a fresh draw among those it may be."""
        tops = np.add.accumulate(law.weights)
        tops[-1] = 1 + 0 * tops[-1]
        left = np.maximum(tops - law.weights, self.low)
        shares = np.maximum(np.minimum(tops, self.high) - left, 0 * tops)
        at = draw(Law(shares / total(shares), None, len(shares)), node)
        self.low, self.high = left[at], left[at] + shares[at]
        return at if law.ids is None else int(law.ids[at])


@dataclass
class _Coins:
    """Coins of a round whose keys are chosen by someone else; those of propose only where a key is given."""

    coins: Coins
    memory: dict[Hashable, Remembered]
    accept_key: Callable[[int], Hashable]
    recover_key: Callable[[int], Hashable]
    propose_key: Callable[[int], Hashable] | None = None

    def target(self, law: Law, position: int) -> int:
        """Sample by the target's noise."""
        return self.coins.target(law, position)

    def rank(self, law: Law, position: int, count: int) -> list[int]:
        """Rank by the target's noise."""
        return self.coins.rank(law, position, count)

    def accept(self, numerator: Number, denominator: Number, node: int) -> bool:
        """Ask a uniform that may have been asked before."""
        return self._at(self.accept_key(node)).below(numerator, denominator, self.coins, node)

    def recover(self, law: Law, node: int) -> int:
        """Pick by a uniform that may have been asked before."""
        return self._at(self.recover_key(node)).pick(law, self.coins.recover, node)

    def propose(self, law: Law, node: int) -> int:
        """Draw a draft, by a uniform that may have been asked before."""
        if self.propose_key is None:
            return self.coins.propose(law, node)
        return self._at(self.propose_key(node)).pick(law, self.coins.propose, node)

    def _at(self, key: Hashable) -> Remembered:
        return self.memory.setdefault(key, Remembered())


@dataclass(frozen=True)
class Rekeyed:
    """A sound rule whose coins have keys that are met again.

    Parameters
    ----------
    name : str
    inner : Verifier
    accept, recover : Key
        Coins of equal keys are one coin.
    """

    name: str
    inner: Verifier
    accept: Key
    recover: Key
    guarantee: str = "lossy"

    def accepts(self, draft: Draft) -> str | None:
        """Take what the sound rule takes."""
        return self.inner.accepts(draft)

    def verify(self, draft: Draft, laws: Laws, coins: Coins, position: int) -> Verdict:
        """Let the sound rule decide by these coins."""
        keyed = _Coins(
            coins,
            {},
            lambda node: self.accept(draft, position, node),
            lambda node: self.recover(draft, position, node),
        )
        return self.inner.verify(draft, laws, keyed, position)


def fix_by_accept(inner: Verifier) -> Rekeyed:
    """Pick the correction by the uniform that has just turned the draft down."""
    return Rekeyed("accept-coin-reused", inner, lambda _d, _p, node: node, lambda _d, _p, last: last + 1)


def one_for_siblings(inner: Verifier) -> Rekeyed:
    """Flip one accept coin for all children of a node."""
    return Rekeyed(
        "siblings-share-a-coin",
        inner,
        lambda draft, _p, node: draft.parents[node],
        lambda _d, _p, last: ("recover", last),
    )


def by_position() -> Callable[[Coins, int], Coins]:
    """Key every coin of a chain by its absolute position: the next round meets those that this one looked at."""
    memory: dict[Hashable, Remembered] = {}

    def rekeyed(coins: Coins, position: int) -> Coins:
        return _Coins(
            coins,
            memory,
            lambda node: ("accept", position + node),
            lambda node: ("recover", position + node + 1),
            lambda node: ("propose", position + node),
        )

    return rekeyed


def shared() -> Callable[[Coins, int], Coins]:
    """Draw drafts and corrections of a chain by one noise, that of the position."""
    return SharedNoise


class SharedNoise:
    """Coins that draw drafts and corrections of a chain by one noise, that of the position."""

    def __init__(self, coins: Coins, position: int) -> None:
        self._position = position
        self.target, self.rank, self.accept = coins.target, coins.rank, coins.accept

    def propose(self, law: Law, node: int) -> int:
        """Draw a draft by the noise of its position."""
        return self.target(law, self._position + node)

    def recover(self, law: Law, node: int) -> int:
        """Draw what follows ``node`` by the very noise that drew the draft it replaces."""
        return self.target(law, self._position + node + 1)
