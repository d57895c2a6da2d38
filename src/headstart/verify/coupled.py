"""Coupled verification: the target samples by its own noise, and drafts that foresaw it are kept."""

from __future__ import annotations

from headstart.protocols import Coins, Laws, Verdict
from headstart.tree import ROOT, Draft
from headstart.verify.common import settle

__all__ = ["Coupled"]


class Coupled:
    """Emit the target's own sample of every position, and descend while the draft has it.

    The noise is keyed by position and token, so the sample *is* plain decoding's, whatever was drafted and however:
    drafts drawn by the same noise meet it most often, but any will do.

    Notes
    -----
    Text: equal to plain decoding, seed by seed. A draft of law q on the same noise is kept with probability
    ``sum_x 1 / sum_v max(p(v) / p(x), q(v) / q(x))``, at least ``(1 - TV) / (1 + TV)``.
    Daliri, Musco, Suresh (2024), arXiv:2408.07978.
    """

    name: str = "coupled"
    guarantee: str = "text"

    def accepts(self, draft: Draft) -> str | None:
        """Take any draft."""
        return None

    def verify(self, draft: Draft, laws: Laws, coins: Coins, position: int) -> Verdict:
        """Walk along the target's samples."""
        nodes = [ROOT]  # several where siblings carry the same token
        while True:
            token = coins.target(laws(nodes[0]), position)
            below = [child for node in nodes for child in draft.children(node) if draft.tokens[child] == token]
            if not below:
                return settle(draft, nodes[0], token)
            nodes, position = below, position + 1
