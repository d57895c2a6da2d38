"""Greedy verification: at temperature 0 a draft is kept while it is the target's best token."""

from __future__ import annotations

from headstart.errors import RefusedError
from headstart.law import Law
from headstart.protocols import Coins, Laws, Verdict
from headstart.tree import ROOT, Draft
from headstart.verify.common import settle

__all__ = ["Greedy"]


class Greedy:
    """Walk down the tree along the target's only possible tokens; no coin is flipped.

    Blockwise parallel decoding's acceptance is this rule on a chain of guesses by the model's own heads.

    Notes
    -----
    Text: equal to plain decoding at temperature 0; any other law is refused.
    Stern, Shazeer, Uszkoreit (2018), "Blockwise parallel decoding for deep autoregressive models".
    """

    name: str = "greedy"
    guarantee: str = "text"

    def accepts(self, draft: Draft) -> str | None:
        """Take any draft."""
        return None

    def verify(self, draft: Draft, laws: Laws, coins: Coins, position: int) -> Verdict:
        """Keep the longest path of best tokens.

        Raises
        ------
        RefusedError
            If a law leaves a choice.
        """
        nodes = [ROOT]
        while True:
            token = _only(laws(nodes[0]))
            below = [child for node in nodes for child in draft.children(node) if draft.tokens[child] == token]
            if not below:
                return settle(draft, nodes[0], token)
            nodes = below


def _only(law: Law) -> int:
    tokens = [token for token, _ in law.support()]
    if len(tokens) != 1:
        raise RefusedError(
            f"greedy verification needs temperature 0, and here {len(tokens)} tokens are possible; use coupled"
        )
    return tokens[0]
