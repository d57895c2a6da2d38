"""Sample and walk: the rule for drafts that are certain (n-grams, argmax, top-k trees)."""

from __future__ import annotations

from headstart.protocols import Coins, Laws, Verdict
from headstart.tree import ROOT, Draft
from headstart.verify.common import fault, settle

__all__ = ["Walk"]


class Walk:
    """Sample the target once at every node visited, and descend while the draft has that token.

    One sample for a node, never one for a path: the longest of several independent walks would be biased.

    Notes
    -----
    Law: every emitted token is a fresh sample of the target. A node is reached with the target's probability of its
    path, which no rule can better for drafts without randomness; token, block and traversal verification tie with it.
    """

    name: str = "walk"
    guarantee: str = "law"

    def accepts(self, draft: Draft) -> str | None:
        """Take certain drafts, in chains and trees."""
        return fault(draft, self.name, origins=["certain"])

    def verify(self, draft: Draft, laws: Laws, coins: Coins, position: int) -> Verdict:
        """Walk along fresh samples of the target."""
        nodes = [ROOT]  # several where siblings carry the same token
        while True:
            token = coins.recover(laws(nodes[0]), nodes[0])
            below = [child for node in nodes for child in draft.children(node) if draft.tokens[child] == token]
            if not below:
                return settle(draft, nodes[0], token)
            nodes = below
