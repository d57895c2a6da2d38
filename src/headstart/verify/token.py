"""Token rejection: speculative decoding's first rule, one draft token after the other."""

from __future__ import annotations

from headstart.law import excess
from headstart.protocols import Coins, Laws, Verdict
from headstart.tree import ROOT, Draft
from headstart.verify.common import draft_law, fault, settle

__all__ = ["TokenRejection"]


class TokenRejection:
    """Keep each draft x with probability ``min(1, p(x) / q(x))``; after the first loss draw from what p has above q.

    Notes
    -----
    Law: ``min(p, q) + (1 - sum(min(p, q))) * norm(max(p - q, 0)) == p``, position by position.
    Leviathan, Kalman, Matias (2023), arXiv:2211.17192; Chen et al. (2023), arXiv:2302.01318.
    """

    name: str = "token"
    guarantee: str = "law"

    def accepts(self, draft: Draft) -> str | None:
        """Take chains, sampled or certain."""
        return fault(draft, self.name, origins=("sampled", "certain"), chain=True)

    def verify(self, draft: Draft, laws: Laws, coins: Coins, position: int) -> Verdict:
        """Accept up to the first loss."""
        last = ROOT
        for node, token in enumerate(draft.tokens):
            p = laws(last)
            q = draft_law(draft, node, p)
            if not coins.accept(p.prob(token), q.prob(token), node):
                return settle(draft, last, coins.recover(excess(p, q).law(), last))
            last = node
        return settle(draft, last, coins.recover(laws(last), last))
