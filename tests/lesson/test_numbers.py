"""The numbers on the page are those of ALGORITHMS section 22 and of headstart.theory, at the start and after dragging."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from typing import Any

import pytest

from headstart import theory
from headstart.law import Law
from headstart.lesson.site import FOLDER
from support.reader import Reader


def law(*hundredths: int) -> Law:
    return Law.of([Fraction(h, 100) for h in hundredths])


def percents(texts: list[str]) -> list[float]:
    return [float(text.rstrip("%")) for text in texts if text.endswith("%")]


def records(name: str, kind: str) -> list[dict[str, Any]]:
    lines = (FOLDER / "traces" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [record for line in lines if (record := json.loads(line))["type"] == kind]


def test_two_words_overlap_is_alpha(reader: Reader) -> None:
    reader.open("two?guess=0")
    assert "60% of all guesses" in reader.text("main")
    reader.browser.drag(".law.q input", 0.55)
    shown = int(reader.browser.run("document.querySelector('.law.q input').value"))
    assert 50 <= shown <= 60
    alpha = theory.acceptance(law(60, 40), law(shown, 100 - shown))
    assert f"{float(100 * alpha):.0f}% of all guesses" in reader.text("main")


def test_sliders_move_by_keyboard_and_stay_a_law(reader: Reader) -> None:
    reader.open("residual")
    reader.browser.run("document.querySelector('.law.p input').focus()")
    reader.browser.press("ArrowRight", times=13)
    values = [int(v) for v in reader.browser.run("[...document.querySelectorAll('.law.p input')].map((e) => e.value)")]
    assert values[0] == 63
    assert sum(values) == 100
    reader.browser.until("location.hash.includes('p3=63')")


def test_crowds_are_seeded(reader: Reader) -> None:
    reader.open("two?seed=4")
    once = reader.texts(".crowd + .note")
    reader.open("two?seed=4")
    assert reader.texts(".crowd + .note") == once
    reader.open("two?seed=5")
    assert reader.texts(".crowd + .note") != once


def test_five_timelines_need_two_hates_erased(reader: Reader) -> None:
    """Love stays, two of four hates become love: and nothing less will do."""
    reader.open("timelines")
    for line in (2, 4):
        assert "solved" not in reader.browser.run("document.querySelector('.fig').className")
        reader.browser.click(f".lines .line:nth-child({line}) button")
    assert "only 2 timelines erased" in reader.text(".narration")
    assert "solved" in reader.browser.run("document.querySelector('.fig').className")
    reader.browser.click(".lines .line:nth-child(1) button")
    reader.browser.click(".lines .line:nth-child(1) button")
    reader.browser.click(".lines .line:nth-child(3) button")
    assert "solved" not in reader.browser.run("document.querySelector('.fig').className")


def test_the_proof_ends_at_p_for_any_p_and_q(reader: Reader) -> None:
    for p, q in ((60, 20), (60, 100), (1, 99), (50, 50), (0, 37), (100, 0)):
        reader.open(f"proof?guess=2&t=6&p={p}&q={q}")
        last = reader.texts(".prooflines li:last-child .math")
        for shown, wanted in zip(last, (p, 100 - p), strict=True):
            left, right = shown.split(" = ")
            assert float(right) == wanted / 100
            kept, recovered = (float(x) for x in left.split(" + "))
            assert kept + recovered == pytest.approx(wanted / 100, abs=2e-3)


def test_the_proofs_steps_carry_the_golden_numbers(reader: Reader) -> None:
    """Section 22.1: accepted .2 and .4, rejected .4, residual love, .2 + .4 = .6."""
    reader.open("proof?guess=2&t=6")
    assert reader.texts(".prooflines .math") == [
        *("0.2", "0.8"),
        *("0.2 × 1 = 0.2", "0.8 × 0.5 = 0.4"),
        "1 − 0.6 = 0.4",
        *("1", "0"),
        *("0.4 × 1 = 0.4", "0.4 × 0 = 0"),
        *("0.2 + 0.4 = 0.6", "0.4 + 0 = 0.4"),
    ]


def test_the_proof_is_stepped(reader: Reader) -> None:
    reader.open("proof?guess=2")
    for step in range(1, 7):
        reader.browser.click('[data-l="play.step"]')
        assert len(reader.texts(".prooflines li")) == step
    assert reader.browser.run("document.querySelector('[data-l=\"play.step\"]').ariaDisabled") == "true"
    reader.browser.click('[data-l="play.back"]')
    assert len(reader.texts(".prooflines li")) == 5
    reader.browser.until("location.hash.includes('t=5')")


def test_the_coin_keeps_half_of_the_hates(reader: Reader) -> None:
    reader.open("coin?guess=1")
    assert reader.texts(".bet-option") == ["40%", "50%", "80%"]
    reader.press_by_text("1 000 more")
    said = reader.text(".narration")
    kept, thrown = re.match(r"([\d ]+) of ([\d ]+) kept", said).groups()  # type: ignore[union-attr]
    kept_count, count = int(kept.replace(" ", "")), int(re.sub(r"\D", "", thrown))
    assert count == 1000
    assert abs(kept_count - 500) < 3.29 * (1000 * 0.25) ** 0.5
    assert "The rule says 50.0%" in said


def test_the_residual_of_three_words(reader: Reader) -> None:
    """Section 22.2: the residual is (2/3, 1/3, 0)."""
    reader.open("residual?t=2")
    assert percents(reader.texts(".after .bars output")) == [66.7, 33.3, 0.0]
    assert "0.2 + 0.1 + 0 = 0.3" in reader.text(".after .note")


def sampled(reader: Reader, state: str, n: int) -> dict[str, Any]:
    """What chapter 7 shows after n words under a rule."""
    reader.open(f"residual?guess=1&guess2=1&n={n}&{state}")
    shown = f"{n:,}".replace(",", " ")
    reader.browser.until(
        f"document.querySelector('.tv').innerText.replace(/\\s/g, ' ').includes('{shown} ')", seconds=30
    )
    said = reader.text(".tv")
    numbers = [float(x) for x in re.findall(r"\d+\.\d+|\b0\b", said.split("is")[1])]
    return {
        "shares": percents(reader.texts(".bars:not(.after .bars) output")),
        "tv": numbers[0],
        "band": numbers[1],
        "red": reader.browser.run("document.querySelector('.meter').classList.contains('red')"),
    }


@pytest.mark.parametrize("laws", ["", "p3=10,40,50&q3=50,40,10", "p3=80,20,0&q3=0,30,70"])
def test_bars_snap_to_the_gold_whatever_q_was(reader: Reader, laws: str) -> None:
    seen = sampled(reader, f"rule=residual&{laws}", 100000)
    assert seen["tv"] <= seen["band"] < 0.01
    assert not seen["red"]


def test_two_words_hide_the_fault_that_three_lay_bare(reader: Reader) -> None:
    """The presets show it: the same broken rule, without a trace of a fault over two words."""
    reader.open("residual?guess=1&guess2=1&rule=without")
    for preset, red in (("Only two words", False), ("A pair that lays it bare", True)):
        reader.press_by_text(preset)
        reader.press_by_text("Draw 100 000")
        reader.browser.until("document.querySelector('.tv').innerText.includes('100 000')", seconds=30)
        assert reader.browser.run("document.querySelector('.meter').classList.contains('red')") is red


@pytest.mark.parametrize(
    ("rule", "laws", "n", "tv"),
    [
        ("p", "", 20000, 0.06),
        ("without", "p3=10,40,50&q3=50,40,10", 10000, 0.178),
        ("always", "", 1000, 0.30),
        ("threshold", "", 1000, 0.20),
    ],
)
def test_broken_rules_drift_and_turn_the_meter_red(reader: Reader, rule: str, laws: str, n: int, tv: float) -> None:
    seen = sampled(reader, f"rule={rule}&{laws}", n)
    assert seen["tv"] == pytest.approx(tv, abs=0.04)
    assert seen["tv"] > seen["band"]
    assert seen["red"], seen


def test_the_race_tells_what_the_traces_hold(reader: Reader) -> None:
    for run in ("copy", "code", "chat"):
        reader.open(f"race?guess=0&run={run}&t=100000")
        reader.browser.until("document.querySelector('.result').innerText.includes('Same to the letter')")
        rounds = [len(records(name, "round")) for name in (run, f"{run}-plain")]
        tokens = records(run, "result")[0]["tokens"]
        said = reader.text(".result")
        assert f"{tokens} tokens of {tokens}" in said
        assert f"in {rounds[0]} passes instead of {rounds[1]}" in said
        texts = reader.browser.run(
            "[...document.querySelectorAll('.lane .strip')].map((s) => [...s.querySelectorAll('.tok')].map((t) => t.lastChild.textContent).join(''))"
        )
        assert texts[0] == texts[1]


def test_a_sentence_shows_every_verdict_of_its_trace(reader: Reader) -> None:
    """The run with coins: guesses, probabilities and the fix of a round are those of the trace."""
    rounds = records("law", "round")
    words = records("law", "result")[0]["vocabulary"]
    reader.open("sentence?guess=1&run=law&t=2")
    reader.browser.until("document.querySelectorAll('.strip.guess .tok').length > 0")
    reader.browser.click(".numbers summary")
    first = rounds[0]
    guessed = [words[str(token)].replace(" ", "·") for token in first["draft"]["tokens"]]
    shown = reader.browser.run(
        "[...document.querySelectorAll('.strip.guess .tok')].map((t) => t.lastChild.textContent)"
    )
    assert shown[: len(guessed)] == guessed
    coins = [coin for coin in first["coins"] if coin["stream"] == "accept"]
    rows = reader.browser.run(
        "[...document.querySelectorAll('.numbers tbody tr')].map((r) => [...r.children].map((c) => c.innerText.trim()))"
    )
    for coin, row in zip(coins, rows, strict=True):
        assert [float(row[i]) for i in (1, 2, 3)] == pytest.approx(
            [coin["denominator"], coin["numerator"], coin["u"]], abs=6e-4
        )
        assert row[4].endswith("accepted" if coin["accepted"] else "rejected")


def test_the_lunch_is_as_measured(reader: Reader) -> None:
    points = {p["rows"]: p["seconds"] for p in json.loads((FOLDER / "traces" / "passes.json").read_text())["points"]}
    reader.open("lunch?guess=2&k=16")
    reader.browser.until("document.querySelectorAll('.plot .point').length > 5")
    said = reader.text(".plotbox ~ .note")
    assert f"{round(1000 * points[1], 1):g} ms" in said
    for rows in (4, 8):
        assert f"× {points[rows] / points[1]:.2f}".rstrip("0") in said


def test_the_sandbox_counts_right(reader: Reader) -> None:
    for rule in ("token", "block", "coupled"):
        reader.open(f"sandbox?rule={rule}&count=200&gamma=3")
        tokens, passes = (int(x) for x in re.match(r"(\d+) tokens in (\d+) passes", reader.text(".result")).groups())  # type: ignore[union-attr]
        assert tokens == len(reader.browser.run("[...document.querySelectorAll('.strip .tok')].map((e) => 1)")) == 200
        assert sum(int(x) for x in reader.texts(".hist output")) == passes


def test_shared_randomness_keeps_the_text_where_it_is(reader: Reader) -> None:
    """Under "coupled" neither q nor the draft length moves a single word."""
    texts = set()
    for knobs in ("q3=30,20,50&gamma=4", "q3=90,5,5&gamma=4", "q3=30,20,50&gamma=0", "q3=10,80,10&gamma=8"):
        reader.open(f"sandbox?rule=coupled&seed=12&{knobs}")
        texts.add(
            reader.browser.run(
                "[...document.querySelectorAll('.strip .tok')].map((t) => t.lastChild.textContent).join('')"
            )
        )
    assert len(texts) == 1


def test_a_link_holds_the_whole_state(reader: Reader) -> None:
    """What a reader has set up is what the copied address shows to another."""
    reader.open("residual")
    reader.browser.click(".bet .bet-option")
    reader.browser.run("document.querySelector('.law.q input').focus()")
    reader.browser.press("ArrowRight", times=7)
    reader.press_by_text("Draw 1 000")
    reader.settle()
    reader.browser.until("location.hash.includes('n=1000') && location.hash.includes('q3=37')")
    reader.browser.until(
        "document.querySelector('.tv').innerText.includes('1 000') || /1.000/.test(document.querySelector('.tv').innerText)"
    )
    picture = "[...document.querySelectorAll('main output, main .tv, main .narration')].map((e) => e.innerText)"
    link, here = reader.browser.run("location.hash"), reader.browser.run(picture)
    reader.open(link.removeprefix("#"), lang=None)
    reader.settle()
    assert reader.browser.run(picture) == here


def test_a_nonsense_link_is_still_a_page(reader: Reader) -> None:
    for state in (
        "residual?p3=a,b&q3=400,-2,9&n=-7&rule=nope&t=99&seed=x",
        "coin?n=1e99&p=-50&q=200",
        "timelines?cells=zz9",
    ):
        reader.open(state)
        assert len(reader.text("main")) > 200
        assert "NaN" not in reader.text("main")
