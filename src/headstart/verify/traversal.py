"""Traversal verification: block verification on a tree, from the leaves up."""

from __future__ import annotations

from headstart.law import Number, excess
from headstart.protocols import Coins, Laws, Verdict
from headstart.tree import ROOT, Draft
from headstart.verify.common import draft_law, fault, settle

__all__ = ["Traversal"]


class Traversal:
    """Try the leftmost leaf; when it loses, cut it off, settle its law with its parent's, and go on.

    On a chain this is block verification. Siblings with and without replacement are one rule, because every sampled node
    stores the law it was drawn from.

    Notes
    -----
    Law: the joint law of what is kept and what follows is the target's; it keeps at least as many tokens as multi-step
    rejection on average. Weng et al. (2025), arXiv:2505.12398.
    """

    name: str = "traversal"
    guarantee: str = "law"

    def accepts(self, draft: Draft) -> str | None:
        """Take chains and trees, sampled or certain."""
        return fault(draft, self.name, origins=("sampled", "certain"))

    def verify(self, draft: Draft, laws: Laws, coins: Coins, position: int) -> Verdict:
        """Visit the tree, leaves first."""
        verdict = _visit(draft, ROOT, 1, laws, coins)
        assert verdict is not None, "the root is worth 1, so it is always kept"
        return verdict


def _visit(draft: Draft, node: int, worth: Number, laws: Laws, coins: Coins) -> Verdict | None:
    """Verdict within the subtree of a node worth ``worth``, or None if all of it is lost."""
    if worth <= 0:
        return None
    rest = laws(node)
    for child in draft.children(node):
        token, q = draft.tokens[child], draft_law(draft, child, rest)
        verdict = _visit(draft, child, min(1, worth * rest.prob(token) / q.prob(token)), laws, coins)
        if verdict is not None:
            return verdict
        left = excess(rest, q, worth)
        whole = left.mass + 1 - worth
        worth = left.mass / whole if whole > 0 else 1
        rest = left.law()
    if node == ROOT or (worth > 0 and coins.accept(worth, 1, node)):
        return settle(draft, node, coins.recover(rest, node))
    return None
