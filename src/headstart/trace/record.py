"""Writing a trace while an answer is made. Knows nothing of how drafts are made or how rules decide."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headstart.coins import Coin, RoundCoins
from headstart.errors import InputError, TraceError
from headstart.law import Law, Number
from headstart.protocols import Verdict
from headstart.trace.numbers import law_record, position_key, spread
from headstart.trace.shaping import sampling_record
from headstart.tree import ROOT, Draft

if TYPE_CHECKING:
    from headstart.request import Request

__all__ = ["VERSION", "Recorder", "WatchedCoins"]

VERSION = 1
"""Version of the format; a reader refuses any other."""

PHASES = ("draft_s", "pass_s", "verify_s")


class WatchedCoins:
    """Coins of one round that remember what each was drawn for (the ``Coins`` seam)."""

    def __init__(self, seed: int, choice: int, round_: int) -> None:
        self._log: list[Coin] = []
        self._coins = RoundCoins(seed, choice, round_, log=self._log)
        self.drawn: list[tuple[Law | None, dict[str, Any]]] = []

    def target(self, law: Law, position: int) -> int:
        """Sample by the target's noise."""
        return self.rank(law, position, 1)[0]

    def rank(self, law: Law, position: int, count: int) -> list[int]:
        """First tokens of the race."""
        tokens = self._coins.rank(law, position, count)
        entry = {"stream": "target", "position": position, "u": self._log[-1].uniform, "token": tokens[0]}
        self.drawn.append((law, entry))
        return tokens

    def accept(self, numerator: Number, denominator: Number, node: int) -> bool:
        """True with probability ``min(1, numerator / denominator)``."""
        accepted = self._coins.accept(numerator, denominator, node)
        entry = self._entry("accept", node)
        entry |= {"numerator": float(numerator), "denominator": float(denominator), "accepted": accepted}
        self.drawn.append((None, entry))
        return accepted

    def recover(self, law: Law, node: int) -> int:
        """Draw the token after the last accepted node."""
        token = self._coins.recover(law, node)
        mass = {} if law.mass is None else {"mass": float(law.mass)}
        self.drawn.append((law, self._entry("recover", node) | mass | spread(law, token) | {"token": token}))
        return token

    def propose(self, law: Law, node: int) -> int:
        """Draw the token of a draft node."""
        token = self._coins.propose(law, node)
        self.drawn.append((law, self._entry("propose", node) | spread(law, token) | {"token": token}))
        return token

    def _entry(self, stream: str, node: int) -> dict[str, Any]:
        return {"stream": stream, "node": node, "u": self._log[-1].uniform}


class Recorder:
    """Writes the trace of one answer: to a temporary name beside ``path``, renamed once it is complete.

    Parameters
    ----------
    path : Path
    request : Request
        Must have its prompt, seed, sampling and ends; its coins are watched from here on.
    model : mapping
        ``name``, ``fingerprint`` (or None) and ``vocab_size`` of the target.
    numerics_id : str
    drafter : str
    token_bytes : callable of int to bytes
        Text of a token, for readers.
    special_ids : collection of int
        Tokens that add nothing to the answer's text.
    choice : int
        Which answer of the request.

    Raises
    ------
    InputError
        If the file cannot be written, or is a folder or a device: at once, before anything is decoded.
    """

    def __init__(
        self,
        path: Path,
        request: Request,
        *,
        model: Mapping[str, Any],
        numerics_id: str,
        drafter: str,
        token_bytes: Callable[[int], bytes],
        special_ids: Collection[int] = (),
        choice: int = 0,
    ) -> None:
        self._path = path
        self._token_bytes, self._special_ids = token_bytes, frozenset(special_ids)
        self._seed, self._choice = request.seed, choice
        self._seconds: list[list[float]] = []
        self._writing_s: list[float] = []
        self._used = set(request.tokens)
        self._written = len(request.tokens)
        try:
            self._place = _place_of(path)
            self._part = self._place.with_name(f".{self._place.name}.{os.getpid()}.part")
            self._file = self._part.open("w", encoding="utf-8", newline="\n")
        except OSError as error:
            raise InputError(f"the trace {path} cannot be written: {error.strerror}; choose another file") from None
        request.make_coins, request.recorder = self.coins, self
        self._write(
            {
                "type": "header",
                "format": "headstart-trace",
                "version": VERSION,
                "model": dict(model),
                "numerics_id": numerics_id,
                "guarantee": request.guarantee,
                "drafter": drafter,
                "seed": str(request.seed),
                "choice": choice,
                "sampling": sampling_record(request.sampling),
                "max_tokens": request.ends.max_tokens,
                "eos_ids": sorted(request.ends.eos_ids),
                "prompt": list(request.tokens),
            }
        )

    def coins(self, round_: int) -> WatchedCoins:
        """Coins of a round, watched."""
        return WatchedCoins(self._seed, self._choice, round_)

    def round(
        self, request: Request, draft: Draft, laws: Mapping[int, Law], verdict: Verdict, committed: Sequence[int]
    ) -> None:
        """Write one round, after it was committed; ``laws`` holds the target's law after each node that was visited."""
        begin = time.perf_counter()
        self._written = -1  # until the round is written whole
        self._note_seconds(request)
        position = len(request.tokens) - len(committed)
        self._used.update(draft.tokens, [verdict.token])
        coins = [entry for law, entry in self._drawn(request) if _decides(law, entry, draft, laws)]
        raced = {entry["position"] for entry in coins if entry["stream"] == "target"}

        places = {node: position + draft.depth(node) for node in laws}
        keys = {n: position_key(self._seed, self._choice, at) for n, at in places.items() if at in raced}
        self._write(
            {
                "type": "round",
                "round": request.round - 1,
                "position": position,
                "verifier": request.rule(draft).name,
                "draft": {"tokens": draft.tokens, "parents": draft.parents, "origins": draft.origins},
                "laws": {
                    str(node): law_record(law, _touched(draft, node, verdict), keys.get(node))
                    for node, law in sorted(laws.items())
                },
                "draft_laws": {
                    str(node): law_record(law, _touched(draft, draft.parents[node], verdict))
                    for node, law in enumerate(draft.laws)
                    if law is not None
                },
                "coins": coins,
                "verdict": {"path": verdict.path, "token": verdict.token, "kind": verdict.kind},
                "committed": list(committed),
            }
        )
        self._writing_s.append(time.perf_counter() - begin)
        self._written = len(request.tokens)

    def finish(self, request: Request) -> None:
        """Write the ending and give the file its name; one that does not hold all of the answer is removed."""
        if self._file.closed:
            return
        if self._written != len(request.tokens):  # a round was broken off in its middle
            self.abandon()
            return
        try:
            self._end(request)
        except BaseException:
            self.abandon()
            raise

    def abandon(self) -> None:
        """Remove what was written."""
        with contextlib.suppress(OSError):  # a full disk shows again when the file is closed
            self._file.close()
        with contextlib.suppress(OSError):
            self._part.unlink()

    def _end(self, request: Request) -> None:
        self._note_seconds(request)
        figures = request.statistics
        self._write(
            {
                "type": "result",
                "finish_reason": request.ending,
                "stop_reason": request.stop_reason,
                "rounds": figures.rounds,
                "tokens": figures.tokens,
                "tokens_drafted": figures.tokens_drafted,
                "tokens_accepted": figures.tokens_accepted,
                "text": request.text.text,
                "special_ids": sorted(self._used & self._special_ids),
                "vocabulary": {str(token): _text(self._token_bytes(token)) for token in sorted(self._used)},
            }
        )
        spent = [
            {phase: after[i] - before[i] for i, phase in enumerate(PHASES)} for before, after in pairwise(self._seconds)
        ]
        self._write({"type": "timings", "prefill_s": figures.prefill_s, "rounds": spent})
        try:
            self._file.close()
            self._part.replace(self._place)
        except OSError as error:
            raise TraceError(f"the trace {self._path} cannot be written: {error.strerror}") from None

    def _drawn(self, request: Request) -> list[tuple[Law | None, dict[str, Any]]]:
        return request.coins.drawn if isinstance(request.coins, WatchedCoins) else []

    def _note_seconds(self, request: Request) -> None:
        """Phases' seconds so far: those of a round are known when the next one is written."""
        self._seconds.append([getattr(request.statistics, phase) for phase in PHASES])

    def _write(self, record: dict[str, Any]) -> None:
        try:
            line = json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain)
            self._file.write(line + "\n")
            self._file.flush()
        except OSError as error:
            self.abandon()
            raise TraceError(f"the trace {self._path} cannot be written: {error.strerror}") from None


def _place_of(path: Path) -> Path:
    """The file that ``path`` names or links to; a folder or a device, which a file must not take the place of, is refused."""
    if path.exists() and not path.is_file():
        raise InputError(f"the trace {path} cannot be written: it is a folder or a device; choose another file")
    return Path(os.path.realpath(path))


def _decides(law: Law | None, entry: Mapping[str, Any], draft: Draft, laws: Mapping[int, Law]) -> bool:
    """Whether a coin belongs to a decision: not the drafter's own look at the noise, nor draws of nodes that were cut off."""
    if entry["stream"] == "target":
        return any(law is seen for seen in laws.values())
    if entry["stream"] == "propose":
        return 0 <= entry["node"] < len(draft) and draft.laws[entry["node"]] is law
    return True


def _touched(draft: Draft, node: int, verdict: Verdict) -> list[int]:
    """Tokens that are decided about after a node: those guessed there, and the verdict's where its path ends there."""
    end = verdict.path[-1] if verdict.path else ROOT
    return [*(draft.tokens[child] for child in draft.children(node)), *([verdict.token] if node == end else [])]


def _plain(number: Any) -> Any:
    """A number of NumPy's as one of Python's; what has no ``item`` is our own mistake."""
    return number.item()


def _text(raw: bytes) -> str | list[int]:
    """Text of a token's bytes, or the bytes themselves where they are only part of a character."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return list(raw)
