"""The numbers of the toy worlds that can be worked out by hand, from the rules that run, to the last digit.

Nothing here is sampled but the one Monte Carlo entry that says so.
"""

from collections.abc import Callable
from fractions import Fraction

import pytest

from headstart.coins import RoundCoins
from headstart.draft.draw import coupled_chain, coupled_tree, sampled_chain, sampled_paths, sampled_tree
from headstart.outcomes import outcomes
from headstart.theory import (
    acceptance,
    chain_tokens,
    coupling_acceptance,
    coupling_floor,
    drafts_acceptance,
    expected_tokens,
)
from headstart.toy import WORLDS, World, random_world
from headstart.tree import Draft
from headstart.verify import VERIFIERS
from headstart.verify.proof import Draw, play_round, round_law, target_laws

TWO, THREE, THIRDS = WORLDS["two-word"], WORLDS["three-word"], WORLDS["thirds"]
LOVE, HATE = 0, 1


def chain(length: int) -> Draw:
    return lambda law_of, coins: sampled_chain(law_of, length, coins)


def tree(*widths: int, replacement: bool = False) -> Draw:
    return lambda law_of, coins: sampled_tree(law_of, widths, coins, replacement=replacement)


def fixed(*tokens: int) -> Draw:
    return lambda _law_of, _coins: Draft.chain(tokens)


def mean_tokens(name: str, world: World, draw: Draw) -> Fraction:
    """Expected tokens per pass."""
    law = round_law(VERIFIERS[name], world.target, world.draft, draw)
    return sum((len(tokens) * weight for tokens, weight in law.items()), Fraction(0))


def kept(name: str, world: World, draw: Draw) -> Fraction:
    """Acceptance of a draft one level deep."""
    return mean_tokens(name, world, draw) - 1


@pytest.mark.parametrize(
    ("name", "world", "row"),
    [
        ("token", TWO, ["1.6", "1.96", "2.176", "2.3056", "2.38336"]),
        ("block", TWO, ["1.6", "2.04", "2.384", "2.6512", "2.87232"]),
        ("token", THREE, ["1.7", "2.19", "2.533", "2.7731", "2.94117"]),
        ("block", THREE, ["1.7", "2.25", "2.72", "3.1141", "3.4515"]),
    ],
)
def test_tokens_per_pass_exactly(name: str, world: World, row: list[str]) -> None:
    for length, tokens in enumerate(row, 1):
        assert mean_tokens(name, world, chain(length)) == Fraction(tokens)


def test_the_full_information_bound() -> None:
    bounds = [chain_tokens(TWO.target, TWO.draft, length).bound for length in range(1, 5)]
    assert bounds == [Fraction(b) for b in ("1.6", "2.12", "2.576", "2.936")]


@pytest.mark.parametrize("world", [TWO, THREE, THIRDS, WORLDS["break-it"], WORLDS["markov"]], ids=lambda w: w.name)
def test_theory_gives_what_the_rules_do(world: World) -> None:
    for length in range(4):
        tokens = chain_tokens(world.target, world.draft, length)
        assert tokens.token == mean_tokens("token", world, chain(length))
        assert tokens.block == mean_tokens("block", world, chain(length))
        assert tokens.block <= tokens.bound


def test_ten_ninths_against_eleven_ninths() -> None:
    assert mean_tokens("token", THIRDS, chain(2)) - 1 == Fraction(10, 9)
    assert mean_tokens("block", THIRDS, chain(2)) - 1 == Fraction(11, 9)


@pytest.mark.parametrize(
    ("tokens", "block", "token"),
    [
        ((LOVE, LOVE), {2: "1"}, {2: "1"}),
        ((LOVE, HATE), {2: "1/2", 1: "1/2"}, {2: "1/2", 1: "1/2"}),
        ((HATE, LOVE), {2: "1"}, {2: "1/2", 0: "1/2"}),
        ((HATE, HATE), {2: "1/4", 1: "1/8", 0: "5/8"}, {2: "1/4", 1: "1/4", 0: "1/2"}),
    ],
    ids=["LL", "LH", "HL", "HH"],
)
def test_block_verification_by_hand(tokens: tuple[int, int], block: dict[int, str], token: dict[int, str]) -> None:
    q = TWO.draft(())
    draft = Draft.chain(tokens, origin="sampled", laws=[q, q])

    def verdict_of(name: str) -> Callable[..., tuple[int, int]]:
        def play(coins: object) -> tuple[int, int]:
            verdict = VERIFIERS[name].verify(draft, target_laws(TWO.target, (), draft), coins, 0)  # type: ignore[arg-type]
            return len(verdict.path), verdict.token

        return play

    for name, row in (("block", block), ("token", token)):
        law = outcomes(verdict_of(name))
        counts = {n: sum(weight for (length, _), weight in law.items() if length == n) for n, _ in law}
        assert counts == {n: Fraction(weight) for n, weight in row.items()}
        assert all(token == LOVE for length, token in law if length < 2)


@pytest.mark.parametrize(
    ("drafts", "replaced", "k_seq", "optimal", "without"),
    [
        (1, "0.6", 0.6, "0.6", "0.6"),
        (2, "0.68", 0.708, "0.76", "1"),
        (3, "0.744", 0.790, "0.888", "1"),
        (4, "0.7952", 0.850, "0.9904", "1"),
    ],
)
def test_more_drafts_for_one_place(drafts: int, replaced: str, k_seq: float, optimal: str, without: str) -> None:
    assert kept("multi-step", TWO, tree(drafts, replacement=True)) == Fraction(replaced)
    assert float(kept("k-seq", TWO, tree(drafts, replacement=True))) == pytest.approx(k_seq, abs=5e-4)
    assert drafts_acceptance(TWO.target(()), TWO.draft(()), drafts) == Fraction(optimal)
    assert kept("multi-step", TWO, tree(drafts)) == Fraction(without)


def test_more_drafts_in_the_three_word_world() -> None:
    assert kept("multi-step", THREE, tree(2, replacement=True)) == Fraction("0.85")
    assert kept("multi-step", THREE, tree(2)) == Fraction("0.98")
    assert drafts_acceptance(THREE.target(()), THREE.draft(()), 2) == Fraction("0.95")


def gumbel_accepts(world: World, drafts: int, seed: int) -> bool:
    coins = RoundCoins(seed)
    tokens = play_round(
        VERIFIERS["coupled"], world.target, world.draft, lambda of, c: coupled_tree(of, [drafts], c, 0), (), coins
    )
    return len(tokens) == 2


def test_the_first_two_of_the_race_hold_the_winner_where_there_are_two_words() -> None:
    draw: Draw = lambda of, coins: coupled_chain(of, 1, coins, 0)  # noqa: E731
    assert kept("coupled", TWO, draw) == Fraction("0.6")
    assert all(gumbel_accepts(TWO, 2, seed) for seed in range(200))


def test_coupled_acceptance() -> None:
    draw: Draw = lambda of, coins: coupled_chain(of, 1, coins, 0)  # noqa: E731
    p, q = THREE.target(()), THREE.draft(())
    assert kept("coupled", THREE, draw) == coupling_acceptance(p, q) == Fraction(43, 62)
    assert coupling_floor(p, q) == Fraction(7, 13)
    assert acceptance(p, q) == Fraction(7, 10)
    assert coupling_floor(TWO.target(()), TWO.draft(())) == Fraction(3, 7)
    accepted = sum(gumbel_accepts(THREE, 1, seed) for seed in range(4000))
    assert accepted / 4000 == pytest.approx(43 / 62, abs=0.025)  # 3.4 standard errors; the seeds are fixed


def test_drafts_that_ignore_their_own_law() -> None:
    sample_unnamed: Draw = lambda of, coins: Draft.chain(sampled_chain(of, 1, coins).tokens)  # noqa: E731
    assert kept("walk", TWO, fixed(HATE)) == Fraction("0.4")
    assert kept("walk", TWO, sample_unnamed) == Fraction("0.44")
    assert kept("walk", THREE, sample_unnamed) == Fraction("0.31")
    law = round_law(VERIFIERS["walk"], THREE.target, THREE.draft, sample_unnamed)
    first = [sum(weight for tokens, weight in law.items() if tokens[0] == x) for x in range(3)]
    assert first == [Fraction("0.5"), Fraction("0.3"), Fraction("0.2")]


def test_the_best_of_several_chains() -> None:
    row = [
        mean_tokens("multi-path-block", TWO, lambda of, coins, k=count: sampled_paths(of, k, 2, coins))
        for count in (1, 2, 3)
    ]
    assert row[0] == Fraction("2.04")
    assert [round(float(tokens), 2) for tokens in row[1:]] == [2.37, 2.60]


@pytest.mark.parametrize("seed", range(30))
def test_block_keeps_at_least_what_token_rejection_keeps(seed: int) -> None:
    world = random_world(3, seed=seed)
    for length in (1, 2, 3):
        token, block = (mean_tokens(name, world, chain(length)) for name in ("token", "block"))
        assert token <= block <= chain_tokens(world.target, world.draft, length).bound
        assert token == block or length > 1
    certain = fixed(seed % 3, 1, seed % 2)
    assert mean_tokens("token", world, certain) == mean_tokens("block", world, certain)
    assert mean_tokens("walk", world, certain) == mean_tokens("block", world, certain)


@pytest.mark.parametrize("seed", range(20))
def test_traversal_keeps_at_least_what_multi_step_keeps(seed: int) -> None:
    world = random_world(3, seed=seed)
    for widths in ((2, 2), (3, 1), (1, 2)):
        for replacement in (False, True):
            draw = tree(*widths, replacement=replacement)
            assert mean_tokens("multi-step", world, draw) <= mean_tokens("traversal", world, draw)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("drafts", [2, 3])
def test_siblings_without_replacement_keep_at_least_what_siblings_with_it_do(seed: int, drafts: int) -> None:
    world = random_world(3, seed=seed)
    p, q = world.target(()), world.draft(())
    replaced = kept("multi-step", world, tree(drafts, replacement=True))
    assert acceptance(p, q) <= replaced <= drafts_acceptance(p, q, drafts)
    assert replaced <= kept("multi-step", world, tree(drafts))


def test_strictly_better_somewhere() -> None:
    assert mean_tokens("multi-step", THREE, tree(2, 2)) < mean_tokens("traversal", THREE, tree(2, 2))


@pytest.mark.parametrize("name", ["token", "block", "multi-step", "traversal", "k-seq"])
def test_a_draft_of_the_targets_own_law_is_kept_whole(name: str) -> None:
    own = World("own", THREE.words, THREE.target, THREE.target)
    assert mean_tokens(name, own, chain(3)) == 4 == expected_tokens(1, 3)
