"""Traces of toy worlds: every rule's decisions can be made again, and its laws computed again."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headstart.engine import Engine
from headstart.errors import InputError, RefusedError, TraceError
from headstart.grammar import Grammar
from headstart.request import Request
from headstart.toy import WORLDS, TableModel, WordTokenizer, markov, random_world
from headstart.trace import check, check_trace, read
from headstart.trace.recompute import recompute
from headstart.trace.record import Recorder
from support.kit import random_model
from support.tiny import tiny_tokenizer
from support.traces import RULES, WIDE, records, rewritten, traced, wide_world


@pytest.mark.parametrize(("guarantee", "rule", "drafter"), RULES)
@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_every_rule_follows(tmp_path: Path, guarantee: str, rule: str | None, drafter: str, temperature: float) -> None:
    for world in (WORLDS["markov"], WORLDS["six-word"], random_world(5, seed=3)):
        path = traced(tmp_path / "trace", world, guarantee, rule, drafter, temperature=temperature)
        report = check(path)
        assert report.tokens == 16
        assert report.coins_only == 0
        assert recompute(read(path), world.model()) == sum(len(record["laws"]) for record in records(path)[1:-2])


@pytest.mark.parametrize(("guarantee", "rule", "drafter"), RULES)
def test_wide_laws_follow(tmp_path: Path, guarantee: str, rule: str | None, drafter: str) -> None:
    path = traced(tmp_path / "trace", wide_world(), guarantee, rule, drafter)
    stored = [law for record in records(path)[1:-2] for law in record["laws"].values()]
    assert all("floor" in law and len(law["ids"]) < WIDE / 3 for law in stored)
    report = check(path)
    assert (report.coins_only > 0) == (rule not in (None, "walk", "token", "block"))
    assert recompute(read(path), wide_world().model()) == len(stored)


def test_a_trace_without_timings_is_the_same_every_time(tmp_path: Path) -> None:
    first = traced(tmp_path / "a", WORLDS["markov"], "law", "block", "model").read_text().splitlines()
    second = traced(tmp_path / "b", WORLDS["markov"], "law", "block", "model").read_text().splitlines()
    assert first[:-1] == second[:-1]
    assert json.loads(first[-1])["type"] == "timings"


def test_trace_holds_what_the_page_says(tmp_path: Path) -> None:
    path = traced(tmp_path / "trace", WORLDS["three-word"], "law", "token", "model")
    header, first = records(path)[:2]
    assert header["seed"] == str(2**64 - 5)
    assert first["laws"]["-1"]["weights"] == pytest.approx(
        [0.5**1.25, 0.3**1.25, 0.2**1.25] / np.sum(np.power([0.5, 0.3, 0.2], 1.25))
    )
    page = (Path(__file__).parents[3] / "docs/trace.md").read_text(encoding="utf-8")
    fields = {key for record in records(path) for key in record} | {key for coin in first["coins"] for key in coin}
    assert [field for field in sorted(fields) if field not in page] == []


def test_a_seed_of_64_bits_survives(tmp_path: Path) -> None:
    assert check(traced(tmp_path / "trace", WORLDS["markov"], "text", None, "none", seed=2**64 - 1)).rounds == 16


def test_writing_to_a_folder_that_is_not_there_fails_before_decoding(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written: No such file"):
        traced(tmp_path / "missing" / "trace", WORLDS["markov"], "text", None, "none")


def test_numbers_of_numpy_are_written_as_numbers(tmp_path: Path) -> None:
    path = traced(
        tmp_path / "trace",
        WORLDS["markov"],
        "text",
        None,
        "none",
        max_tokens=np.int64(4),
        presence_penalty=np.float32(0.5),
    )
    assert check(path).tokens == records(path)[0]["max_tokens"] == 4


def test_a_folder_or_a_device_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    device = tmp_path / "device"
    os.mkfifo(device)
    for path in (tmp_path, device, Path()):
        with pytest.raises(InputError, match="it is a folder or a device"):
            traced(path, WORLDS["markov"], "text", None, "none")
    assert device.is_fifo()
    assert list(tmp_path.iterdir()) == [device]


def test_a_link_stays_one_and_its_file_is_written(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder" / "trace")
    check(traced(tmp_path / "link", WORLDS["markov"], "text", None, "none"))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "folder" / "trace").is_file()


@pytest.mark.parametrize("at", ["commit", "round", "_write"])
def test_a_round_broken_off_leaves_no_trace_that_does_not_follow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    owner: Any = Request if at == "commit" else Recorder
    whole = getattr(owner, at)
    calls = 0

    def broken(self: Any, *arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        done = None if at == "round" else whole(self, *arguments)
        if calls > 3:
            raise KeyboardInterrupt
        return whole(self, *arguments) if at == "round" else done

    monkeypatch.setattr(owner, at, broken)
    with pytest.raises(KeyboardInterrupt):
        traced(tmp_path / "trace", WORLDS["markov"], "text", None, "none")
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_fills_up_leaves_no_half_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        """A file on a disk that is full from the third line on."""

        closed = False

        def __init__(self) -> None:
            self.lines = 0

        def write(self, _text: str) -> None:
            self.lines += 1

        def flush(self) -> None:
            if self.lines > 2:
                raise OSError(errno.ENOSPC, "No space left on device")

        def close(self) -> None:
            self.closed = True
            self.flush()

    def opened(self: Path, *_arguments: Any, **_options: Any) -> Full:
        self.touch()
        return Full()

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", opened)
        with pytest.raises(TraceError, match="No space left"):
            traced(tmp_path / "trace", WORLDS["markov"], "text", None, "none")
    assert list(tmp_path.iterdir()) == []


def test_an_answer_broken_off_leaves_a_trace_that_follows(tmp_path: Path) -> None:
    world = WORLDS["markov"]
    engine = Engine(world.model(), tokenizer=world.tokenizer())
    with engine.stream([0], trace=tmp_path / "trace", max_tokens=50, temperature=1.0, seed=1) as stream:
        pieces = iter(stream)
        next(pieces)
        assert not (tmp_path / "trace").exists()
    assert read(tmp_path / "trace").result["finish_reason"] == "cancelled"
    assert check(tmp_path / "trace").tokens >= 1


def test_stop_strings_and_ends_follow(tmp_path: Path) -> None:
    words = ("love", "hate", "</s>")
    rule = markov([[8, 9, 1], [9, 8, 1], [1, 1, 1]])
    engine = Engine(TableModel(rule, 3), tokenizer=WordTokenizer(words))
    reasons = set()
    for seed in range(12):
        for stop in ((), ("e ha",), ("ate love",)):
            result = engine.generate([0], trace=tmp_path / "t", max_tokens=9, temperature=1.0, seed=seed, stop=stop)
            check(tmp_path / "t")
            reasons.add(type(result.stop_reason).__name__ + result.finish_reason)
    assert reasons == {"strstop", "intstop", "strlength"}


def test_the_model_tells_whether_the_laws_are_its_own(tmp_path: Path) -> None:
    path = traced(tmp_path / "trace", wide_world(), "text", None, "none")
    lines = records(path)
    law = lines[2]["laws"]["-1"]
    at = next(
        i
        for i, token in enumerate(law["ids"])
        if token != lines[2]["verdict"]["token"] and law["weights"][i] < law["floor"] * 1.5
    )
    law["weights"][at] = float(np.nextafter(law["weights"][at], 0))
    tampered = read(rewritten(tmp_path / "tampered", lines))
    check_trace(tampered)
    with pytest.raises(TraceError, match=r"round 1 \(line 3\).*gives token"):
        recompute(tampered, wide_world().model())


def test_another_model_is_not_the_one(tmp_path: Path) -> None:
    path = traced(tmp_path / "trace", WORLDS["markov"], "text", None, "none")
    with pytest.raises(TraceError, match=r"round 0 \(line 2\)"):
        recompute(read(path), WORLDS["two-word"].model())


SHAPED: list[dict[str, Any]] = [
    {"repetition_penalty": 1.3, "presence_penalty": 0.2, "frequency_penalty": 0.1},
    {"logit_bias": {1: 0.5, 3: -2.0}, "banned_tokens": [4], "forced_tokens": {2: 5}},
    {"min_tokens": 5, "top_k": 4, "min_p": 0.01, "typical_p": 0.9},
]


@pytest.mark.parametrize("shaped", SHAPED, ids=lambda shaped: next(iter(shaped)))
def test_shaped_laws_are_computed_again(tmp_path: Path, shaped: dict[str, Any]) -> None:
    world = WORLDS["six-word"]
    path = traced(tmp_path / "trace", world, "text", None, "lookup", **shaped)
    plain = records(traced(tmp_path / "plain", world, "text", None, "lookup"))
    assert records(path)[1]["laws"] != plain[1]["laws"]
    check(path)
    assert recompute(read(path), world.model()) > 0
    lines = records(path)
    lines[0]["sampling"] = plain[0]["sampling"]
    with pytest.raises(TraceError, match="does not follow: the law after node"):
        recompute(read(rewritten(path, lines)), world.model())


def test_laws_shaped_by_a_grammar_are_computed_again(tmp_path: Path) -> None:
    model, tokenizer = random_model(), tiny_tokenizer()
    engine = Engine(model, tokenizer=tokenizer)
    grammar = Grammar("regex", r"[a-f]{3}( [a-f]{2}){2}")
    engine.generate([5, 6, 7], trace=tmp_path / "trace", grammar=grammar, temperature=1.0, seed=1, max_tokens=20)
    check(tmp_path / "trace")
    assert recompute(read(tmp_path / "trace"), model, tokenizer) > 0
    with pytest.raises(RefusedError, match="Grammatical"):
        recompute(read(tmp_path / "trace"), model)


def test_laws_shaped_by_code_are_refused_by_name(tmp_path: Path) -> None:
    path = traced(tmp_path / "trace", WORLDS["markov"], "text", None, "none", processors=[lambda logits, *_: logits])
    check(path)
    with pytest.raises(RefusedError, match="Custom"):
        recompute(read(path), WORLDS["markov"].model())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a trace"),
        (b"{}\n", "record with a type"),
        (b"not json\n", "line 1 of .* is not a JSON record"),
        (b'{"type":"header"}\n', "not a trace"),
        (b"\xff\xfe\n", "UTF-8"),
        (b'{"type":"header","format":"headstart-trace","version":1}\n', "no result"),
        (b'{"type":"header","format":"headstart-trace","version":1}', "cut off"),
    ],
)
def test_what_is_not_a_trace_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "trace"
    path.write_bytes(content)
    with pytest.raises(TraceError, match=message):
        read(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read(tmp_path / "none")


def test_nesting_without_end_is_no_record(tmp_path: Path) -> None:
    (tmp_path / "trace").write_text("[" * 100_000 + "]" * 100_000 + "\n")
    with pytest.raises(TraceError, match=r"line 1 of .* is not a JSON record"):
        read(tmp_path / "trace")
