"""Drafts: token trees in flat arrays, where every node knows how it was drawn.

A chain is a tree whose nodes have one child each. Nodes are numbered in drawn order, a parent before its children;
the committed text is the root, numbered ``ROOT``. Knows nothing of models, caches or verification.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, get_args

from headstart.law import Law

__all__ = ["EMPTY", "ROOT", "Draft", "Origin"]

ROOT = -1
"""The node that stands for the committed text; also the name of the row that follows it."""

Origin = Literal["sampled", "coupled", "certain"]
"""How a token was drawn: from a stored law, by the target's own noise, or without any randomness."""

ORIGINS: tuple[Origin, ...] = get_args(Origin)


@dataclass(frozen=True)
class Draft:
    """A tree of guessed tokens.

    Parameters
    ----------
    tokens : tuple of int
        Token id of each node.
    parents : tuple of int
        Node index of each node's parent, smaller than its own, or ``ROOT``.
    origins : tuple of {"sampled", "coupled", "certain"}
        How each node was drawn.
    laws : tuple of Law or None
        For a sampled node the very law it was drawn from (for a draw without replacement: the law renormalised after
        its elder siblings were removed), otherwise None.
    chances : tuple of float, or empty
        The drafter's own estimate, 0..1, that each node is accepted once its parent is. It decides how much of a draft is
        put before the target, never what is accepted.

    Raises
    ------
    ValueError
        If the arrays differ in length, a parent is not an earlier node, an origin is unknown, or a sampled node has no law
        or probability 0.
    TypeError
        If a token is not a whole number.
    """

    tokens: tuple[int, ...] = ()
    parents: tuple[int, ...] = ()
    origins: tuple[Origin, ...] = ()
    laws: tuple[Law | None, ...] = ()
    chances: tuple[float, ...] = ()
    is_chain: bool = field(init=False, repr=False, compare=False)
    """Whether every node has at most one child, and the root too."""

    def __post_init__(self) -> None:
        n = len(self.tokens)
        if not len(self.parents) == len(self.origins) == len(self.laws) == n:
            raise ValueError("a draft's tokens, parents, origins and laws must have the same length")
        if len(self.chances) not in (0, n):
            raise ValueError("a draft's chances must be empty or as many as its tokens")
        object.__setattr__(self, "is_chain", self.parents == tuple(range(-1, n - 1)))
        if self.is_chain and {*map(type, self.tokens)} <= {int} and {*self.origins} <= {"coupled", "certain"}:
            return  # the rule, and quickly seen to be right
        for node, (parent, origin, law) in enumerate(zip(self.parents, self.origins, self.laws, strict=True)):
            if not ROOT <= parent < node:
                raise ValueError(f"node {node} has parent {parent}; a parent must be an earlier node or {ROOT}")
            if origin not in ORIGINS:
                raise ValueError(f"node {node} is {origin!r}; a node is {', '.join(ORIGINS)}")
            if not isinstance(self.tokens[node], int):
                raise TypeError(f"the token of node {node} is {self.tokens[node]!r}; it must be a whole number")
            if origin == "sampled" and (law is None or not law.prob(self.tokens[node]) > 0):
                raise ValueError(f"node {node} is sampled, so it needs the law it was drawn from, with its token in it")

    def __len__(self) -> int:
        return len(self.tokens)

    @classmethod
    def chain(
        cls,
        tokens: Sequence[int],
        *,
        origin: Origin = "certain",
        laws: Sequence[Law | None] | None = None,
        chances: Sequence[float] = (),
    ) -> Draft:
        """Build a chain: each token the only child of the one before.

        Examples
        --------
        >>> Draft.chain([5, 7]).parents
        (-1, 0)
        """
        n = len(tokens)
        return cls(
            tuple(map(int, tokens)),
            tuple(range(-1, n - 1)),
            (origin,) * n,
            (None,) * n if laws is None else tuple(laws),
            tuple(chances),
        )

    @cached_property
    def _children(self) -> dict[int, tuple[int, ...]]:
        children: dict[int, list[int]] = {}
        for node, parent in enumerate(self.parents):
            children.setdefault(parent, []).append(node)
        return {parent: tuple(nodes) for parent, nodes in children.items()}

    def children(self, node: int) -> tuple[int, ...]:
        """Children of a node (or of ``ROOT``) in drawn order."""
        if self.is_chain:
            return (node + 1,) if node + 1 < len(self) else ()
        return self._children.get(node, ())

    def path(self, node: int) -> tuple[int, ...]:
        """Nodes from the root's child down to ``node``; empty for ``ROOT``."""
        if self.is_chain:
            return tuple(range(node + 1))
        nodes: list[int] = []
        while node != ROOT:
            nodes.append(node)
            node = self.parents[node]
        return tuple(reversed(nodes))

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """Depth of each node."""
        depths: list[int] = []
        for parent in self.parents:
            depths.append(1 if parent == ROOT else depths[parent] + 1)
        return tuple(depths)

    def depth(self, node: int) -> int:
        """Number of tokens between the committed text and ``node``, itself included; 0 for ``ROOT``."""
        return node + 1 if self.is_chain else 0 if node == ROOT else self.depths[node]

    def head(self, size: int) -> Draft:
        """Keep the first ``size`` nodes, which are always a tree."""
        return Draft(
            self.tokens[:size], self.parents[:size], self.origins[:size], self.laws[:size], self.chances[:size]
        )

    def only(self, nodes: Sequence[int]) -> Draft:
        """Keep these nodes, ascending, each with its parent, and number them anew."""
        number = {ROOT: ROOT} | {node: at for at, node in enumerate(nodes)}
        return Draft(
            tuple(self.tokens[node] for node in nodes),
            tuple(number[self.parents[node]] for node in nodes),
            tuple(self.origins[node] for node in nodes),
            tuple(self.laws[node] for node in nodes),
            tuple(self.chances[node] for node in nodes) if self.chances else (),
        )


EMPTY = Draft()
"""No guess at all."""
