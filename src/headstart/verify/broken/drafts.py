"""Drafters that make of an honest draft what rule 10 and the stored law forbid. Each works on a draft already drawn."""

from __future__ import annotations

from collections.abc import Callable, Container

from headstart.law import Law
from headstart.tree import Draft
from headstart.verify.broken.bug import Redraft

__all__ = ["argmax_as_sampled", "drop_after_draw", "prune_after_draw", "stale_laws", "unlikely"]


def argmax_as_sampled() -> Redraft:
    """Take the likeliest token, and say that it was sampled from the law."""

    def redraft(draft: Draft) -> Draft:
        law = draft.laws[0] if len(draft) else None
        if law is None:
            return draft
        best = max(law.support(), key=lambda pair: (pair[1], -pair[0]))[0]
        return Draft.chain([best], origin="sampled", laws=[law])

    return redraft


def unlikely(law: Law, token: int) -> bool:
    """Whether the drafter gave the token it drew less than a half."""
    return bool(2 * law.prob(token) < 1)


def drop_after_draw(drop: Callable[[Law, int], bool] = unlikely) -> Redraft:
    """Look at the drawn token, and leave it out, with all that follow, where the drafter is not sure of it."""

    def redraft(draft: Draft) -> Draft:
        for node, (law, token) in enumerate(zip(draft.laws, draft.tokens, strict=True)):
            if law is not None and drop(law, token):
                return draft.head(node)
        return draft

    return redraft


def prune_after_draw(forbidden: Container[int]) -> Redraft:
    """Draw first and ask the grammar afterwards."""

    def redraft(draft: Draft) -> Draft:
        return next((draft.head(node) for node, token in enumerate(draft.tokens) if token in forbidden), draft)

    return redraft


def stale_laws() -> Redraft:
    """Store the laws of the draft before, as if the drafter had not moved on since."""
    before: list[Law | None] = []

    def redraft(draft: Draft) -> Draft:
        old = [before[node] if node < len(before) else None for node in range(len(draft))]
        before[:] = draft.laws
        laws = [
            was if was is not None and was.prob(token) > 0 else law
            for was, law, token in zip(old, draft.laws, draft.tokens, strict=True)
        ]
        return Draft(draft.tokens, draft.parents, draft.origins, tuple(laws))

    return redraft
