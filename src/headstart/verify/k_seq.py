"""k-SEQ: several independent guesses for one place, all tried by one test that is fairest to the set."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from headstart.law import Law, Number, total
from headstart.protocols import Coins, Laws, Verdict
from headstart.tree import ROOT, Draft
from headstart.verify.common import fault, settle

__all__ = ["KSeq"]


class KSeq:
    """Accept each of k guesses with ``min(1, p(x) / (rho q(x)))``, rho so chosen that no mass is taken twice.

    Notes
    -----
    With ``b = sum(min(q, p / rho))`` one guess wins with probability ``a = 1 - (1 - b)**k``; the rest is drawn from
    ``p - min(q, p / rho) a / b``, which is not negative where ``a <= rho b``. The smallest such rho in [1, k] is found by
    halving, from above.
    Law: accepted and recovered mass add up to p. Sun et al. (2023), arXiv:2310.15141 (SpecTr).
    """

    name: str = "k-seq"
    guarantee: str = "law"

    def accepts(self, draft: Draft) -> str | None:
        """Take sampled chains and trees whose siblings are independent draws from one law."""
        for node in range(ROOT, len(draft)):
            if len({id(draft.laws[child]) for child in draft.children(node)}) > 1:
                return "k-seq verification takes siblings drawn with replacement from one and the same law"
        return fault(draft, self.name, origins=["sampled"])

    def verify(self, draft: Draft, laws: Laws, coins: Coins, position: int) -> Verdict:
        """Descend to the first child that wins, node by node."""
        node = ROOT
        while True:
            children, p = draft.children(node), laws(node)
            if not children:
                return settle(draft, node, coins.recover(p, node))
            q = draft.laws[children[0]]
            assert q is not None, "a sampled node has its law"
            rho, rest = _plan(p, q, len(children))
            won = next((c for c in children if _wins(draft.tokens[c], p, q, rho, coins, c)), None)
            if won is None:
                return settle(draft, node, coins.recover(rest, node))
            node = won


def _wins(token: int, p: Law, q: Law, rho: Number, coins: Coins, node: int) -> bool:
    return coins.accept(p.prob(token), rho * q.prob(token), node)


def _plan(p: Law, q: Law, k: int) -> tuple[Number, Law]:
    """Rho, and the law of the token that follows when no guess won."""
    ratio = _smallest(p.weights.astype(np.float64), q.on(p).astype(np.float64), k)
    rho: Number = ratio if p.weights.dtype == np.float64 else Fraction(ratio)
    taken, won = _taken(p, q, rho, k)
    if won > rho * total(taken):  # found in float64, not quite enough in these numbers
        rho = rho * 0 + k
        taken, won = _taken(p, q, rho, k)
    share = total(taken)
    left = np.maximum(p.weights - (taken * (won / share) if share > 0 else taken), 0 * p.weights)
    mass = total(left)
    return rho, Law(left / mass, p.ids, p.size) if mass > 0 else p


def _taken(p: Law, q: Law, rho: Number, k: int) -> tuple[np.ndarray, Number]:
    """Mass that one guess takes, by token, and the probability that one of k wins."""
    taken = np.minimum(q.on(p), p.weights / rho)
    return taken, 1 - (1 - total(taken)) ** k


def _smallest(p: np.ndarray, q: np.ndarray, k: int) -> float:
    """Smallest rho in [1, k] that leaves no negative mass, to 2**-24, from above."""
    low, high = 1.0, float(k)
    for _ in range(24):
        rho = (low + high) / 2
        b = float(np.minimum(q, p / rho).sum())
        low, high = (low, rho) if 1 - (1 - b) ** k <= rho * b else (rho, high)
    return high
