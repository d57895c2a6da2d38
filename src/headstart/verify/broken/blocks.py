"""Block verification as it has been got wrong, in published code and in review comments on right code."""

from __future__ import annotations

from dataclasses import dataclass

from headstart.law import Law, Number, excess
from headstart.protocols import Coins, Laws, Verdict
from headstart.tree import ROOT, Draft
from headstart.verify.common import draft_law, fault, settle

__all__ = ["BrokenBlock"]


@dataclass(frozen=True)
class BrokenBlock:
    """Block verification in its forward form, with faults to choose from.

    Parameters
    ----------
    name : str
    stop_early : bool
        Stop at the first coin that is lost: a later token can no longer rescue it.
    forget_rest : bool
        Stop at token i with the product of ratios alone, leaving the remaining mass out.
    unscaled : bool
        Recover from ``max(p - q, 0)`` in place of ``max(w p - q, 0)``.
    uncapped : bool
        Judge the last token by the product of raw ratios, which was not capped on the way.
    """

    name: str
    stop_early: bool = False
    forget_rest: bool = False
    unscaled: bool = False
    uncapped: bool = False
    guarantee: str = "lossy"

    def accepts(self, draft: Draft) -> str | None:
        """Take chains, sampled or certain."""
        return fault(draft, self.name, origins=("sampled", "certain"), chain=True)

    def verify(self, draft: Draft, laws: Laws, coins: Coins, position: int) -> Verdict:
        """Flip every coin in turn; the last that wins decides."""
        target = laws(ROOT)
        drawn_from = [draft_law(draft, node, target) for node in range(len(draft))]
        worth, raw = self._products(draft, drawn_from, laws)
        last = ROOT
        for node in range(len(draft)):
            if coins.accept(*self._chance(node, worth[node + 1], raw, drawn_from, laws), node):
                last = node
            elif self.stop_early:
                break
        if last == len(draft) - 1:
            return settle(draft, last, coins.recover(laws(last), last))
        scale = 1 if self.unscaled else worth[last + 1]
        return settle(draft, last, coins.recover(excess(laws(last), drawn_from[last + 1], scale).law(), last))

    def _products(self, draft: Draft, drawn_from: list[Law], laws: Laws) -> tuple[list[Number], Number]:
        """Running product of ratios, capped at every step; and the product that never was."""
        worth: list[Number] = [1]
        raw: Number = 1
        for node, q in enumerate(drawn_from):
            token = draft.tokens[node]
            ratio = laws(node - 1).prob(token) / q.prob(token)
            worth.append(min(1, worth[-1] * ratio))
            raw = raw * ratio
        return worth, raw

    def _chance(
        self, node: int, worth: Number, raw: Number, drawn_from: list[Law], laws: Laws
    ) -> tuple[Number, Number]:
        """Probability that the draft may end at ``node``, as a fraction."""
        if node == len(drawn_from) - 1:
            return (raw if self.uncapped else worth), 1
        if self.forget_rest:
            return worth, 1
        mass = excess(laws(node), drawn_from[node + 1], worth).mass
        whole = mass + 1 - worth
        return (mass, whole) if whole > 0 else (1, 1)
