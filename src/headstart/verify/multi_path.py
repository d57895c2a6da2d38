"""Multi-path block verification: several independent chains, the most promising one judged as a block."""

from __future__ import annotations

import numpy as np

from headstart.law import Law, Number
from headstart.protocols import Coins, Laws, Verdict
from headstart.tree import ROOT, Draft
from headstart.verify.block import judge
from headstart.verify.common import fault, settle

__all__ = ["MultiPathBlock"]


Path = tuple[int, ...]


class MultiPathBlock:
    """Of K independent chains take the greatest, and run block verification on it with the law of the greatest of K.

    Chains are compared token by token in the order of ``p / q`` (ties by id), so that the greatest is the one the target
    likes best. Where F is the mass of all prefixes up to and with this one, and G of those before it, the greatest of K
    starts this way with probability ``F**K - G**K``; quotients of that are the law each of its tokens was, in effect, drawn
    from.

    Notes
    -----
    Law: choosing is part of drafting, and block verification is told the law that results.
    After Thomas, Pal (2026), arXiv:2602.16961 and Lin et al. (2026), arXiv:2604.25925; ratios as the order are our choice.
    """

    name: str = "multi-path-block"
    guarantee: str = "law"

    def accepts(self, draft: Draft) -> str | None:
        """Take independent sampled chains of one length that share nothing but the root."""
        heads = draft.children(ROOT)
        lengths = {len(path) for path in _paths(draft)}
        if any(len(draft.children(node)) > 1 for node in range(len(draft))) or len(lengths) > 1:
            return f"{self.name} verification takes separate chains of one length"
        if len({id(draft.laws[head]) for head in heads}) > 1:
            return f"{self.name} verification takes chains drawn independently from one and the same law"
        return fault(draft, self.name, origins=["sampled"])

    def verify(self, draft: Draft, laws: Laws, coins: Coins, position: int) -> Verdict:
        """Choose a chain and judge it."""
        paths = _paths(draft)
        if not paths:
            return settle(draft, ROOT, coins.recover(laws(ROOT), ROOT))
        best = paths[0]
        for path in paths[1:]:
            best = _greater(draft, laws, best, path)
        return judge(draft, best, _greatest_of(len(paths), draft, best, laws), laws, coins)


def _paths(draft: Draft) -> list[Path]:
    return [draft.path(node) for node in range(len(draft)) if not draft.children(node)]


def _greater(draft: Draft, laws: Laws, a: Path, b: Path) -> Path:
    """Greater of two paths: that of the greater token where they part; of equal ones the elder, ``a``."""
    last = ROOT
    for u, v in zip(a, b, strict=True):
        x, y = draft.tokens[u], draft.tokens[v]
        if x != y:
            p, q = laws(last), _law(draft, u)
            return a if (p.prob(x) / q.prob(x), x) > (p.prob(y) / q.prob(y), y) else b
        last = u
    return a


def _law(draft: Draft, node: int) -> Law:
    law = draft.laws[node]
    assert law is not None, "a sampled node has its law"
    return law


def _greatest_of(k: int, draft: Draft, path: Path, laws: Laws) -> list[Law]:
    """Law that each token of the greatest of k paths was, in effect, drawn from, given those before it."""
    found: list[Law] = []
    below: Number = 0
    mass: Number = 1
    last = ROOT
    for node in path:
        q, token = _law(draft, node), draft.tokens[node]
        before = _mass_before(q, laws(last))
        upto, under = below + mass * (before + q.weights), below + mass * before
        found.append(Law(q.weights * _spread(upto, under, k) / _spread(below + mass, below, k), q.ids, q.size))
        at = token if q.ids is None else int(np.searchsorted(q.ids, token))
        below, mass, last = under[at], mass * q.weights[at], node
    return found


def _spread(f: Number, g: Number, k: int) -> Number:
    """``(f**k - g**k) / (f - g)``, without the cancellation."""
    return sum(f ** (k - 1 - j) * g**j for j in range(k))


def _mass_before(q: Law, p: Law) -> np.ndarray:
    """For each of q's ids the q-mass of all tokens that come before it in the order of ``p / q``, ties by id."""
    drawable = np.where(q.weights > 0, q.weights, 1)
    order = np.argsort(np.where(q.weights > 0, p.on(q), 0 * drawable) / drawable, kind="stable")
    before = q.weights * 0
    before[order[1:]] = np.add.accumulate(q.weights[order])[:-1]
    return before
