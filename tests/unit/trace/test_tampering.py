"""No number in a trace can be changed unnoticed, and the first wrong record is named."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headstart.errors import HeadstartError, TraceError
from headstart.toy import WORLDS
from headstart.trace import Trace, check, check_trace, read
from headstart.trace.recompute import recompute
from support.traces import RULES, records, rewritten, traced, wide_world

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


@pytest.mark.parametrize("value", [None, 1.5, "x", [], {"name": 1}, 2**70])
def test_a_header_of_other_shapes_is_malformed(tmp_path: Path, value: Any) -> None:
    world = WORLDS["six-word"]
    path = traced(tmp_path / "trace", world, "text", None, "none", logit_bias={1: 1.0}, frequency_penalty=0.5)
    places: list[tuple[Any, ...]] = [("sampling",), ("sampling", "processors"), ("sampling", "temperature")]
    places += [("sampling", "processors", 0), *(("sampling", "processors", 0, key) for key in ("name", "frequency"))]
    places += [("sampling", "processors", 1, "biases"), ("sampling", "processors", 1, "biases", "1")]
    for at in places:
        header, *others = records(path)
        place = header
        for key in at[:-1]:
            place = place[key]
        place[at[-1]] = value
        trace = read(rewritten(tmp_path / "tampered", [header, *others]))
        with np.errstate(over="ignore"), pytest.raises(HeadstartError):
            recompute(trace, world.model())


@pytest.mark.parametrize("value", [None, 1.5, "x", []])
def test_laws_of_another_shape_are_malformed(tmp_path: Path, value: Any) -> None:
    lines = records(traced(tmp_path / "trace", WORLDS["six-word"], "text", None, "none"))
    lines[2]["laws"] = value
    with pytest.raises(TraceError, match="round 1"):
        check(rewritten(tmp_path / "tampered", lines))
