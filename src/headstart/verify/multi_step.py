"""Multi-step rejection: several guesses for one place, tried in the order they were drawn."""

from __future__ import annotations

from headstart.law import Law, Number, excess
from headstart.protocols import Coins, Laws, Verdict
from headstart.tree import ROOT, Draft
from headstart.verify.common import draft_law, fault, settle

__all__ = ["MultiStep", "descend"]


class MultiStep:
    """At each node try the children in turn against what is left of p; each loss takes its own law away.

    Every sampled node stores the law it was drawn from. With replacement that is the same law for all siblings; without,
    each was renormalised after its elders were removed. Either way this one rule holds: ``r = norm(max(r - q_child, 0))``.

    Notes
    -----
    Law: token rejection repeated on its own residual. Miao et al. (2024), arXiv:2305.09781 (SpecInfer, with replacement);
    Yang et al. (2024), arXiv:2401.06706; Jeon et al. (2024), arXiv:2402.14160; Chen et al. (2024), arXiv:2402.12374
    (without replacement).
    """

    name: str = "multi-step"
    guarantee: str = "law"

    def accepts(self, draft: Draft) -> str | None:
        """Take chains and trees, sampled or certain."""
        return fault(draft, self.name, origins=("sampled", "certain"))

    def verify(self, draft: Draft, laws: Laws, coins: Coins, position: int) -> Verdict:
        """Descend to the first child that wins, node by node."""
        return descend(draft, laws, coins)


def descend(draft: Draft, laws: Laws, coins: Coins, lenience: Number = 1) -> Verdict:
    """Multi-step rejection against ``lenience * q``; only a lenience of 1 keeps the law."""
    node = ROOT
    while True:
        rest = laws(node)
        for child in draft.children(node):
            token, q = draft.tokens[child], _scaled(draft_law(draft, child, rest), lenience)
            if coins.accept(rest.prob(token), q.prob(token), child):
                node = child
                break
            rest = excess(rest, q).law()
        else:
            return settle(draft, node, coins.recover(rest, node))


def _scaled(law: Law, factor: Number) -> Law:
    return law if factor == 1 else Law(law.weights * factor, law.ids, law.size)
