"""``python -m headstart.verify`` tells one round truly, in both languages."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from headstart.verify.__main__ import RULES, main, tell
from headstart.verify.narration import WORDS


def test_both_languages_have_the_same_words_and_places() -> None:
    def places(text: str) -> list[str]:
        return sorted(re.findall(r"\{(\w+)", text))

    assert {key: places(text) for key, text in WORDS["en"].items()} == {
        key: places(text) for key, text in WORDS["zh"].items()
    }


def test_a_round_of_token_rejection() -> None:
    lines = list(tell())
    assert "   accept 1: C is kept if u * 1/2 < 1/5, chance 2/5; u = 0.4083: lost" in lines
    assert "   what p has left: mass 3/10, divided by it A 2/3, B 1/3" in lines
    assert "3. Written: B A (1 kept, then one recovered)." in lines


def test_the_same_draft_in_a_block_is_kept() -> None:
    assert "3. Written: B C A A (3 kept, then one bonus)." in list(tell("block"))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_telling_ends_with_the_law_of_the_target(rule: str, lang: str) -> None:
    for seed in range(20):
        lines = list(tell(rule, seed=seed, lang=lang))
        assert "A 1/2, B 3/10, C 1/5" in lines[-1]
        assert lines[-2].startswith("3.")


def test_the_module_runs(capsys: pytest.CaptureFixture[str]) -> None:
    run = subprocess.run(
        [sys.executable, "-X", "utf8", "-m", "headstart.verify", "--lang", "zh"],
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
    )
    main(["--lang", "zh"])
    assert run.stdout == capsys.readouterr().out
    assert "三词世界" in run.stdout


def test_an_unknown_language_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--lang", "fr"])
    assert "invalid choice: 'fr'" in capsys.readouterr().err
