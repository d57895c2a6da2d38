"""Multi-step rejection and walking, as they have been got wrong on trees."""

from __future__ import annotations

from dataclasses import dataclass

from headstart.law import excess
from headstart.protocols import Coins, Laws, Verdict
from headstart.tree import ROOT, Draft
from headstart.verify.common import draft_law, fault, settle

__all__ = ["BrokenTree", "SampleEveryPath"]


@dataclass(frozen=True)
class BrokenTree:
    """Multi-step rejection with faults to choose from.

    Parameters
    ----------
    name : str
    original : bool
        Take every sibling to be drawn from the eldest's law, though each was drawn after its elders were removed.
    forget : bool
        Test every sibling against p itself, not against what the elders left of it.
    """

    name: str
    original: bool = False
    forget: bool = False
    guarantee: str = "lossy"

    def accepts(self, draft: Draft) -> str | None:
        """Take chains and trees, sampled or certain."""
        return fault(draft, self.name, origins=("sampled", "certain"))

    def verify(self, draft: Draft, laws: Laws, coins: Coins, position: int) -> Verdict:
        """Descend to the first child that wins, node by node."""
        node = ROOT
        while True:
            p = rest = laws(node)
            for child in draft.children(node):
                token = draft.tokens[child]
                q = draft_law(draft, draft.children(node)[0] if self.original else child, p)
                if coins.accept((p if self.forget else rest).prob(token), q.prob(token), child):
                    node = child
                    break
                rest = excess(p if self.forget else rest, q).law()
            else:
                return settle(draft, node, coins.recover(rest, node))


@dataclass(frozen=True)
class SampleEveryPath:
    """Sample the target along every path from root to leaf by itself, and keep the longest that meets its samples."""

    name: str
    guarantee: str = "lossy"

    def accepts(self, draft: Draft) -> str | None:
        """Take certain drafts, in chains and trees."""
        return fault(draft, self.name, origins=["certain"])

    def verify(self, draft: Draft, laws: Laws, coins: Coins, position: int) -> Verdict:
        """Walk every path; the longest wins, the eldest of equals, and a fresh sample follows it."""
        leaves = [node for node in range(len(draft)) if not draft.children(node)]
        reached = [self._walk(draft, leaf, laws, coins) for leaf in leaves]
        best = max(reached, key=draft.depth, default=ROOT)
        return settle(draft, best, coins.recover(laws(best), best))

    def _walk(self, draft: Draft, leaf: int, laws: Laws, coins: Coins) -> int:
        """Last node of the path to ``leaf`` that its own samples meet."""
        last = ROOT
        for node in draft.path(leaf):
            key = len(draft) * (leaf + 1) + node  # a coin of its own, for every path
            if coins.recover(laws(last), key) != draft.tokens[node]:
                break
            last = node
        return last
