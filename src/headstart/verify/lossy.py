"""Lossy rules, for comparison and as positive controls of the audit: what they write is not the target's law."""

from __future__ import annotations

import numpy as np

from headstart.coins import exp, log
from headstart.errors import InputError
from headstart.law import Law, Number
from headstart.protocols import Coins, Laws, Verdict
from headstart.tree import ROOT, Draft
from headstart.verify.common import fault, settle
from headstart.verify.multi_step import descend

__all__ = ["LossyLenience", "LossyTypical"]


class LossyLenience:
    """Token or multi-step rejection that forgives: accept with ``min(1, p / (lenience q))``, recover above ``lenience q``.

    Parameters
    ----------
    lenience : number in (0, 1], default 0.5
        1 is the exact rule.

    Notes
    -----
    Lossy. Three-word world: (.4625, .2875, .25) at 0.8, (.364, .236, .4) at 0.5, instead of (.5, .3, .2).
    Leviathan et al. (2023), arXiv:2211.17192, A.5.
    """

    name: str = "lossy-lenience"
    guarantee: str = "lossy"

    def __init__(self, lenience: Number = 0.5) -> None:
        if not 0 < lenience <= 1:
            raise InputError(f"lenience is {lenience}; it must be above 0 and at most 1, where 1 forgives nothing")
        self.lenience = lenience

    def accepts(self, draft: Draft) -> str | None:
        """Take chains and trees, sampled or certain."""
        return fault(draft, self.name, origins=("sampled", "certain"))

    def verify(self, draft: Draft, laws: Laws, coins: Coins, position: int) -> Verdict:
        """Descend to the first child that wins, node by node."""
        return descend(draft, laws, coins, self.lenience)


class LossyTypical:
    """Keep what the target finds typical: ``p(x) > min(epsilon, delta exp(-entropy))``; the longest such path wins.

    Parameters
    ----------
    epsilon, delta : float in (0, 1], default 0.3 and 0.09

    Notes
    -----
    Lossy; greedy at temperature 0. The token that follows is a fresh sample of the target.
    Cai et al. (2024), arXiv:2401.10774 (Medusa).
    """

    name: str = "lossy-typical"
    guarantee: str = "lossy"

    def __init__(self, epsilon: float = 0.3, delta: float = 0.09) -> None:
        for label, value in (("epsilon", epsilon), ("delta", delta)):
            if not 0 < value <= 1:
                raise InputError(f"{label} is {value}; it must be above 0 and at most 1")
        self.epsilon, self.delta = epsilon, delta

    def accepts(self, draft: Draft) -> str | None:
        """Take any sampled or certain draft."""
        return fault(draft, self.name, origins=("sampled", "certain"))

    def verify(self, draft: Draft, laws: Laws, coins: Coins, position: int) -> Verdict:
        """Keep the longest typical path, the eldest of equals."""
        best, level = ROOT, [ROOT]
        while level:
            best = level[0]
            level = [child for node in level for child in self._typical(draft, node, laws)]
        return settle(draft, best, coins.recover(laws(best), best))

    def _typical(self, draft: Draft, node: int, laws: Laws) -> list[int]:
        children = draft.children(node)
        if not children:
            return []
        p = laws(node)
        floor = min(self.epsilon, self.delta * _certainty(p))
        return [child for child in children if p.prob(draft.tokens[child]) > floor]


def _certainty(law: Law) -> float:
    """``exp(-entropy)``: 1 for a certain law, 1/n where n tokens are alike."""
    weights = np.array([float(w) for _, w in law.support()])
    return float(exp(np.array([(weights * log(weights)).sum()]))[0])
