"""Faults of what surrounds the rule: the cache, the rows, the ends of a text.

Each wraps a model or a request from outside, so that the engine itself knows nothing of them. Under the guarantee
``text`` they show as a text that plain decoding does not write.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headstart.protocols import Batch, Kind, Model, Rows, Verdict
from headstart.tree import Draft
from headstart.verify.broken.bug import Bug

if TYPE_CHECKING:
    from headstart.request import Request

__all__ = [
    "FAULTS",
    "KeepsRejected",
    "StaleRows",
    "forget_the_text_of_the_round_before",
    "look_for_the_end_after_the_round",
    "process_the_committed_text_only",
]


class KeepsRejected:
    """A model that leaves the rejected rows of a chain in its cache, and says that it does not."""

    def __init__(self, model: Model) -> None:
        self.vocab_size, self.context = model.vocab_size, model.context
        self.row_invariant, self.numerics_id = model.row_invariant, model.numerics_id
        self.open, self.close = model.open, model.close
        self._model, self._batch = model, Batch.chain(0, [])
        self._extra: dict[int, int] = {}

    def fork(self, sequence: int, length: int | None = None) -> int:
        """Fork with all that was left in."""
        new = self._model.fork(sequence, length)
        self._extra[new] = self._extra.get(sequence, 0) if length is None else 0
        return new

    def length(self, sequence: int) -> int:
        """Number of tokens that were meant to be kept."""
        return self._model.length(sequence) - self._extra.get(sequence, 0)

    def forward(self, batch: Batch, *, taps: Sequence[int] = ()) -> Rows:
        """One pass."""
        self._batch = batch
        return self._model.forward(batch, taps=taps)

    def keep(self, sequence: int, rows: Sequence[int]) -> None:
        """Keep these rows, and those that were drafted below them."""
        all_rows = [*rows]
        while (below := self._below(sequence, all_rows[-1] if all_rows else -1)) is not None:
            all_rows.append(below)
        self._extra[sequence] = self._extra.get(sequence, 0) + len(all_rows) - len(rows)
        self._model.keep(sequence, all_rows)

    def _below(self, sequence: int, last: int) -> int | None:
        followers = np.flatnonzero((self._batch.sequences == sequence) & (self._batch.parents == last))
        return int(followers[0]) if len(followers) else None


class StaleRows:
    """A model that gives for drafted rows the logits that stood there one pass earlier."""

    def __init__(self, model: Model) -> None:
        self.vocab_size, self.context = model.vocab_size, model.context
        self.row_invariant, self.numerics_id = model.row_invariant, model.numerics_id
        self.open, self.close, self.fork = model.open, model.close, model.fork
        self.length, self.keep = model.length, model.keep
        self._model = model
        self._before: dict[int, NDArray[np.float32]] = {}

    def forward(self, batch: Batch, *, taps: Sequence[int] = ()) -> Rows:
        """One pass, part of whose rows are the last one's."""
        rows, before = self._model.forward(batch, taps=taps), self._before
        self._before = {int(row): rows.logits(int(row)).copy() for row in np.flatnonzero(batch.wanted)}
        drafted = {row: before[row] for row in np.flatnonzero(batch.parents >= 0).tolist() if row in before}
        return _Replaced(rows, drafted)


class _Replaced:
    """Rows, some of whose logits come from elsewhere."""

    def __init__(self, rows: Rows, logits: dict[int, NDArray[np.float32]]) -> None:
        self._rows, self._logits = rows, logits
        self.hidden = rows.hidden

    def logits(self, row: int) -> NDArray[np.float32]:
        """Logits, wherever they come from."""
        return self._logits[row] if row in self._logits else self._rows.logits(row)

    def argmax(self, row: int) -> int:
        """Lowest id among the largest logits."""
        return int(np.argmax(self.logits(row)))

    def top(self, row: int, count: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Ids and logits of the ``count`` largest."""
        logits = self.logits(row)
        ids = np.argsort(-logits, kind="stable")[:count]
        return ids, logits[ids]


def look_for_the_end_after_the_round(request: Request) -> None:
    """Commit whole rounds, and ask only then whether an end token was among them."""
    commit, ends = request.commit, request.ends

    def commit_all(draft: Draft, verdict: Verdict, laws: Any) -> list[int]:
        request.ends = replace(ends, eos_ids=frozenset())
        committed = commit(draft, verdict, laws)
        request.ends = ends
        ended = [token for token in committed if token in ends.eos_ids]
        if ended and request.finish_reason is None:
            request.finish_reason, request.stop_reason = "stop", ended[0]
            request.text.finish()
        return committed

    request.commit = commit_all  # type: ignore[method-assign]


def process_the_committed_text_only(request: Request) -> None:
    """Show penalties and the like the committed text, for every drafted row too."""

    def blind(processor: Callable[..., Any]) -> Callable[..., Any]:
        return lambda logits, history, prompt: processor(logits, history[: len(request.tokens)], prompt)

    request.sampling = replace(request.sampling, processors=tuple(map(blind, request.sampling.processors)))


def forget_the_text_of_the_round_before(request: Request) -> None:
    """Look for stop strings in each round's text by itself."""
    request.text = _TextOfARound(request)  # type: ignore[assignment]


class _TextOfARound:
    """A text stream that starts afresh with every round."""

    def __init__(self, request: Request) -> None:
        self._request, self._fresh, self._round = request, copy.deepcopy(request.text), -1
        self._done: list[Any] = []
        self._now = copy.deepcopy(self._fresh)
        self.given = ""

    @property
    def text(self) -> str:
        """All text given out so far."""
        return self.given + self._now.text

    def push(self, token: int, origin: Kind) -> str | None:
        """Take one token."""
        self._turn()
        return self._now.push(token, origin)

    def end(self, token: int, origin: Kind) -> None:
        """Take the token that ends the answer."""
        self._turn()
        self._now.end(token, origin)

    def finish(self) -> None:
        """Give out what is held back."""
        self._now.finish()

    def take(self) -> list[Any]:
        """Pieces that became certain since the last call."""
        done, self._done = self._done, []
        return [*done, *self._now.take()]

    def _turn(self) -> None:
        if self._request.round != self._round:
            self._now.finish()
            self._done += self._now.take()
            self.given += self._now.text
            self._now, self._round = copy.deepcopy(self._fresh), self._request.round


FAULTS: tuple[Bug, ...] = (
    Bug(
        name="rejected-rows-kept",
        kind="engine",
        wrong="The cache rows of rejected drafts stay in place; models that look at the last word alone cannot show it.",
        source="mlxcel 994, vllm 47926; transformers 48280",
        world="memory",
        model=KeepsRejected,
    ),
    Bug(
        name="stale-target-law",
        kind="engine",
        wrong="Drafted rows are judged by the logits that stood there one pass earlier.",
        source="buffers reused while still in flight",
        world="six-word",
        model=StaleRows,
    ),
    Bug(
        name="bonus-after-end",
        kind="engine",
        wrong="An end token accepted inside a draft is followed by more tokens.",
        source="transformers 47912, koboldcpp 1276, sglang 39826",
        world="ending",
        meddle=look_for_the_end_after_the_round,
    ),
    Bug(
        name="penalties-on-committed-text",
        kind="engine",
        wrong="Penalties of drafted rows count the committed text, not the drafted ancestors.",
        source="vllm 18902, TensorRT-LLM 17701",
        world="six-word",
        meddle=process_the_committed_text_only,
        options={"presence_penalty": 2.0},
    ),
    Bug(
        name="stop-missed-across-rounds",
        kind="engine",
        wrong="A stop string that begins in one round and ends in the next is not found.",
        source="sglang 23802, vllm 47616, ArcticInference 161",
        world="two-word",
        meddle=forget_the_text_of_the_round_before,
        options={"stop": "love love hate hate"},
    ),
)
