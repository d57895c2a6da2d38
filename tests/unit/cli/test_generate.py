"""``headstart generate`` in this process: what goes where, and what is refused in one sentence."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from headstart.cli.compare import require_same
from headstart.engine import Engine
from headstart.errors import DivergenceError, TraceError
from headstart.models import store
from headstart.request import Request
from support.commands import Done, here, one_sentence, tiny_model
from support.tiny import tiny_tokenizer

Run = Callable[..., Done]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(tmp_path_factory.mktemp("models"))


@pytest.fixture
def generate(capsys: pytest.CaptureFixture[str], model: Path) -> Run:
    def call(*arguments: object, stdin: bytes = b"", tokens: int = 24) -> Done:
        return here(capsys, "generate", "--model", model, "--threads", 1, "-n", tokens, *arguments, stdin=stdin)

    return call


def test_stdout_is_the_answer_and_a_line_end(generate: Run, model: Path) -> None:
    done = generate("ab ab ab ab", "--seed", 3)
    with Engine(model, threads=1) as engine:
        expected = engine.generate("ab ab ab ab", max_tokens=24, seed=3).text
    assert done.out == expected + "\n"
    assert done.code == 0
    last = done.err.strip().splitlines()[-1]
    assert "24 tokens · " in last
    assert "tokens per pass · acceptance" in last
    assert last.endswith(" · cut off by max_tokens · seed 3")


def test_same_text_whatever_drafts(generate: Run, model: Path) -> None:
    arguments = ("the the the the", "-t", 0.7, "--seed", 5)
    texts = {
        generate(*arguments, *drafting).out
        for drafting in (
            (),
            ("--drafter", "none"),
            ("--draft-length", 8),
            ("--draft-model", model),
            ("--drafter", "lookup", "--draft-model", model, "--draft-length", 3),
        )
    }
    assert len(texts) == 1
    assert generate(*arguments[:-1], 6).out not in texts


def test_nothing_drafted_says_why(generate: Run) -> None:
    assert "nothing drafted: drafting is off" in generate("hi", "--drafter", "none").err


def test_less_than_the_same_text_is_said(generate: Run) -> None:
    for guarantee in ("law", "lossy"):
        assert f"guarantee {guarantee}" in generate("hi", "--guarantee", guarantee, "-t", 1).err


def test_prompts_from_a_file_and_from_stdin_are_the_same(generate: Run, tmp_path: Path) -> None:
    (tmp_path / "prompt").write_bytes("grüße 你好\r\n".encode())
    expected = generate("grüße 你好")
    assert generate("--file", tmp_path / "prompt").out == expected.out
    assert generate("-", stdin="grüße 你好\n".encode()).out == expected.out
    raw = generate("-", "--raw", stdin="grüße 你好\n".encode())
    assert raw.out == generate("grüße 你好\n", "--raw").out
    assert raw.out != generate("grüße 你好", "--raw").out


def test_system_raw_and_stop_change_the_answer(generate: Run) -> None:
    plain = generate("hello").out
    assert generate("hello", "--system", "be brief").out != plain
    assert generate("hello", "--raw").out != plain
    stop = plain[5:8]
    assert generate("hello", "--stop", stop).out == plain[: plain.index(stop)] + "\n"


def test_an_unset_temperature_is_greedy_unless_the_law_is_cut(generate: Run) -> None:
    greedy = generate("hello", "--seed", 1).out
    assert generate("hello", "--seed", 2).out == greedy == generate("hello", "-t", 0).out
    cut = [generate("hello", "--top-k", 8, "--seed", seed, *rest).out for seed in (1, 2) for rest in ((), ("-t", 1))]
    assert cut[0] == cut[1] != cut[2] == cut[3]


def test_json_is_one_document(generate: Run) -> None:
    done = generate("hello", "--json", "--seed", 9, "--compare")
    document = json.loads(done.out)
    assert done.out.count("\n") == 1
    assert document["seed"] == 9
    assert len(document["tokens"]) == document["statistics"]["tokens"] == 24
    assert document["guarantee"] == "text"
    assert document["compare"]["ratio"] > 0
    assert document["compare"]["plain"]["text"] == document["text"]
    assert document["compare"]["plain"]["drafter"] == "none"


def test_compare_prints_both_speeds_and_their_ratio(generate: Run) -> None:
    done = generate("hello", "--compare", "-t", 1, "--seed", 4)
    assert done.code == 0
    assert "same text as plain decoding: " in done.err
    assert "times as fast" in done.err


def test_a_trace_is_written_and_follows(
    generate: Run, capsys: pytest.CaptureFixture[str], model: Path, tmp_path: Path
) -> None:
    path = tmp_path / "trace.jsonl"
    for extra in (("-t", 0.8), ("-t", 0.8, "--guarantee", "law", "--draft-model", model)):
        assert generate("the the the", "--trace", path, *extra).code == 0
        checked = here(capsys, "trace", "check", path, "--model", model, "--threads", 1)
        assert checked.code == 0, checked.err
        assert "every decision follows" in checked.out
        assert "to the bit" in checked.out
    assert [entry.name for entry in tmp_path.iterdir()] == ["trace.jsonl"]


def test_a_trace_of_another_model_is_refused(generate: Run, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    generate("the the the", "--trace", tmp_path / "trace")
    other = tiny_model(tmp_path, seed=7)
    done = here(capsys, "trace", "check", tmp_path / "trace", "--model", other)
    assert done.code == 1
    assert "is another model" in done.err


def test_a_false_trace_is_named_by_its_record(
    generate: Run, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "trace"
    generate("hello", "--trace", path)
    path.write_text(path.read_text().replace('"kind":"plain"', '"kind":"bonus"'))
    assert "does not follow" in one_sentence(here(capsys, "trace", "check", path), 1)


WRONG: list[tuple[tuple[object, ...], str]] = [
    (("",), "the prompt is empty"),
    (("  \n",), "the prompt is empty"),
    (("",  "--raw"), "the prompt is empty"),
    ((), "no prompt was given"),
    (("hi", "--file", "x"), "given twice"),
    (("--file", "/nowhere/prompt"), "/nowhere/prompt cannot be read"),
    (("hi", "--max-tokens", 0), "max_tokens is 0"),
    (("hi", "--max-tokens", -5), "max_tokens is -5"),
    (("hi", "--temperature", -1), "temperature is -1.0"),
    (("hi", "--temperature", "nan"), "temperature is nan"),
    (("hi", "--top-p", 2), "top_p is 2"),
    (("hi", "--top-k", -1), "top_k is -1"),
    (("hi", "--min-p", 1.5), "min_p is 1.5"),
    (("hi", "--seed", -1), "seed is -1"),
    (("hi", "--draft-length", 65), "draft_length is 65"),
    (("hi", "--drafter", "oracle"), "'oracle' is unknown"),
    (("hi", "--drafter", "model"), "--draft-model"),
    (("hi", "--draft-model", "/nowhere"), "/nowhere"),
    (("hi", "--guarantee", "good"), "'good'"),
    (("hi", "--verifier", "best"), "'best' is unknown"),
    (("hi", "--verifier", "token"), "verifier 'token' keeps the guarantee 'law'"),
    (("hi", "--verifier", "greedy", "-t", 1), "verifier 'greedy' needs temperature 0"),
    (("hi", "--stop", ""), "stop string is empty"),
    (("hi", "--raw", "--system", "x"), "--system"),
    (("hi", "--compare", "--guarantee", "law"), "--compare"),
    (("hi", "--threads", 0), "threads is 0"),
    (("hi", "--context", 0), "context is 0"),
    (("hi", "--precision", "half"), "'half'"),
    (("hi", "--backend", "gpu"), "'gpu'"),
    (("x " * 3000,), "2048"),
    (("hi", "--temperature", "warm"), "'warm'|valid float|valid number"),
    (("hi", "--colour"), "--colour"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "says"), WRONG, ids=[" ".join(map(str, a))[:30] or "nothing" for a, _ in WRONG])
def test_what_is_not_possible_is_one_sentence(generate: Run, arguments: tuple[object, ...], says: str) -> None:
    sentence = one_sentence(generate(*arguments), 2)
    assert any(part in sentence for part in says.split("|"))


def test_prompts_that_are_not_text_are_refused(generate: Run, tmp_path: Path) -> None:
    assert "stdin is not UTF-8 text (byte 0xff at offset 3)" in one_sentence(generate("-", stdin=b"abc\xff\xfe"), 2)
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    assert "not UTF-8" in one_sentence(generate("--file", tmp_path / "binary"), 2)
    assert "cannot be read" in one_sentence(generate("--file", tmp_path), 2)
    assert "the prompt is not UTF-8" in one_sentence(generate(b"\xc3\x28".decode("utf-8", "surrogateescape")), 2)


def test_models_that_are_none_are_refused(capsys: pytest.CaptureFixture[str], model: Path, tmp_path: Path) -> None:
    def ask(path: object) -> str:
        return one_sentence(here(capsys, "generate", "hi", "--model", path), 2)

    assert "nowhere.gguf" in ask("/nowhere.gguf")
    assert "config.json" in ask(tmp_path)
    data = model.read_bytes()
    (tmp_path / "cut.gguf").write_bytes(data[: len(data) // 2])
    assert "cut.gguf" in ask(tmp_path / "cut.gguf")
    (tmp_path / "text.gguf").write_text("not a model")
    assert "text.gguf" in ask(tmp_path / "text.gguf")
    (tmp_path / "empty.gguf").touch()
    assert "empty.gguf" in ask(tmp_path / "empty.gguf")


def test_a_cache_folder_that_cannot_be_written_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("HEADSTART_HOME", str(tmp_path / "file"))
    assert "HEADSTART_HOME" in one_sentence(here(capsys, "generate", "hi"), 1)


def test_a_trace_that_cannot_be_written_is_refused_before_decoding(generate: Run) -> None:
    assert "cannot be written" in one_sentence(generate("hi", "--trace", "/nowhere/trace"), 2)


def test_an_answer_that_fails_leaves_its_reason_a_line_of_its_own(
    generate: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from headstart.trace import Recorder

    def full(self: Recorder, request: Request, *_arguments: object) -> None:
        self.abandon()
        if request.round > 4:
            raise TraceError("the disk is full")

    whole = generate("hi", "--trace", tmp_path / "trace")
    monkeypatch.setattr(Recorder, "round", full)
    done = generate("hi", "--trace", tmp_path / "trace")
    assert (done.code, done.err.splitlines()) == (1, ["headstart: the disk is full"])
    assert done.out.endswith("\n")
    assert whole.out.startswith(done.out[:-1])
    assert len(done.out) > 1


def test_a_model_without_chat_template_takes_text_as_it_is(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from support.files import write_gguf
    from support.tiny import tiny_weights

    path = write_gguf(tiny_weights(), tmp_path / "m.gguf", metadata={"tokenizer.chat_template": None})
    plain = here(capsys, "generate", "hello", "-m", path, "-n", 8)
    assert plain.out == here(capsys, "generate", "hello", "-m", path, "-n", 8, "--raw").out
    assert "chat template" in one_sentence(here(capsys, "generate", "hi", "-m", path, "--system", "x"), 2)
    assert "chat template" in one_sentence(here(capsys, "chat", "-m", path), 2)


class Drifting:
    """A model whose rows depend on their company, which it denies."""

    row_invariant = True
    numerics_id = "drifting"

    def __init__(self, model: object) -> None:
        self._model = model

    def __getattr__(self, name: str) -> object:
        return getattr(self._model, name)

    def forward(self, batch: object, **how: object) -> object:
        rows = self._model.forward(batch, **how)  # type: ignore[attr-defined]
        return _Nudged(rows, len(batch.tokens)) if len(batch.tokens) > 1 else rows  # type: ignore[attr-defined]


class _Nudged:
    """Rows in company: the best token loses to the next."""

    def __init__(self, rows: object, count: int) -> None:
        self._rows, self._count = rows, count

    def argmax(self, row: int) -> int:
        return int(self._rows.top(row, 2)[0][1])  # type: ignore[attr-defined]

    def __getattr__(self, name: str) -> object:
        return getattr(self._rows, name)


def test_a_difference_is_found_with_position_tokens_and_gap() -> None:
    from support.kit import random_model

    engine = Engine(Drifting(random_model()), tokenizer=tiny_tokenizer())  # type: ignore[arg-type]
    prompt = [5, 6, 7, 5, 6, 7, 5, 6]
    drafted = engine.generate(prompt, max_tokens=30, draft_length=4, seed=0)
    plain = engine.generate(prompt, max_tokens=30, drafter="none", seed=0)
    with pytest.raises(
        DivergenceError, match=r"differ at token \d+ of the answer: .* \(id \d+\), whose logits are [\d.e-]+ apart"
    ):
        require_same(engine, prompt, drafted, plain)
    require_same(engine, prompt, plain, plain)


def test_a_difference_ends_with_exit_code_1(generate: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    original = Engine.generate

    def other(self: Engine, *arguments: object, **options: object) -> object:
        result = original(self, *arguments, **options)  # type: ignore[arg-type]
        return replace(result, tokens=(*result.tokens[:5], result.tokens[5] + 1, *result.tokens[6:]))

    monkeypatch.setattr(Engine, "generate", other)
    done = generate("hello", "--compare")
    assert done.code == 1
    assert done.out
    assert "differ at token 5 of the answer" in done.err
    assert "times as fast" not in done.err


def test_models_are_listed_with_size_licence_and_place(capsys: pytest.CaptureFixture[str]) -> None:
    done = here(capsys, "models")
    assert done.code == 0
    for entry in store.catalog():
        assert entry.name in done.out
        assert entry.licence in done.out
    assert str(store.models_folder()) in done.err


def test_an_unknown_name_is_refused_by_pull(capsys: pytest.CaptureFixture[str]) -> None:
    assert "'nothing'" in one_sentence(here(capsys, "models", "pull", "nothing"), 2)


@pytest.mark.parametrize("command", ["generate", "chat", "models", "trace", "theory"])
def test_every_command_has_help(capsys: pytest.CaptureFixture[str], command: str) -> None:
    done = here(capsys, command, "--help")
    assert done.code == 0
    assert command in done.out


def test_no_command_and_a_wrong_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert "generate" in here(capsys).out + here(capsys).err
    assert "'generat'" in one_sentence(here(capsys, "generat"), 2)


def test_a_fault_of_our_own_is_one_sentence_too(generate: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_arguments: object, **_options: object) -> None:
        raise RuntimeError("a wheel came off")

    monkeypatch.setattr(Engine, "stream", broken)
    assert "a fault of Headstart itself, RuntimeError: a wheel came off" in one_sentence(generate("hi"), 1)
    monkeypatch.setenv("HEADSTART_TRACEBACK", "1")
    with pytest.raises(RuntimeError, match="wheel"):
        generate("hi")


def test_nothing_heavy_is_imported_before_it_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    import subprocess

    code = "import sys, headstart.cli.app, headstart.cli.generate; print([m for m in ('numpy', 'jinja2', 'tokenizers', 'llguidance', 'starlette') if m in sys.modules])"
    from support.commands import SOURCE

    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=SOURCE)
    assert out.stdout.strip() == "[]"


@pytest.mark.parametrize("command", [("lesson", "--no-browser", "--model"), ("bench", "kernel", "--model")])
def test_a_model_that_is_nowhere_is_refused_before_anything_begins(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    done = here(capsys, *command, "nowhere.gguf")
    assert "neither a file, nor a folder, nor in the catalog" in one_sentence(done, 2)
