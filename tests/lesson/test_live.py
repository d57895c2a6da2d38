"""The page with a live engine behind it: the reader's own run, its limits and its errors, as they are seen."""

from __future__ import annotations

import pytest

from support.chromium import Chromium
from support.reader import Reader


@pytest.fixture
def live(chromium: Chromium, running: str) -> Reader:
    chromium.complaints()
    return Reader(chromium, running)


def prompt(reader: Reader, words: str) -> None:
    """Write a prompt as a reader does, and press the button."""
    reader.browser.run("document.querySelector('.live textarea').select()")
    reader.browser.call("Input.insertText", text=words)
    reader.browser.click(".live button")


def test_a_prompt_of_ones_own_is_raced(live: Reader) -> None:
    live.open("race?guess=0")
    prompt(live, "A B A B A")
    live.browser.until("document.querySelector('.badge').classList.contains('live')", seconds=30)
    live.browser.run("document.querySelector('.time').focus()")
    live.browser.press("End")
    live.browser.until("document.querySelector('.result').innerText.includes('Same to the letter, 128 tokens')")
    live.well()


def test_a_refusal_is_a_sentence_on_the_page(live: Reader) -> None:
    live.open("race")
    prompt(live, "nonsense")
    live.browser.until("document.querySelector('.live .note').innerText.includes('nonsense')")
    live.browser.until("document.querySelector('.live button').innerText === 'Run it on this machine'")
    live.well()


def test_the_sandbox_runs_with_its_knobs(live: Reader) -> None:
    live.open("sandbox?source=live&heat=10&gamma=3&seed=7")
    prompt(live, "A B A B A")
    live.browser.until("document.querySelector('.badge').classList.contains('live')", seconds=30)
    assert live.text(".result").startswith("128 tokens in")
    live.well()


def test_the_curve_is_measured_on_the_readers_machine(live: Reader) -> None:
    live.open("lunch?guess=2")
    live.press_by_text("Measure on this machine")
    live.browser.until("document.querySelector('.fig .badge.live') !== null", seconds=30)
    live.browser.until("document.querySelectorAll('.plot .point').length === 11", seconds=30)
    live.well()


def test_a_static_host_shows_no_live_controls(reader: Reader) -> None:
    for chapter in ("race", "lunch", "sandbox"):
        reader.open(f"{chapter}?guess=0")
        assert reader.browser.run("document.querySelectorAll('textarea').length") == 0
        assert "machine" not in " ".join(reader.texts("main button"))
