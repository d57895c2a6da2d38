"""Every rejection-type rule is lossless: the exact law of draft, verify, go on equals the target's, in fractions.

Nothing here is sampled, so nothing can pass or fail by luck. Worlds have zeros, certain laws, equal laws and disjoint
supports (``random_world``), or every probability positive (``full_world``, where the most branches are).
"""

from __future__ import annotations

import hashlib
from fractions import Fraction

import pytest

from headstart.draft.draw import sampled_chain, sampled_paths, sampled_tree
from headstart.law import Law
from headstart.outcomes import BranchCoins, outcomes
from headstart.protocols import Coins, Verifier
from headstart.toy import WORLDS, Rule, World, exact, joint, random_world
from headstart.tree import ROOT, Draft
from headstart.verify import VERIFIERS, Coupled, LossyLenience
from headstart.verify.proof import Draw, output_law, play_round, total_variation

CHAIN = ("token", "block", "multi-step", "traversal", "k-seq", "multi-path-block")
TREE = ("multi-step", "traversal")


def full_world(size: int, seed: int) -> World:
    """World whose laws hang on the whole context and forbid nothing."""

    def rule(who: str) -> Rule:
        return lambda context: exact(
            [1 + b % 6 for b in hashlib.sha256(f"{who} {seed} {context}".encode()).digest()[:size]]
        )

    return World(f"full {seed}", tuple("abcd"[:size]), rule("target"), rule("draft"))


def chain(length: int) -> Draw:
    return lambda law_of, coins: sampled_chain(law_of, length, coins)


def tree(*widths: int, replacement: bool = False) -> Draw:
    return lambda law_of, coins: sampled_tree(law_of, widths, coins, replacement=replacement)


def paths(count: int, length: int) -> Draw:
    return lambda law_of, coins: sampled_paths(law_of, count, length, coins)


def certain(tokens: tuple[int, ...], parents: tuple[int, ...]) -> Draw:
    n = len(tokens)
    return lambda _law_of, _coins: Draft(tokens, parents, ("certain",) * n, (None,) * n)


def distance(verifier: Verifier, world: World, draw: Draw, length: int, rounds: int = 1) -> Fraction:
    law = output_law(verifier, world.target, world.draft, draw, length, rounds=rounds)
    assert sum(law.values()) == 1
    return total_variation(law, joint(world.target, length))


@pytest.mark.parametrize("name", CHAIN)
def test_sampled_chains_of_many_worlds(name: str) -> None:
    for seed in range(40):
        for size, length in ((2, 3), (3, 3), (4, 3)):
            assert distance(VERIFIERS[name], random_world(size, seed=seed), chain(length), length + 1) == 0


@pytest.mark.parametrize("name", CHAIN)
def test_sampled_chains_where_everything_can_happen(name: str) -> None:
    assert distance(VERIFIERS[name], full_world(4, 1), chain(3), 4) == 0
    for seed in range(4):
        assert distance(VERIFIERS[name], full_world(3, seed), chain(3), 4) == 0
        assert distance(VERIFIERS[name], full_world(3, seed), chain(1), 2) == 0


@pytest.mark.parametrize("name", TREE)
@pytest.mark.parametrize("replacement", [False, True])
def test_sampled_trees_of_many_worlds(name: str, replacement: bool) -> None:
    for seed in range(25):
        for widths in ((2, 2), (3, 1), (4,), (1, 3), (2, 1, 1)):
            draw = tree(*widths, replacement=replacement)
            assert distance(VERIFIERS[name], random_world(3, seed=seed), draw, len(widths) + 1) == 0


@pytest.mark.parametrize("name", TREE)
def test_sampled_trees_where_everything_can_happen(name: str) -> None:
    for seed in range(3):
        assert distance(VERIFIERS[name], full_world(3, seed), tree(2, 2), 3) == 0
        assert distance(VERIFIERS[name], full_world(3, seed), tree(3, 1), 3) == 0
    assert distance(VERIFIERS[name], full_world(3, 3), tree(2, 2, replacement=True), 3) == 0
    assert distance(VERIFIERS[name], full_world(3, 4), tree(3, replacement=True), 2) == 0


def test_k_seq_on_siblings_with_replacement() -> None:
    for seed in range(25):
        for widths in ((3,), (2, 2)):
            assert distance(VERIFIERS["k-seq"], random_world(3, seed=seed), tree(*widths, replacement=True), 3) == 0
    for seed in range(3):
        assert distance(VERIFIERS["k-seq"], full_world(3, seed), tree(3, replacement=True), 2) == 0
        assert distance(VERIFIERS["k-seq"], full_world(2, seed), tree(2, 2, replacement=True), 3) == 0


def test_multi_path_block_on_independent_chains() -> None:
    for seed in range(25):
        for count, length in ((2, 2), (3, 1), (2, 3), (3, 2)):
            world = random_world(3 if length < 3 else 2, seed=seed)
            assert distance(VERIFIERS["multi-path-block"], world, paths(count, length), length + 1) == 0
    assert distance(VERIFIERS["multi-path-block"], full_world(3, 0), paths(2, 2), 3) == 0
    assert distance(VERIFIERS["multi-path-block"], full_world(2, 0), paths(3, 2), 3) == 0


@pytest.mark.parametrize("name", ["walk", "token", "block", "multi-step", "traversal"])
def test_certain_chains(name: str) -> None:
    for seed in range(40):
        for tokens in ((0,), (1, 1), (2, 0, 1)):
            draw = certain(tokens, tuple(range(-1, len(tokens) - 1)))
            assert distance(VERIFIERS[name], random_world(3, seed=seed), draw, len(tokens) + 1) == 0


@pytest.mark.parametrize("name", ["walk", "multi-step", "traversal"])
def test_certain_trees(name: str) -> None:
    for seed in range(25):
        for tokens, parents in (
            ((0, 1, 0, 2, 1, 0), (-1, -1, 0, 0, 1, 1)),
            ((2, 1, 0), (-1, -1, -1)),
            ((1, 1, 0, 2), (-1, -1, 0, 1)),
        ):
            assert distance(VERIFIERS[name], random_world(3, seed=seed), certain(tokens, parents), 3) == 0


def best_and_one_sampled(law_of: Rule, coins: Coins) -> Draft:
    """Draft the drafter's best word for certain, and another that is sampled from the rest."""
    law = law_of(())
    best = max(law.support(), key=lambda pair: (pair[1], -pair[0]))[0]
    rest = law.without(best)
    if rest is None:
        return Draft.chain([best])
    return Draft((best, coins.propose(rest, 1)), (ROOT, ROOT), ("certain", "sampled"), (None, rest))


@pytest.mark.parametrize("name", TREE)
def test_siblings_certain_and_sampled(name: str) -> None:
    for seed in range(40):
        assert distance(VERIFIERS[name], random_world(4, seed=seed), best_and_one_sampled, 2) == 0


@pytest.mark.parametrize("name", CHAIN)
def test_several_rounds_composed(name: str) -> None:
    for seed in range(12):
        assert distance(VERIFIERS[name], random_world(3, seed=seed), chain(2), 6, rounds=3) == 0
    assert distance(VERIFIERS[name], WORLDS["markov"], chain(3), 7, rounds=3) == 0


@pytest.mark.parametrize("name", TREE)
def test_several_rounds_of_trees_composed(name: str) -> None:
    for seed in range(6):
        assert distance(VERIFIERS[name], random_world(3, seed=seed), tree(2, 1), 5, rounds=3) == 0


@pytest.mark.parametrize("name", CHAIN)
@pytest.mark.parametrize("length", [1, 2])
def test_two_rounds_in_one_run(name: str, length: int) -> None:
    world, most = WORLDS["markov"], 2 * (length + 1)

    def play(coins: BranchCoins) -> tuple[int, ...]:
        text: tuple[int, ...] = ()
        for _ in range(2):
            text += play_round(VERIFIERS[name], world.target, world.draft, chain(length), text, coins)
            coins.next_round()
        while len(text) < most:
            text += (coins.recover(world.target(text), len(text)),)
        return text

    assert total_variation(outcomes(play), joint(world.target, most)) == 0


@pytest.mark.parametrize("name", [*CHAIN, "walk", "coupled"])
def test_nothing_drafted_is_plain_decoding(name: str) -> None:
    draw = certain((), ())
    for seed in range(10):
        assert distance(VERIFIERS[name], random_world(3, seed=seed), draw, 2, rounds=2) == 0


@pytest.mark.parametrize("sizes", [(3, 4), (4, 3), (3, 1), (1, 3)])
def test_vocabularies_of_different_size(sizes: tuple[int, int]) -> None:
    for seed in range(10):
        small, large = random_world(sizes[0], seed=seed), random_world(sizes[1], seed=seed + 100)
        world = World("mixed", tuple("abcd"[: sizes[0]]), _tolerant(small.target), large.draft)
        for name in CHAIN:
            assert distance(VERIFIERS[name], world, chain(2), 3) == 0
        for name in TREE:
            assert distance(VERIFIERS[name], world, tree(2, 1), 3) == 0


def _tolerant(rule: Rule) -> Rule:
    """Target whose pass is asked about drafted words it does not know: those rows are never looked at."""
    return lambda context: rule(context) if all(token < 3 for token in context) else Law.certain(0, 3, one=Fraction(1))


def test_the_target_sample_of_a_walk_has_its_law_whatever_is_drafted() -> None:
    """Coupled verification of drafts that ignore the noise, the target's samples being independent by position."""
    for seed in range(10):
        world = random_world(3, seed=seed)
        assert distance(Coupled(), world, chain(2), 3) == 0
        assert distance(Coupled(), world, tree(2, 2, replacement=True), 3) == 0


def test_a_lossy_rule_is_seen() -> None:
    law = output_law(
        LossyLenience(Fraction(4, 5)), WORLDS["three-word"].target, WORLDS["three-word"].draft, chain(1), 1
    )
    assert law == {(0,): Fraction(37, 80), (1,): Fraction(23, 80), (2,): Fraction(1, 4)}


def test_dropping_a_drawn_token_is_seen() -> None:
    """Look at the drawn word and keep it only if it is word 0: (.85, .15) instead of (.7, .3)."""

    def peeking(law_of: Rule, coins: Coins) -> Draft:
        draft = sampled_chain(law_of, 1, coins)
        return draft if draft.tokens[0] == 0 else draft.head(0)

    world = World("peek", ("A", "B"), lambda _: exact(["7/10", "3/10"]), lambda _: exact(["1/2", "1/2"]))
    law = output_law(VERIFIERS["token"], world.target, world.draft, peeking, 1)
    assert law == {(0,): Fraction(17, 20), (1,): Fraction(3, 20)}
