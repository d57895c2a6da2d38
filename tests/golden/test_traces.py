"""Golden traces of a toy world, byte for byte, and every decision in them followed."""

from __future__ import annotations

from pathlib import Path

import pytest

from golden.make_traces import FOLDER, RULES, make
from headstart import lesson
from headstart.trace import check, read

SHOWN = sorted((Path(lesson.__file__).parent / "traces").glob("*.jsonl"))
"""What the lesson shows: recorded answers of the default model."""


@pytest.mark.parametrize("name", list(RULES))
def test_the_engine_writes_the_golden_trace(tmp_path: Path, name: str) -> None:
    make(name, tmp_path / "trace")
    assert (tmp_path / "trace").read_bytes() == (FOLDER / f"{name}.jsonl").read_bytes()


@pytest.mark.parametrize("name", list(RULES))
def test_the_golden_trace_follows_and_shows_its_rule_at_work(name: str) -> None:
    path = FOLDER / f"{name}.jsonl"
    assert check(path).coins_only == 0
    kinds = {record["verdict"]["kind"] for record in read(path).rounds}
    accepted = read(path).result["tokens_accepted"]
    assert accepted > 0
    assert "recovered" in kinds
    assert {record["verifier"] for record in read(path).rounds if record["draft"]["tokens"]} == {
        name.split("-lookup")[0]
    }


@pytest.mark.parametrize("path", SHOWN, ids=lambda path: path.stem)
def test_the_traces_that_the_lesson_shows_follow(path: Path) -> None:
    assert check(path).coins_only == 0
