"""The numbers of chapters 9 to 12 are those of ALGORITHMS sections 2 and 22, of headstart.theory, and of what was recorded."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from typing import Any

import pytest

from headstart import theory
from headstart.backends import load_backend
from headstart.coins import RoundCoins
from headstart.draft import DRAFTERS
from headstart.engine import Engine
from headstart.law import Law
from headstart.lesson.record import RUNS
from headstart.lesson.site import FOLDER
from headstart.verify import VERIFIERS
from support.reader import Reader
from support.real import smollm

LAWS = [
    ((50, 30, 20), (30, 20, 50)),
    ((10, 40, 50), (50, 40, 10)),
    ((100, 0, 0), (0, 50, 50)),
    ((25, 25, 50), (25, 25, 50)),
]


def law(*hundredths: int) -> Law:
    return Law.of([Fraction(h, 100) for h in hundredths])


def recorded(name: str) -> Any:
    return json.loads((FOLDER / "traces" / f"{name}.json").read_text(encoding="utf-8"))


def numbers(text: str) -> list[float]:
    return [float(x) for x in re.findall(r"\d+(?:\.\d+)?", text)]


@pytest.mark.parametrize(
    ("q", "gains"),
    [
        (20, {2: (6, 2.17), 5: (4, 1.92), 10: (3, 1.67), 20: (2, 1.40), 30: (1, 1.23)}),
        (30, {2: (8, 2.76), 5: (6, 2.35), 10: (4, 1.98), 20: (3, 1.58), 30: (2, 1.37)}),
        (40, {2: (11, 3.82), 5: (8, 3.09), 10: (6, 2.47), 20: (4, 1.87), 30: (3, 1.55)}),
        (50, {2: (19, 6.37), 5: (13, 4.67), 10: (10, 3.43), 20: (7, 2.37), 30: (5, 1.87)}),
    ],
)
def test_the_best_length_is_that_of_the_survey(reader: Reader, q: int, gains: dict[int, tuple[int, float]]) -> None:
    """Section 2's table, cell by cell: p love .6, so that q's love .2 to .5 makes alpha .6 to .9."""
    for cost, (length, speedup) in gains.items():
        reader.open(f"guess?guess=2&q={q}&c={cost}")
        reader.browser.until("document.querySelectorAll('.plot .best').length === 1")
        best, top = numbers(reader.text(".bet + div .narration"))
        assert (best, top) == (length, speedup)
        green = reader.browser.run("document.querySelectorAll('.bet + div .fig:nth-of-type(2) .hist .accepted').length")
        assert green == min(length, 10), "the green columns are the guesses that pay"


@pytest.mark.parametrize(("gamma", "tokens"), [(1, 1.6), (2, 1.96), (3, 2.176), (4, 2.306), (5, 2.383)])
def test_tokens_per_pass_of_two_words(reader: Reader, gamma: int, tokens: float) -> None:
    """Section 22.1; and the chances of 1, 2, ... tokens, of which that is the mean."""
    reader.open(f"guess?gamma={gamma}")
    assert numbers(reader.text(".narration"))[-1] == tokens
    shown = [numbers(text)[0] for text in reader.texts(".hist output")]
    expected = theory.token_counts([Fraction(3, 5)] * gamma)
    assert shown == pytest.approx([float(100 * x) for x in expected], abs=0.5)


def test_the_sum_of_speed_is_that_of_theory(reader: Reader) -> None:
    for p, q, gamma, cost in ((60, 20, 4, 10), (75, 60, 7, 3), (10, 95, 2, 50), (50, 50, 10, 20)):
        alpha = theory.acceptance(law(p, 100 - p), law(q, 100 - q))
        reader.open(f"guess?guess=2&p={p}&q={q}&gamma={gamma}&c={cost}")
        reader.browser.until("document.querySelectorAll('.plot .point').length > 5")
        tokens, length, c, wide, time, speed = numbers(reader.text(".plotbox ~ .result"))
        assert (length, c, wide) == (gamma, cost / 100, 1)
        assert tokens == pytest.approx(float(theory.expected_tokens(alpha, gamma)), abs=0.005)
        assert time == pytest.approx(1 + gamma * cost / 100)
        assert speed == pytest.approx(float(theory.speedup(alpha, gamma, draft_cost=Fraction(cost, 100))), abs=0.006)


def test_the_measured_pass_costs_count_where_they_are_chosen(reader: Reader) -> None:
    passes = recorded("points")["passes"]
    reader.open("guess?guess=2&cost=cpu&c=0&gamma=6&q=40")
    reader.browser.until("document.querySelectorAll('.plot .best').length === 1")
    assert numbers(reader.text(".plotbox ~ .result"))[-1] == pytest.approx(
        theory.speedup(0.8, 6, pass_costs=passes), abs=0.006
    )
    best = theory.best_draft_length(0.8, pass_costs=passes)
    shown = numbers(reader.text(".bet + div .narration"))
    assert shown == pytest.approx([best.draft_length, best.speedup], abs=0.006)


def test_a_draft_that_is_always_right_yields_one_more_than_it_guesses(reader: Reader) -> None:
    reader.open("guess?p=30&q=30&gamma=5&n=20")
    assert "γ + 1 = 6 tokens" in reader.text(".narration")
    assert reader.text(".fig .stage > .note:last-child") == "Your 20 passes: 6."


def test_thrown_passes_have_the_mean_and_the_marks_of_the_formula(reader: Reader) -> None:
    reader.open("guess?gamma=4&n=2000")
    rates = [0.6] * 4
    mean = numbers(reader.text(".fig .stage > .note:last-child"))[-1]
    chance = 4 * (theory.token_variance(rates) / 2000) ** 0.5
    assert abs(mean - theory.expected_tokens_by_position(rates)) < chance + 0.005
    kinds = reader.browser.run("[...document.querySelectorAll('.strip .tok')].map((t) => t.classList[1])")
    assert re.fullmatch(r"(accepted )*(rejected (draft )*recovered|bonus)", " ".join(kinds))


def test_points_are_drawn_as_recorded(reader: Reader) -> None:
    points = recorded("points")["points"]
    reader.open("guess?guess=2&gamma=4&view=tokens")
    reader.browser.until("document.querySelectorAll('.plot .point').length > 5")
    strong = reader.browser.run("document.querySelectorAll('.plot .point.ink').length")
    assert strong == sum(point["length"] == 4 for point in points) > 5


def test_the_formula_holds_for_what_was_measured() -> None:
    """Tokens per pass of whole answers, against the formula at their own acceptance rate."""
    points = [point for point in recorded("points")["points"] if point["drafter"] == "script"]
    assert len(points) > 20
    for point in points:
        expected = theory.expected_tokens(point["alpha"], point["length"])
        assert point["tokens"] == pytest.approx(expected, rel=0.12), point


def test_what_was_recorded_comes_out_again() -> None:
    """Acceptance and tokens per pass of one recorded point, by the engine as it is now, on any instruction set."""
    seen = recorded("points")
    model = load_backend(smollm())
    wanted = next(p for p in seen["points"] if (p["drafter"], p["task"], p["length"]) == ("lookup", "copy", 4))
    run = RUNS["copy"]
    result = Engine(model, tokenizer=smollm().tokenizer, chat_template=smollm().chat_template).generate(
        run.prompt, drafter="lookup", draft_length=4, **run.options
    )
    kept, rounds = result.statistics.tokens_accepted, result.statistics.rounds
    alpha = kept / (kept + rounds - result.origins.count("bonus"))
    assert (round(alpha, 3), round(result.statistics.tokens / rounds, 3)) == (wanted["alpha"], wanted["tokens"])


@pytest.mark.parametrize(("p", "q"), LAWS)
def test_the_cost_of_sharing_is_that_of_theory(reader: Reader, p: tuple[int, ...], q: tuple[int, ...]) -> None:
    """Section 22.2 first: 70, 43/62 = 69.4, 7/13 = 53.8 and 31 %."""
    reader.open(f"same?guess=2&p3={','.join(map(str, p))}&q3={','.join(map(str, q))}")
    shown = [float(text.rstrip("%")) for text in reader.texts(".roomy output")]
    a, b = law(*p), law(*q)
    apart = sum(x * y for x, y in zip(a.weights, b.weights, strict=True))
    exact = [theory.acceptance(a, b), theory.coupling_acceptance(a, b), theory.coupling_floor(a, b), apart]
    assert shown == pytest.approx([float(100 * x) for x in exact], abs=0.051)
    if (p, q) == LAWS[0]:
        assert shown == [70.0, 69.4, 53.8, 31.0]


def test_the_lottery_says_what_the_engine_would(reader: Reader) -> None:
    """Place by place: the target's word by the engine's own noise, and the draft's by the same."""
    names = "💗 love", "🖤 hate", "🤍 meh"
    coins = RoundCoins(7, 0, 0)
    for place in range(1, 9):
        reader.open(f"same?seed=7&t={place - 1}")
        said = reader.text(".narration")
        target, draft = (coins.target(law(*x), place) for x in LAWS[0])
        assert f"both say {names[target]}" in said if target == draft else f"the target {names[target]}" in said


def test_another_draft_moves_nothing(reader: Reader) -> None:
    """Under the lottery whatever is drafted; under the coin the same law, but other words."""
    reader.open("same?guess=2&seed=3")
    texts, passes = set(), set()
    words = "[...document.querySelectorAll('.lane:last-of-type .tok')].map((t) => t.lastChild.textContent).join('')"
    for _ in range(5):
        reader.press_by_text("Another draft")
        tokens, rounds, differ = (int(x) for x in numbers(reader.text(".bet + div .narration")))
        assert (tokens, differ) == (24, 0)
        texts.add(reader.browser.run(words))
        passes.add(rounds)
    assert len(texts) == 1
    assert len(passes) > 2, "the drafts do differ"
    reader.open("same?guess=2&seed=3&rule=token")
    assert numbers(reader.text(".bet + div .narration"))[2] > 0


def test_one_sum_in_two_orders_has_two_winners(reader: Reader) -> None:
    reader.open("float?guess=2&t=7")
    sums = [float(numbers(text)[0]) for text in reader.texts(".addends")]
    assert sums == [4.60000038, 4.5999999, 4.5999999, 4.60000038]
    assert reader.texts(".columns .result") == ["💗 has the higher score.", "🖤 has the higher score."]
    reader.open("float?guess=2&t=0")
    for love, hate in (reader.texts(".addends")[:2], reader.texts(".addends")[2:]):
        assert round(sum(numbers(love)) - sum(numbers(hate)), 9) == 1e-7


def test_shorter_numbers_flip_more_often(reader: Reader) -> None:
    for kind, flips in (("float32", False), ("bfloat16", True)):
        reader.open(f"float?guess=2&kind={kind}&tries=1")
        reader.browser.until(
            "document.querySelector('main').innerText.replace(/\\D1\\D000 places/, '').includes('1 000 places')"
        )
        said = reader.browser.until(
            "[...document.querySelectorAll('.result')].map((e) => e.innerText).find((t) => t.startsWith('Of 1 000'))"
        )
        assert (numbers(said.replace(" 000", "000"))[-1] > 0) == flips


def test_rows_are_as_recorded_and_ours_keep_their_bits(reader: Reader) -> None:
    rows = recorded("points")["rows"]
    assert rows["engine"]["differ"] == 0
    assert rows["numpy"]["differ"] == rows["numpy"]["rows"] == 1500
    reader.open("float?guess=2")
    reader.browser.until("document.querySelectorAll('.fig')[2].innerText.includes('/')")
    shown = [text.replace(" ", "").replace("\u2009", "") for text in reader.texts(".row.wide output")]
    assert shown == ["1500/1500", f"0/{rows['engine']['rows']}"]


def test_the_family_says_what_headstart_runs(reader: Reader) -> None:
    """Every drafter and verifier named is one, keeps the guarantee stated, and no verifier is left out."""
    papers = recorded("papers")
    named = set()
    for paper in papers:
        for kind, name in (part.split() for part in paper["runs"].split(", ") if part):
            named.add(name)
            assert name in (VERIFIERS if kind == "verifier" else DRAFTERS), name
            if kind == "verifier":
                assert VERIFIERS[name].guarantee == {"greedy": "text"}.get(paper["guarantee"], paper["guarantee"])
    assert set(VERIFIERS) - named == {"walk", "lossy-lenience"}
    assert [paper["year"] for paper in papers] == sorted(paper["year"] for paper in papers)
    changed = [sum(kind in paper["changes"] for paper in papers) for kind in ("guess", "check", "schedule")]
    assert changed[0] == max(changed), "the bet's answer"
    for change, who in (("all", "all"), ("check", "all"), ("schedule", "ours"), ("all", "ours")):
        reader.open(f"family?guess=0&change={change}&who={who}")
        reader.browser.until("document.querySelectorAll('.papers li').length > 10")
        wanted = [p["name"] for p in papers if change in ("all", *p["changes"]) and (who == "all" or p["runs"])]
        assert reader.texts(".papers li p:first-child b") == wanted
        assert reader.text(".narration") == f"{len(wanted)} of {len(papers)}"


def test_the_race_asks_every_question(reader: Reader) -> None:
    reader.open("race")
    reader.browser.until("document.querySelector('.lane .tok') !== null")
    assert len(reader.texts(".asks a")) == 4
    reader.browser.click(".asks li:last-child a")
    reader.browser.until("document.querySelector('[data-place=longer]')?.getClientRects().length > 0")
