"""Reading a trace: records by line, and the drafts and laws they hold. Decides nothing; refuses what is malformed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headstart.errors import InputError, TraceError
from headstart.law import Law
from headstart.law import total as sum_of
from headstart.trace.record import VERSION
from headstart.tree import Draft

__all__ = ["StoredLaw", "Trace", "draft_of", "laws_of", "read"]

SLACK = 1e-9
"""How far the weights of a law may be from 1 in sum."""


@dataclass(frozen=True)
class Trace:
    """A trace as plain data: header, rounds, result, and timings (None where they were cut off)."""

    header: dict[str, Any]
    rounds: tuple[dict[str, Any], ...]
    result: dict[str, Any]
    timings: dict[str, Any] | None


@dataclass(frozen=True)
class StoredLaw:
    """A law as far as it was stored: every token left out weighs at most ``floor``, and 0 where ``floor`` is None."""

    law: Law
    floor: float | None

    @property
    def whole(self) -> bool:
        """Whether nothing was left out."""
        return self.floor is None

    def prob(self, token: int) -> float:
        """Weight of a token; one that was left out raises."""
        if not self.whole and self.law.ids is not None and token not in self.law.ids:
            raise TraceError(f"the law does not hold token {token}, which was decided about")
        return float(self.law.prob(token))


def read(path: Path) -> Trace:
    """Read a trace file.

    Raises
    ------
    InputError
        If it cannot be read.
    TraceError
        If it is not a trace of this version, or a record is missing or out of place.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise InputError(f"the trace {path} cannot be read: {error.strerror}; name a file that --trace wrote") from None
    except UnicodeDecodeError:
        raise TraceError(f"{path} is not a trace: it is not UTF-8 text") from None
    if lines[-1]:
        raise TraceError(f"the trace {path} is cut off: its last line, {len(lines)}, has no end")
    records = [_record(path, number, line) for number, line in enumerate(lines[:-1], start=1)]
    _check_header(path, records[0] if records else {})
    timings = records.pop() if records[-1]["type"] == "timings" else None
    kinds = [record["type"] for record in records]
    expected = ["header", *["round"] * (len(records) - 2), "result"]
    for number, (kind, wanted) in enumerate(zip(kinds, expected, strict=False), start=1):
        if kind != wanted:
            raise TraceError(f"line {number} of {path} is a {kind!r} record where a {wanted!r} record belongs")
    if len(records) < 2:
        raise TraceError(f"the trace {path} is cut off: it has no result")
    return Trace(records[0], tuple(records[1:-1]), records[-1], timings)


def draft_of(record: Mapping[str, Any], vocab_size: int) -> Draft:
    """The draft of a round record, with its laws."""
    stored = {node: law.law for node, law in laws_of(record["draft_laws"], vocab_size).items()}
    draft = record["draft"]
    tokens = [_token(token, vocab_size) for token in draft["tokens"]]
    if any(origin not in ("sampled", "coupled", "certain") for origin in draft["origins"]):
        raise TraceError(f"an origin is none of sampled, coupled, certain: {draft['origins']}")
    if sorted(stored) != [node for node, origin in enumerate(draft["origins"]) if origin == "sampled"]:
        raise TraceError("the sampled nodes and the nodes with a draft law are not the same")
    laws = tuple(stored.get(node) for node in range(len(tokens)))
    return Draft(tuple(tokens), tuple(draft["parents"]), tuple(draft["origins"]), laws)


def laws_of(records: Mapping[str, Any], vocab_size: int) -> dict[int, StoredLaw]:
    """Laws by node; equal ones are one object, as siblings drawn from one law are."""
    laws: dict[int, StoredLaw] = {}
    known: dict[str, StoredLaw] = {}
    for node, record in records.items():
        try:
            laws[int(node)] = known.setdefault(json.dumps(record), _law(record, vocab_size))
        except TraceError as error:
            raise TraceError(f"the law of node {node} {error}") from None
    return laws


def _law(record: Mapping[str, Any], vocab_size: int) -> StoredLaw:
    weights = np.array(record["weights"], np.float64)
    ids = np.array(record["ids"], np.int64) if "ids" in record else None
    floor = record.get("floor")
    if not len(weights) or not (np.isfinite(weights) & (weights >= 0)).all():
        raise TraceError("has no weights, or one that is negative or not a number")
    if ids is not None and (
        len(ids) != len(weights) or (np.diff(ids) <= 0).any() or ids[0] < 0 or ids[-1] >= vocab_size
    ):
        raise TraceError("has ids that do not ascend, lie outside the vocabulary, or do not match its weights")
    total = float(sum_of(weights))
    if floor is None and abs(total - 1) > SLACK:
        raise TraceError(f"sums to {total!r} instead of 1")
    if floor is not None:
        missing = vocab_size - len(weights)
        if not 0 <= floor <= weights.max() or not (total <= 1 + SLACK and total + missing * floor >= 1 - SLACK):
            raise TraceError(f"sums to {total!r} and leaves out {missing} tokens of at most {floor!r}, which is not 1")
    return StoredLaw(Law(weights, ids, vocab_size), floor)


def _record(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        record = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise TraceError(f"line {number} of {path} is not a JSON record") from None
    if not isinstance(record, dict) or not isinstance(record.get("type"), str):
        raise TraceError(f"line {number} of {path} is not a record with a type")
    return record


def _check_header(path: Path, header: Mapping[str, Any]) -> None:
    if header.get("format") != "headstart-trace":
        raise TraceError(f"{path} is not a trace: its first line is not a trace's header")
    if header.get("version") != VERSION:
        raise TraceError(
            f"{path} is a trace of version {header.get('version')}; this Headstart reads version {VERSION}"
        )


def _token(token: Any, vocab_size: int) -> int:
    if not isinstance(token, int) or isinstance(token, bool) or not 0 <= token < vocab_size:
        raise TraceError(f"token {token!r} is not an id below {vocab_size}")
    return token


def _refuse(constant: str) -> float:
    raise ValueError(constant)
