"""Block verification: one chain judged as a whole, so that a strong token can rescue a weak one before it."""

from __future__ import annotations

from collections.abc import Sequence

from headstart.law import Law, Number, excess
from headstart.protocols import Coins, Laws, Verdict
from headstart.tree import ROOT, Draft
from headstart.verify.common import draft_law, fault, settle

__all__ = ["Block", "judge"]


class Block:
    """Keep the longest prefix that wins its coin, with ratios multiplied along the chain and capped at every step.

    Notes
    -----
    Law: the joint law of what is kept, what follows it, and the target ever after is the target's. No rule that makes
    one target pass over one chain keeps more tokens on average.
    Sun, Mendlovic, Leviathan, Aharoni, Ro, Beirami, Suresh (2024), arXiv:2403.10444, Algorithm 2.
    """

    name: str = "block"
    guarantee: str = "law"

    def accepts(self, draft: Draft) -> str | None:
        """Take chains, sampled or certain."""
        return fault(draft, self.name, origins=("sampled", "certain"), chain=True)

    def verify(self, draft: Draft, laws: Laws, coins: Coins, position: int) -> Verdict:
        """Judge the chain from its end."""
        nodes, target = range(len(draft)), laws(ROOT)
        return judge(draft, nodes, [draft_law(draft, node, target) for node in nodes], laws, coins)


def judge(draft: Draft, nodes: Sequence[int], drawn_from: Sequence[Law], laws: Laws, coins: Coins) -> Verdict:
    """Block verification of one path of a draft.

    Parameters
    ----------
    draft : Draft
    nodes : sequence of int
        The path, from the root's child down.
    drawn_from : sequence of Law
        For each of them the law that it was, in effect, drawn from.
    laws : function of node
    coins : Coins

    Returns
    -------
    Verdict

    Notes
    -----
    ``w[i] = min(1, w[i-1] p(x_i) / q(x_i))`` and ``S[i] = sum(max(w[i] p - q, 0))`` with the laws *after* token i. Token i
    is a stopping place with probability ``S[i] / (S[i] + 1 - w[i])``, the last with ``w``. The coins are independent, so
    asking from the end and stopping at the first success has the same law as asking all and taking the last success,
    and needs only the rows it visits.
    """
    worth = _worths(draft, nodes, drawn_from, laws)
    for i in range(len(worth) - 1, 0, -1):
        node = nodes[i - 1]
        if i == len(nodes):
            if coins.accept(worth[i], 1, node):
                return settle(draft, node, coins.recover(laws(node), node))
            continue
        rest = excess(laws(node), drawn_from[i], worth[i])
        whole = rest.mass + 1 - worth[i]
        if whole == 0 or coins.accept(rest.mass, whole, node):  # 0: the laws are equal and nothing is left to fix
            return settle(draft, node, coins.recover(rest.law(), node))
    first = laws(ROOT) if not nodes else excess(laws(ROOT), drawn_from[0]).law()
    return settle(draft, ROOT, coins.recover(first, ROOT))


def _worths(draft: Draft, nodes: Sequence[int], drawn_from: Sequence[Law], laws: Laws) -> list[Number]:
    """Running product of ratios, capped at 1 at every step, up to the last that is not 0."""
    worth: list[Number] = [1]
    last = ROOT
    for node, q in zip(nodes, drawn_from, strict=True):
        token = draft.tokens[node]
        value = min(1, worth[-1] * laws(last).prob(token) / q.prob(token))
        if value <= 0:
            break
        worth.append(value)
        last = node
    return worth
