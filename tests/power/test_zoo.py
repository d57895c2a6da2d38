"""Every bug of the zoo is caught by the test of its kind, and a sound engine by none.

Rules and coins are judged by their exact law, in fractions: no luck is involved. Faults of the engine are judged by text
against plain decoding, on fixed seeds. Three tests at the end sample, with levels stated there.
"""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import pytest

from headstart.coins import RoundCoins
from headstart.theory import chi_square
from headstart.toy import WORLDS, World, always, in_floats, joint
from headstart.verify import VERIFIERS
from headstart.verify.broken import ZOO, Bug, distance, output_law
from headstart.verify.broken.blocks import BrokenBlock
from headstart.verify.broken.bug import chain, honest
from headstart.verify.broken.chains import BrokenChain
from headstart.verify.broken.drafts import drop_after_draw
from headstart.verify.broken.trees import BrokenTree
from headstart.verify.proof import play_round

EXACT = [bug for bug in ZOO.values() if bug.kind != "engine"]
FAULTS = [bug for bug in ZOO.values() if bug.kind == "engine"]
LEAST = Fraction(1, 1000)


def make_zoo() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_zoo", Path(__file__).with_name("make_zoo.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PAGE = make_zoo()


def by_name(bugs: list[Bug]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("bug", bugs, ids=[bug.name for bug in bugs])


def first_word(bug: Bug, world: World) -> list[Fraction]:
    law = output_law(replace(bug, draw=chain(1)) if bug.window > 2 else bug, world, window=1)
    return [law.get((token,), Fraction(0)) for token in range(len(world.words))]


def test_no_bug_can_be_chosen_as_a_verifier() -> None:
    wrong = {bug.verifier().name for bug in ZOO.values() if bug.verifier().guarantee == "lossy"}
    assert wrong & set(VERIFIERS) == {"lossy-lenience", "lossy-typical"}  # those are labelled lossy, and chosen as such
    assert {bug.kind for bug in ZOO.values()} == {"law", "noise", "engine"}
    assert all(name == bug.name and bug.world in WORLDS and bug.wrong.endswith(".") for name, bug in ZOO.items())


@by_name(EXACT)
def test_a_wrong_law_is_caught_in_its_world(bug: Bug) -> None:
    law = output_law(bug, WORLDS[bug.world])
    assert sum(law.values()) == pytest.approx(1, abs=1e-12)
    assert distance(bug, WORLDS[bug.world]) > LEAST


SOUND = [
    Bug(name="token", kind="law", wrong="", source="", world="", verifier=lambda: BrokenChain("sound")),
    Bug(name="block", kind="law", wrong="", source="", world="", verifier=lambda: BrokenBlock("sound"), window=4),
    Bug(name="tree", kind="law", wrong="", source="", world="", verifier=lambda: BrokenTree("sound")),
    replace(ZOO["tree-original-q"], name="siblings", verifier=lambda: BrokenTree("sound")),
    replace(ZOO["stale-q"], name="rounds", redraft=None),
    replace(ZOO["keyed-by-position"], name="coins", coins=honest),
    replace(ZOO["draft-noise-reused"], name="noise", coins=honest),
]


@by_name(SOUND)
def test_the_same_harness_finds_nothing_where_nothing_is_wrong(bug: Bug) -> None:
    for world in (WORLDS[name] for name in PAGE.SMALL):
        if bug.rounds == 1 or len(world.words) == 2:
            assert distance(bug, world) == 0


@pytest.mark.parametrize(
    ("name", "law"),
    [
        ("redraw-from-p", ["0.45", "0.29", "0.26"]),
        ("redraw-without-x", ["0.4875", "0.3125", "0.2"]),
        ("redraw-argmax", ["0.6", "0.2", "0.2"]),
        ("always-accept", ["0.3", "0.2", "0.5"]),
        ("draft-noise-reused", ["28/55", "16/55", "1/5"]),
        ("accept-coin-reused", ["13/30", "11/30", "1/5"]),
        ("siblings-share-a-coin", ["77/150", "43/150", "1/5"]),
        ("sample-every-path", ["0.675", "0.255", "0.07"]),
    ],
)
def test_laws_of_the_three_word_world(name: str, law: list[str]) -> None:
    assert first_word(ZOO[name], WORLDS["three-word"]) == [Fraction(weight) for weight in law]


def test_laws_of_the_two_word_world() -> None:
    assert first_word(ZOO["redraw-from-p"], WORLDS["two-word"]) == [Fraction("0.44"), Fraction("0.56")]
    for blind in ("redraw-without-x", "redraw-argmax", "block-wrong-residual"):
        assert distance(ZOO[blind], WORLDS["two-word"]) == 0
    position = output_law(ZOO["keyed-by-position"], WORLDS["two-word"])
    assert sum(weight for tokens, weight in position.items() if tokens[2] == 0) == Fraction(53, 90)


def test_looking_at_what_was_drawn() -> None:
    peek = World("peek", ("A", "B"), always(["7/10", "3/10"]), always(["1/2", "1/2"]))
    keep_a = replace(ZOO["drop-after-draw"], redraft=lambda: drop_after_draw(lambda _law, token: token == 1))
    assert first_word(keep_a, peek) == [Fraction(17, 20), Fraction(3, 20)]
    assert first_word(ZOO["prune-after-draw"], WORLDS["grammar"]) == [Fraction(1, 2), Fraction(1, 2), 0]


@pytest.mark.parametrize(
    ("name", "world", "far"),
    [
        ("block-early-stop", "two-word", 0.267),
        ("block-early-stop", "three-word", 0.260),
        ("block-wrong-chance", "two-word", 0.220),
        ("block-wrong-chance", "three-word", 0.199),
        ("block-wrong-residual", "three-word", 0.0017),
    ],
)
def test_how_far_broken_blocks_are_off(name: str, world: str, far: float) -> None:
    assert float(distance(ZOO[name], WORLDS[world])) == pytest.approx(far, abs=5e-4 if far > 0.01 else 5e-5)


def test_the_uncapped_product_beats_what_no_rule_can_beat() -> None:
    thirds, bug = WORLDS["thirds"], ZOO["block-uncapped"]
    assert distance(bug, thirds) == Fraction(1, 9)


def test_a_window_that_stops_short_of_the_bonus_is_blind() -> None:
    bug, world = replace(ZOO["bonus-from-wrong-row"], draw=chain(3)), WORLDS["markov"]
    assert distance(bug, world, window=3) == 0
    assert distance(bug, world, window=4) > LEAST


@by_name(FAULTS)
def test_a_fault_of_the_engine_changes_texts_in_its_world(bug: Bug) -> None:
    assert PAGE.differing(WORLDS[bug.world], bug) >= 5


@by_name(FAULTS)
def test_a_sound_engine_changes_none(bug: Bug) -> None:
    assert PAGE.differing(WORLDS[bug.world], bug, sound=True) == 0


@by_name(EXACT)
def test_every_wrong_rule_runs_in_the_engine(bug: Bug) -> None:
    result = PAGE.generate(WORLDS[bug.world], 1, bug, guarantee="law", max_tokens=40)
    assert (len(result.tokens), result.verifier) == (40, bug.verifier().name)
    assert result.statistics.tokens_drafted > 0


def sampled(bug: Bug, world: World, runs: int) -> list[int]:
    """First words of a bug on real coins."""
    target, draft = (in_floats(rule(())) for rule in (world.target, world.draft))
    counts = [0] * len(world.words)
    for seed in range(runs):
        coins = bug.coins()(RoundCoins(seed), 0)
        tokens = play_round(bug.verifier(), lambda _: target, lambda _: draft, bug.draw, (), coins)
        counts[tokens[0]] += 1
    return counts


@pytest.mark.parametrize("name", ["accept-coin-reused", "siblings-share-a-coin", "draft-noise-reused"])
def test_noise_on_real_coins_has_the_law_computed_for_it(name: str) -> None:
    """Chi-square over 4 000 runs; a false alarm has chance 1 in 1 000, and the seeds are fixed."""
    bug, world = ZOO[name], WORLDS["three-word"]
    expected = [4000 * float(weight) for weight in first_word(bug, world)]
    assert chi_square(sampled(bug, world, 4000), expected).p_value > 1e-3


@pytest.mark.parametrize(("name", "world"), [("accept-coin-reused", "three-word"), ("draft-noise-reused", "grammar")])
def test_noise_on_real_coins_is_flagged(name: str, world: str) -> None:
    """Chi-square at 1 in 10 000 over 4 000 runs: power above .999 in both, the seeds are fixed."""
    expected = [4000 * float(joint(WORLDS[world].target, 1).get((token,), 0)) for token in range(3)]
    assert chi_square(sampled(ZOO[name], WORLDS[world], 4000), expected).p_value < 1e-4


def test_the_page_is_up_to_date() -> None:
    page = Path(__file__).parents[2] / "docs" / "zoo.md"
    assert page.read_text(encoding="utf-8") == PAGE.page(), "run python tests/power/make_zoo.py"
