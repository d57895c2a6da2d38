"""``headstart generate``: penalties, grammars, log-probabilities and several answers by name."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from headstart.engine import Engine
from support.commands import Done, here, one_sentence, tiny_model

Run = Callable[..., Done]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(tmp_path_factory.mktemp("models"))


@pytest.fixture
def generate(capsys: pytest.CaptureFixture[str], model: Path) -> Run:
    def call(*arguments: object) -> Done:
        return here(capsys, "generate", "--model", model, "--threads", 1, *arguments)

    return call


def test_penalties_change_the_text_as_in_the_engine(generate: Run, model: Path) -> None:
    plain = generate("the the", "-n", 30, "--ignore-eos").out
    with Engine(model, threads=1, max_tokens=30, ignore_eos=True) as engine:
        for name, value in (("repetition", 1.8), ("presence", 2.5), ("frequency", 1.5)):
            text = engine.generate("the the", **{f"{name}_penalty": value}).text
            assert generate("the the", "-n", 30, "--ignore-eos", f"--{name}-penalty", value).out == text + "\n" != plain


def test_grammars_from_files_and_the_command_line(generate: Run, tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text('{"enum": [1, 22, 333]}')
    (tmp_path / "sum.lark").write_text('start: DIGIT ("+" DIGIT)~2\nDIGIT: /[0-9]/\n')
    for arguments, looks in (
        (("--json-schema", tmp_path / "schema.json"), r"1|22|333"),
        (("--regex", "(ab|cd){2,3}"), "(ab|cd){2,3}"),
        (("--grammar", tmp_path / "sum.lark"), r"[0-9]\+[0-9]\+[0-9]"),
    ):
        for drafter in ("lookup", "none"):
            assert re.fullmatch(looks, generate("go", *arguments, "--drafter", drafter).out.rstrip("\n"))
    free = generate("go", "--regex", "[0-9]{3}", "--grammar-after", "e", "-n", 40)
    assert free.code == 0
    assert all(re.match("[0-9]{3}", rest) for rest in free.out.split("e")[1:2])


def test_log_probabilities_are_in_the_document(generate: Run) -> None:
    document = json.loads(generate("hi", "--json", "--logprobs", 2, "-n", 5).out)
    assert [len(entry["top"]) for entry in document["logprobs"]] == [2] * 5
    assert [entry["token"] for entry in document["logprobs"]] == document["tokens"]


def test_several_answers(generate: Run, model: Path) -> None:
    arguments = ("hi", "-t", 1, "--seed", 4, "-n", 12)
    with Engine(model, threads=1, max_tokens=12) as engine:
        texts = [choice.text for choice in engine.generate_choices("hi", 3, temperature=1.0, seed=4)]
    done = generate(*arguments, "--n", 3)
    assert done.out == "\n---\n".join(texts) + "\n"
    assert done.err.count("seed 4") == 3
    document = json.loads(generate(*arguments, "--n", 3, "--json").out)
    assert [choice["text"] for choice in document["choices"]] == texts
    assert len(set(texts)) == 3


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--n", 0), "count is 0"),
        (("--n", 2, "--compare"), "--n takes no --compare"),
        (("--logprobs", 2), "only --json prints"),
        (("--regex", "a", "--grammar", "x"), "only one of --json-schema"),
        (("--grammar-after", "x"), "--grammar-after says where"),
        (("--grammar", "no-such-file"), "no-such-file cannot be read"),
        (("--json-schema", __file__), "is not JSON"),
        (("--regex", "(("), "cannot be used"),
        (("--repetition-penalty", 0), "repetition_penalty is 0.0"),
        (("--regex", "a", "--ignore-eos"), "a grammar ends the answer"),
    ],
)
def test_what_does_not_go_together_is_one_sentence(generate: Run, arguments: tuple[object, ...], says: str) -> None:
    assert says in one_sentence(generate("hi", *arguments), 2)
