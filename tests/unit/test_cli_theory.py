"""``headstart theory``: tables, JSON and pictures of numbers that are tested elsewhere."""

import json

import pytest
from typer.testing import CliRunner

from headstart.cli.theory import app
from headstart.errors import InputError


def call(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def figures(*arguments):
    return json.loads(call(*arguments, "--json").output)


def test_laws_of_a_world_and_of_two_given_laws_agree():
    given = figures("laws", "--p", "0.5,0.3,0.2", "--q", "3/10,1/5,1/2")
    assert given == figures("laws", "--world", "three-word")
    one = {row["rule"]: row["probability"] for row in given["Acceptance of one drafted token"]}
    assert one == {"best possible: 1 - TV": 0.7, "shared noise (coupled)": 43 / 62, "floor of shared noise": 7 / 13}
    assert given["Tokens per pass"][2]["block verification"] == 2.25


def test_a_world_with_a_memory_is_asked_after_its_first_word():
    rows = figures("laws", "--world", "markov")["Acceptance of one drafted token"]
    assert rows[0]["probability"] == 0.7


def test_tables_show_exact_fractions():
    output = call("laws", "--world", "thirds").output
    assert "20/9" in output
    assert "Tokens per pass" in output


def test_speed_marks_the_best_length_and_says_where_it_pays():
    rows = figures("speed", "--alpha", "0.8", "--draft-cost", "0.05", "--draft-length", "12")[
        "Speed-up over plain decoding"
    ]
    assert [row["draft length"] for row in rows if row["best"]] == [8]
    assert rows[8]["speed-up"] == pytest.approx(3.09, abs=0.005)
    assert rows[1]["break-even"] == pytest.approx(0.05)


def test_speed_stops_where_the_curve_or_the_rates_end():
    curve = figures("speed", "--alpha", "0.8", "--pass-costs", "1,3,3")["Speed-up over plain decoding"]
    assert [row["draft length"] for row in curve] == [0, 1, 2]
    assert curve[1]["break-even"] is None
    assert "never" in call("speed", "--alpha", "0.8", "--pass-costs", "1,3,3").output
    assert len(figures("speed", "--alpha", "0.9,0.5")["Speed-up over plain decoding"]) == 3


def test_tokens_and_evidence():
    assert [
        row["probability"] for row in figures("tokens", "--alpha", "0.5", "--draft-length", "2")["Tokens in a pass"]
    ] == [
        0.5,
        0.25,
        0.25,
    ]
    rows = next(iter(figures("evidence", "--truth", "0.44,0.56", "--p", "0.6,0.4").values()))
    assert round(rows[1]["tokens"]) == 133


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("laws", "--p", "0.5,0.6", "--q", "0.5,0.5"), "not a law"),
        (("laws", "--p", "0.5,x", "--q", "0.5,0.5"), "not a law"),
        (("laws", "--p", "0.5,0.5"), "one law was given"),
        (("laws", "--world", "nowhere"), "no world 'nowhere'"),
        (("speed", "--alpha", "high"), "not a list of numbers"),
    ],
)
def test_what_is_not_allowed_is_one_sentence(arguments, reason):
    error = call(*arguments).exception
    assert isinstance(error, InputError)
    assert reason in str(error)


def test_a_picture_is_drawn(tmp_path):
    for number, arguments in enumerate((("laws",), ("speed", "--alpha", "0.8"), ("tokens", "--alpha", "0.8"))):
        file = tmp_path / f"{number}.svg"
        result = call(*arguments, "--plot", file)
        assert result.exception is None
        assert "<svg" in file.read_text()


def test_without_the_extra_the_install_command_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr("headstart.pictures.find_spec", lambda name: None)
    error = call("tokens", "--alpha", "0.8", "--plot", tmp_path / "a.png").exception
    assert isinstance(error, InputError)
    assert "pip install 'headstart[plot]'" in str(error)


def test_pictures_that_cannot_be_written_are_refused(tmp_path):
    for name, says in (
        ("a.foo", "use .png, .svg or .pdf"),
        ("none/a.png", "cannot be written: its folder is not there"),
    ):
        error = call("tokens", "--alpha", "0.8", "--plot", tmp_path / name).exception
        assert isinstance(error, InputError)
        assert says in str(error)


def test_more_chains_than_can_be_gone_through_are_refused():
    error = call("laws", "--draft-length", 10**9).exception
    assert isinstance(error, InputError)
    assert str(error).endswith("use 10 or less")
    assert call("laws", "--p", "1", "--q", "1", "--draft-length", 100).exception is None
    assert call("laws", "--drafts", 1001).exit_code == 2
