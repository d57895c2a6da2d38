"""Drawing drafts from a model of the next token: chains and trees, independent of the target's noise or coupled to it.

``law_of(tokens)`` gives the drafter's law after the committed text and these drafted tokens; it is asked once for each
place. Whether a token is drawn never depends on what it turned out to be. Knows nothing of verification.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headstart.law import Law
from headstart.protocols import Coins
from headstart.tree import ROOT, Draft, Origin

__all__ = ["coupled_chain", "coupled_tree", "sampled_chain", "sampled_paths", "sampled_tree"]

LawOf = Callable[[tuple[int, ...]], Law]


def sampled_chain(law_of: LawOf, length: int, coins: Coins) -> Draft:
    """Draw one token after the other, each from the law after those before it."""
    return sampled_tree(law_of, [1] * length, coins)


def sampled_tree(law_of: LawOf, widths: Sequence[int], coins: Coins, *, replacement: bool = False) -> Draft:
    """Draw a tree, level by level.

    Parameters
    ----------
    law_of : function of a tuple of tokens
    widths : sequence of int
        Children of each node, by depth.
    coins : Coins
    replacement : bool, default False
        Whether siblings may repeat. Without replacement each is drawn from the law renormalised after its elders were
        removed, and a node whose law runs out has fewer children.
    """
    tree = _Tree("sampled")
    level: list[tuple[int, tuple[int, ...]]] = [(ROOT, ())]
    for width in widths:
        below: list[tuple[int, tuple[int, ...]]] = []
        for parent, tokens in level:
            law: Law | None = law_of(tokens)
            for _ in range(width):
                if law is None:
                    break
                token = coins.propose(law, len(tree.tokens))
                below.append((tree.add(token, parent, law), (*tokens, token)))
                law = law if replacement else law.without(token)
        level = below
    return tree.draft()


def sampled_paths(law_of: LawOf, count: int, length: int, coins: Coins) -> Draft:
    """Draw ``count`` independent chains that share nothing but the root, even where their tokens agree."""
    tree = _Tree("sampled")
    known: dict[tuple[int, ...], Law] = {}
    for _ in range(count):
        parent = ROOT
        tokens: tuple[int, ...] = ()
        for _ in range(length):
            law = known[tokens] if tokens in known else known.setdefault(tokens, law_of(tokens))
            token = coins.propose(law, len(tree.tokens))
            parent, tokens = tree.add(token, parent, law), (*tokens, token)
    return tree.draft()


def coupled_chain(law_of: LawOf, length: int, coins: Coins, position: int) -> Draft:
    """Foresee one token after the other by the target's own noise; ``position`` is that of the first."""
    return coupled_tree(law_of, [1] * length, coins, position)


def coupled_tree(law_of: LawOf, widths: Sequence[int], coins: Coins, position: int) -> Draft:
    """Foresee a tree by the target's own noise: at each place the first few of the race (Gumbel-top-k)."""
    tree = _Tree("coupled")
    level: list[tuple[int, tuple[int, ...]]] = [(ROOT, ())]
    for depth, width in enumerate(widths):
        level = [
            (tree.add(token, parent, None), (*tokens, token))
            for parent, tokens in level
            for token in coins.rank(law_of(tokens), position + depth, width)
        ]
    return tree.draft()


class _Tree:
    """A draft that is still growing."""

    def __init__(self, origin: Origin) -> None:
        self.tokens: list[int] = []
        self._parents: list[int] = []
        self._laws: list[Law | None] = []
        self._origin = origin

    def add(self, token: int, parent: int, law: Law | None) -> int:
        self.tokens.append(token)
        self._parents.append(parent)
        self._laws.append(law)
        return len(self.tokens) - 1

    def draft(self) -> Draft:
        origins = (self._origin,) * len(self.tokens)
        return Draft(tuple(self.tokens), tuple(self._parents), origins, tuple(self._laws))
