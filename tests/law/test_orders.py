"""Golden values of block verification, and which rule keeps more: exact, from the code that runs."""

from __future__ import annotations

from fractions import Fraction

import pytest

from headstart.draft.draw import sampled_chain, sampled_tree
from headstart.outcomes import outcomes
from headstart.toy import WORLDS, World, random_world
from headstart.tree import Draft
from headstart.verify import VERIFIERS
from headstart.verify.proof import Draw, round_law, target_laws


def kept(name: str, world: World, draw: Draw) -> Fraction:
    """Expected number of drafts kept in a round."""
    law = round_law(VERIFIERS[name], world.target, world.draft, draw)
    return sum((weight * (len(tokens) - 1) for tokens, weight in law.items()), Fraction(0))


def chain(length: int) -> Draw:
    return lambda law_of, coins: sampled_chain(law_of, length, coins)


def tree(*widths: int, replacement: bool = False) -> Draw:
    return lambda law_of, coins: sampled_tree(law_of, widths, coins, replacement=replacement)


def certain(*tokens: int) -> Draw:
    return lambda _law_of, _coins: Draft.chain(tokens)


def test_the_papers_example() -> None:
    assert kept("token", WORLDS["thirds"], chain(2)) == Fraction(10, 9)
    assert kept("block", WORLDS["thirds"], chain(2)) == Fraction(11, 9)


def test_hate_hate_in_the_two_word_world() -> None:
    world = WORLDS["two-word"]
    draft = Draft.chain([1, 1], origin="sampled", laws=[world.draft(())] * 2)

    def judged(name: str) -> dict[int, Fraction]:
        laws = target_laws(world.target, (), draft)
        return outcomes(lambda coins: len(VERIFIERS[name].verify(draft, laws, coins, 0).path))

    assert judged("block") == {0: Fraction(5, 8), 1: Fraction(1, 8), 2: Fraction(1, 4)}
    assert judged("token") == {0: Fraction(1, 2), 1: Fraction(1, 4), 2: Fraction(1, 4)}


def test_block_keeps_at_least_as_much_as_token_and_more_where_it_can() -> None:
    gains = 0
    for seed in range(40):
        world = random_world(3, seed=seed)
        token, block = kept("token", world, chain(3)), kept("block", world, chain(3))
        assert block >= token
        gains += block > token
    assert gains > 3


def test_they_tie_on_one_token_and_on_certain_drafts() -> None:
    for seed in range(40):
        world = random_world(3, seed=seed)
        assert kept("block", world, chain(1)) == kept("token", world, chain(1))
        assert len({kept(name, world, certain(0, 2, 1)) for name in ("walk", "token", "block", "traversal")}) == 1


def test_traversal_is_block_on_a_chain_and_multi_step_is_token() -> None:
    for seed in range(40):
        world = random_world(3, seed=seed)
        laws = [
            round_law(VERIFIERS[name], world.target, world.draft, chain(3))
            for name in ("block", "traversal", "token", "multi-step")
        ]
        assert laws[0] == laws[1]
        assert laws[2] == laws[3]


@pytest.mark.parametrize("widths", [(2,), (2, 2), (3, 1)])
def test_traversal_keeps_the_most_and_without_replacement_more_than_with(widths: tuple[int, ...]) -> None:
    gains = 0
    for seed in range(30):
        world = random_world(3, seed=seed)
        with_, without = (kept("multi-step", world, tree(*widths, replacement=r)) for r in (True, False))
        best = kept("traversal", world, tree(*widths))
        assert best >= without >= with_
        gains += best > with_
    assert gains > 3


def test_k_seq_never_loses_to_one_guess() -> None:
    for seed in range(30):
        world = random_world(3, seed=seed)
        assert kept("k-seq", world, tree(3, replacement=True)) >= kept("token", world, chain(1)) - Fraction(1, 10**6)
