"""Traces of toy worlds: every rule's decisions can be made again, and no number in them can be changed unnoticed."""

from __future__ import annotations

import copy
import errno
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headstart.engine import Engine
from headstart.errors import RefusedError, TraceError
from headstart.grammar import Grammar
from headstart.law import Law
from headstart.toy import WORLDS, TableModel, WordTokenizer, World, markov, random_world
from headstart.trace import Trace, check, check_trace, read
from headstart.trace.recompute import recompute
from support.kit import random_model
from support.tiny import tiny_tokenizer

WIDE = 600
"""Words of a world whose laws are too wide to be stored whole."""

RULES = [
    ("text", None, "lookup"),
    ("text", None, "none"),
    ("text", None, "model"),
    ("law", "walk", "lookup"),
    ("law", "token", "model"),
    ("law", "block", "model"),
    ("law", "multi-step", "model"),
    ("law", "traversal", "model"),
    ("law", "k-seq", "model"),
    ("lossy", "lossy-typical", "model"),
    ("lossy", "lossy-lenience", "model"),
]


def wide_rule(shift: int) -> Callable[[tuple[int, ...]], Law]:
    def law(context: tuple[int, ...]) -> Law:
        weights = np.random.default_rng([shift, *context[-2:]]).exponential(size=WIDE) ** 3
        base = np.random.default_rng(context[-1]).exponential(size=WIDE) ** 3
        mixed = weights + 4 * base
        return Law(mixed / np.add.accumulate(mixed)[-1], None, WIDE)

    return law


def wide_world() -> World:
    return World("wide", tuple(f"w{i}" for i in range(WIDE)), wide_rule(1), wide_rule(2))


def traced(path: Path, world: World, guarantee: str, rule: str | None, drafter: str, **options: Any) -> Path:
    engine = Engine(world.model(), tokenizer=world.tokenizer(), draft_model=world.draft_model(), drafter=drafter)
    length = None if drafter == "none" else 3
    chosen = {"max_tokens": 16, "temperature": 0.8, "seed": 2**64 - 5, "draft_length": length} | options
    engine.generate([0, 1, 0], trace=path, guarantee=guarantee, verifier=rule, **chosen)
    return path


def records(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def rewritten(path: Path, lines: list[Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


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
    with pytest.raises(TraceError, match="cannot be written"):
        traced(tmp_path / "missing" / "trace", WORLDS["markov"], "text", None, "none")


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


TAKEN_AS_GIVEN = ("model", "numerics_id", "drafter", "sampling", "prompt")
"""Of the header, what only the model can tell."""


def leaves(node: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(node, (dict, list)):
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            yield from leaves(value, (*at, key))
    else:
        yield at


def changed(value: Any) -> Any:
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * (1 + 1e-7) if value else 1e-7
    return {"certain": "sampled", "sampled": "certain"}.get(value, f"{value}9") if isinstance(value, str) else 7


def never_compared(record: Any, node: int) -> bool:
    """Whether a guess was made without coins and turned down, so that another wrong guess would have done as well."""
    return record["draft"]["origins"][node] != "sampled" and node not in record["verdict"]["path"]


@pytest.mark.parametrize(("guarantee", "rule", "drafter"), RULES)
def test_no_number_can_be_changed_unnoticed(tmp_path: Path, guarantee: str, rule: str | None, drafter: str) -> None:
    path = traced(tmp_path / "trace", WORLDS["six-word"], guarantee, rule, drafter, max_tokens=6)
    lines = records(path)[:-1]
    said = {token for record in lines[1:-1] for token in record["committed"]}
    unnoticed = []
    for at in leaves(lines):
        name = ".".join(map(str, at[1:]))
        if at[0] == 0 and name.startswith(TAKEN_AS_GIVEN):
            continue
        if at[1] == "vocabulary" and int(at[2]) not in said:
            continue
        if at[1:3] == ("draft", "tokens") and never_compared(lines[at[0]], at[3]):
            continue
        tampered = copy.deepcopy(lines)
        place = tampered
        for key in at[:-1]:
            place = place[key]
        place[at[-1]] = changed(place[at[-1]])
        try:
            if at[-1] in ("type", "format", "version"):
                read(rewritten(tmp_path / "tampered", tampered))
            else:
                check_trace(Trace(tampered[0], tuple(tampered[1:-1]), tampered[-1], None))
        except TraceError:
            continue
        unnoticed.append((at, changed(place[at[-1]])))
    assert unnoticed == []


def drop(lines: list[Any]) -> None:
    del lines[3]


def swap(lines: list[Any]) -> None:
    lines[2], lines[3] = lines[3], lines[2]


def repeat(lines: list[Any]) -> None:
    lines.insert(3, copy.deepcopy(lines[2]))


def forget_coin(lines: list[Any]) -> None:
    del lines[1]["coins"][-1]


def add_coin(lines: list[Any]) -> None:
    lines[1]["coins"].append(lines[1]["coins"][-1])


def forget_law(lines: list[Any]) -> None:
    del lines[1]["laws"]["-1"]


def forget_result(lines: list[Any]) -> None:
    del lines[-1]


def other_rule(lines: list[Any]) -> None:
    lines[1]["verifier"] = "lossy-typical"


def unknown_rule(lines: list[Any]) -> None:
    lines[1]["verifier"] = "best"


def other_version(lines: list[Any]) -> None:
    lines[0]["version"] = 2


def shorten(lines: list[Any]) -> None:
    round_ = next(line for line in lines[1:-2] if len(line["committed"]) > 1)
    round_["committed"].pop()


def forget_field(lines: list[Any]) -> None:
    del lines[1]["verdict"]["kind"]


def wrong_type(lines: list[Any]) -> None:
    lines[1]["draft"] = 5


@pytest.mark.parametrize(
    "tamper",
    [drop, swap, repeat, forget_coin, add_coin, forget_law, forget_result, other_rule, unknown_rule, other_version, shorten,
     forget_field, wrong_type],
)  # fmt: skip
@pytest.mark.parametrize(("rule", "drafter", "guarantee"), [("block", "model", "law"), (None, "model", "text")])
def test_every_kind_of_tampering_is_caught(
    tmp_path: Path, tamper: Callable[[list[Any]], None], rule: str | None, drafter: str, guarantee: str
) -> None:
    lines = records(traced(tmp_path / "trace", WORLDS["six-word"], guarantee, rule, drafter))[:-1]
    tamper(lines)
    with pytest.raises(TraceError):
        check(rewritten(tmp_path / "tampered", lines))


def test_the_first_wrong_record_is_named(tmp_path: Path) -> None:
    lines = records(traced(tmp_path / "trace", WORLDS["six-word"], "law", "token", "model"))
    for number in (4, 6):
        coin = next(coin for coin in lines[number]["coins"] if coin["stream"] == "accept")
        coin["accepted"] = not coin["accepted"]
    with pytest.raises(TraceError, match=r"round 3 \(line 5\) does not follow"):
        check(rewritten(tmp_path / "tampered", lines))


def test_wide_laws_cannot_hide_a_winner(tmp_path: Path) -> None:
    lines = records(traced(tmp_path / "trace", wide_world(), "text", None, "none"))[:-1]
    law = lines[1]["laws"]["-1"]
    winner = law["ids"].index(lines[1]["verdict"]["token"])
    second = next(i for i in range(len(law["ids"])) if i != winner)
    raised = copy.deepcopy(lines)
    raised[1]["laws"]["-1"]["floor"] = max(law["weights"]) / 2
    with pytest.raises(TraceError, match="could have won"):
        check(rewritten(tmp_path / "tampered", raised))
    lines[1]["verdict"]["token"] = lines[1]["committed"][0] = law["ids"][second]
    with pytest.raises(TraceError):
        check(rewritten(tmp_path / "tampered", lines))


@pytest.mark.parametrize("rule", ["token", "block"])
def test_wide_laws_bind_what_was_decided(tmp_path: Path, rule: str) -> None:
    """The numbers before each coin must be those of the stored laws, though the laws are not whole."""
    lines = records(traced(tmp_path / "trace", wide_world(), "law", rule, "model"))[:-1]
    for number, record in enumerate(lines[1:-1], start=1):
        for law_at, law in enumerate(record["laws"].values()):
            end = record["verdict"]["path"][-1] if record["verdict"]["path"] else -1
            token = record["verdict"]["token"]
            if str(end) == list(record["laws"])[law_at]:
                tampered = copy.deepcopy(lines)
                at = law["ids"].index(token)
                tampered[number]["laws"][str(end)]["weights"][at] *= 1 + 1e-12
                with pytest.raises(TraceError, match=f"round {number - 1} "):
                    check(rewritten(tmp_path / "tampered", tampered))


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
    with pytest.raises(TraceError, match="No such file"):
        read(tmp_path / "none")
