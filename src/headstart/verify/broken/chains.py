"""Token rejection with one of its parts exchanged for a wrong one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from headstart.law import Law, Number, excess, total
from headstart.protocols import Coins, Laws, Verdict
from headstart.tree import ROOT, Draft
from headstart.verify.common import draft_law, fault, settle

__all__ = [
    "BrokenChain",
    "always",
    "argmax",
    "no_coin",
    "nucleus",
    "parent_row",
    "ratio",
    "redraw",
    "residual",
    "residual_again",
    "softmax_residual",
    "squared",
    "threshold",
    "without_token",
]

Accept = Callable[[Coins, Law, Law, int, int], bool]
"""Whether to keep a token, from coins, p, q, token and node."""

Fix = Callable[[Law, Law, int], Law]
"""The law of what follows, from p, q and the drafted token: after a rejection, or instead of the bonus."""


def ratio(coins: Coins, p: Law, q: Law, token: int, node: int) -> bool:
    """Keep with ``min(1, p / q)``: right."""
    return coins.accept(p.prob(token), q.prob(token), node)


def residual(p: Law, q: Law, token: int) -> Law:  # noqa: ARG001 - the seam of every fix
    """Draw from what p has above q: right."""
    return excess(p, q).law()


@dataclass(frozen=True)
class BrokenChain:
    """Token rejection whose parts can be exchanged.

    Parameters
    ----------
    name : str
    accept, fix : callables
        The test of a drafted token, and the law of the token that replaces it.
    bonus : callable of (p, q, last token) giving a Law, or None
        The law of the bonus from the last drafted token's own p and q, where it is not the row after it.
    seen : callable of Law
        What the rule takes the draft's law to be.
    late : bool
        Whether a token is judged by the row after it in place of the one before it.
    """

    name: str
    accept: Accept = ratio
    fix: Fix = residual
    bonus: Fix | None = None
    seen: Callable[[Law], Law] = lambda law: law
    late: bool = False
    guarantee: str = "lossy"

    def accepts(self, draft: Draft) -> str | None:
        """Take chains, sampled or certain."""
        return fault(draft, self.name, origins=("sampled", "certain"), chain=True)

    def verify(self, draft: Draft, laws: Laws, coins: Coins, position: int) -> Verdict:
        """Accept up to the first loss."""
        last, after = ROOT, laws(ROOT)
        for node, token in enumerate(draft.tokens):
            p = laws(node if self.late else last)
            q = self.seen(draft_law(draft, node, p))
            if not self.accept(coins, p, q, token, node):
                return settle(draft, last, coins.recover(self.fix(p, q, token), last))
            last, after = node, laws(node) if self.bonus is None else self.bonus(p, q, token)
        return settle(draft, last, coins.recover(after, last))


def always(coins: Coins, p: Law, q: Law, token: int, node: int) -> bool:  # noqa: ARG001
    """Keep whatever was drafted."""
    return True


def no_coin(coins: Coins, p: Law, q: Law, token: int, node: int) -> bool:  # noqa: ARG001
    """Keep exactly what the target likes at least as much as the draft does."""
    return bool(p.prob(token) >= q.prob(token))


def threshold(floor: Number) -> Accept:
    """Keep what the target gives more than ``floor``."""
    return lambda _coins, p, _q, token, _node: bool(p.prob(token) > floor)


def redraw(p: Law, q: Law, token: int) -> Law:  # noqa: ARG001
    """Draw from the target's law anew."""
    return p


def without_token(p: Law, q: Law, token: int) -> Law:  # noqa: ARG001
    """Draw from the target's law without the token that was turned down."""
    rest = p.without(token)
    return p if rest is None else rest


def argmax(p: Law, q: Law, token: int) -> Law:  # noqa: ARG001
    """Take the target's likeliest token."""
    best = max(p.support(), key=lambda pair: (pair[1], -pair[0]))
    return Law.certain(best[0], p.size, one=best[1] / best[1])


def softmax_residual(p: Law, q: Law, token: int) -> Law:  # noqa: ARG001
    """Take the residual's masses for logits."""
    weights = np.exp(excess(p, q).weights.astype(np.float64))
    return Law(weights / weights.sum(), p.ids, p.size)


def residual_again(p: Law, q: Law, token: int) -> Law:
    """Draw the bonus from the last residual."""
    return residual(p, q, token)


def parent_row(p: Law, q: Law, token: int) -> Law:  # noqa: ARG001
    """Draw the bonus from the row before the last token."""
    return p


def squared(law: Law) -> Law:
    """The law at half the temperature."""
    weights = law.weights * law.weights
    return Law(weights / total(weights), law.ids, law.size)


def nucleus(law: Law, top_p: Number = Fraction(3, 4)) -> Law:
    """The law after top-p."""
    order = np.argsort(-law.weights.astype(np.float64), kind="stable")
    kept, held = np.zeros(len(order), dtype=bool), 0 * law.weights[0]
    for at in order:
        if held >= top_p:
            break
        kept[at], held = True, held + law.weights[at]
    weights = np.where(kept, law.weights, 0 * law.weights)
    return Law(weights / total(weights), law.ids, law.size)
