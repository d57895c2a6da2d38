"""Worlds: a target and a draft over a few words, every figure of which can be checked by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from headstart.toy.model import TableModel, WordTokenizer
from headstart.toy.rules import Rule, always, markov, random_draft, random_rule

__all__ = ["WORLDS", "World", "random_world"]


@dataclass(frozen=True)
class World:
    """A target and a draft over a few words, both known exactly.

    Parameters
    ----------
    name : str
    words : tuple of str
        The vocabulary.
    target, draft : Rule
        Exact laws; not necessarily over the same contexts' supports.
    """

    name: str
    words: tuple[str, ...]
    target: Rule
    draft: Rule

    def model(self) -> TableModel:
        """Target as a model."""
        return TableModel(self.target, len(self.words))

    def draft_model(self) -> TableModel:
        """Draft as a model."""
        return TableModel(self.draft, len(self.words))

    def tokenizer(self) -> WordTokenizer:
        """Tokenizer of both."""
        return WordTokenizer(self.words)


def random_world(size: int, *, seed: int) -> World:
    """World of ``size`` words whose laws hang on the whole context, with zeros, certain, equal and disjoint laws.

    Examples
    --------
    >>> random_world(3, seed=1).words
    ('a', 'b', 'c')
    """
    target = random_rule(size, seed=seed)
    words = tuple(chr(ord("a") + i) if size <= 26 else f"w{i}" for i in range(size))
    return World(f"random {seed}", words, target, random_draft(target, size, seed=seed))


_SIX = [
    [6, 1, 3, 2, 5, 3],
    [1, 7, 2, 4, 3, 3],
    [5, 2, 1, 6, 2, 4],
    [3, 3, 6, 1, 5, 2],
    [2, 5, 4, 3, 1, 5],
    [4, 3, 2, 5, 5, 1],
]

WORLDS: Mapping[str, World] = MappingProxyType(
    {
        world.name: world
        for world in (
            World("two-word", ("love", "hate"), always(["3/5", "2/5"]), always(["1/5", "4/5"])),
            World("three-word", ("A", "B", "C"), always(["1/2", "3/10", "1/5"]), always(["3/10", "1/5", "1/2"])),
            World("break-it", ("A", "B", "C"), always(["1/10", "2/5", "1/2"]), always(["1/2", "2/5", "1/10"])),
            World("thirds", ("A", "B"), always(["1/3", "2/3"]), always(["2/3", "1/3"])),
            World("grammar", ("A", "B", "C"), always(["3/5", "2/5", 0]), always(["1/5", "3/10", "1/2"])),
            World(
                "markov",
                ("love", "hate"),
                markov([["7/10", "3/10"], ["2/5", "3/5"]]),
                markov([["2/5", "3/5"], ["7/10", "3/10"]]),
            ),
            World("ending", ("love", "hate", "</s>"), always([4, 4, 1]), always([3, 5, 1])),
            World("six-word", tuple("abcdef"), markov(_SIX), markov(_SIX[3:] + _SIX[:3])),
            replace(random_world(6, seed=3), name="memory"),
        )
    }
)
"""Worlds by name: those of the lesson and the tests, every figure of which can be checked by hand."""
