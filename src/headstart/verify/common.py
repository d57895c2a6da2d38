"""What the verifiers share: which drafts a rule takes, the law a node was drawn from, and how a verdict is made."""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction

import numpy as np

from headstart.law import Law
from headstart.protocols import Kind, Verdict
from headstart.tree import Draft, Origin

__all__ = ["draft_law", "fault", "settle"]


def settle(draft: Draft, node: int, token: int) -> Verdict:
    """Keep the path down to ``node`` and let ``token`` follow it."""
    kind: Kind = "plain" if not len(draft) else "recovered" if draft.children(node) else "bonus"
    return Verdict(draft.path(node), token, kind)


def draft_law(draft: Draft, node: int, target: Law) -> Law:
    """Law that a node was drawn from: for a certain node all of it on its token, in the target's kind of number."""
    law = draft.laws[node]
    if law is not None:
        return law
    one = 1.0 if target.weights.dtype == np.float64 else Fraction(1)
    return Law.certain(draft.tokens[node], target.size, one=one)


def fault(draft: Draft, name: str, *, origins: Collection[Origin], chain: bool = False) -> str | None:
    """Say why the rule ``name`` cannot verify a draft, or None if it can."""
    if chain and not draft.is_chain:
        return f"{name} verification takes chains, and this draft branches"
    for node, origin in enumerate(draft.origins):
        if origin not in origins:
            allowed = " or ".join(sorted(origins))
            return f"{name} verification takes drafts that are {allowed}, and node {node} is {origin}"
    return None
