"""The seams: one Protocol each for what may be swapped. ARCHITECTURE.md says what every side may rely on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from headstart.law import Law, Number
from headstart.tree import Draft

if TYPE_CHECKING:
    from headstart.request import Request

__all__ = ["Batch", "Coins", "Drafter", "Laws", "Model", "Needs", "Rows", "Verdict", "Verifier"]

Kind = Literal["accepted", "recovered", "bonus", "plain"]
"""Where a committed token comes from."""

Laws = Callable[[int], Law]
"""The target's law after a node, computed when asked for and then remembered; ``ROOT`` for the row that follows the committed text."""


class Coins(Protocol):
    """All randomness of one round of one choice of one request.

    Target noise is keyed by (seed, choice, position, token id) and may be looked at any number of times. Every other
    draw is keyed by (seed, choice, round, stream, node) and happens once: a second draw of a key raises.
    """

    def target(self, law: Law, position: int) -> int:
        """Sample ``law`` by the target's own noise at an absolute position: this *is* plain sampling."""

    def rank(self, law: Law, position: int, count: int) -> list[int]:
        """First ``count`` tokens of the race that ``target`` samples by (Gumbel-top-k), the winner first."""

    def accept(self, numerator: Number, denominator: Number, node: int) -> bool:
        """True with probability ``min(1, numerator / denominator)``: ``u * denominator < numerator``."""

    def recover(self, law: Law, node: int) -> int:
        """Draw the token that follows the last accepted node (recovered or bonus)."""

    def propose(self, law: Law, node: int) -> int:
        """Draw the token of draft node ``node``."""


@dataclass(frozen=True)
class Verdict:
    """Which drafts are kept, and the token that follows them.

    ``path`` lists accepted nodes from the root down; ``token`` follows the last of them; ``kind`` is ``"recovered"``
    where a draft was turned down, ``"bonus"`` after a fully accepted one, ``"plain"`` where nothing was drafted.
    """

    path: tuple[int, ...]
    token: int
    kind: Kind


class Verifier(Protocol):
    """Decides which drafts are kept: a pure function of the draft, the target's laws and the coins.

    ``guarantee`` is ``"text"``, ``"law"`` or ``"lossy"``; ``accepts(draft)`` is None, or the reason why this rule
    cannot verify that draft. ``position`` is the absolute position of the token that follows the committed text.
    """

    @property
    def name(self) -> str: ...

    @property
    def guarantee(self) -> str: ...

    def accepts(self, draft: Draft) -> str | None: ...

    def verify(self, draft: Draft, laws: Laws, coins: Coins, position: int) -> Verdict: ...


@dataclass(frozen=True)
class Batch:
    """Rows of one pass: many sequences, chains and trees together.

    Parameters
    ----------
    sequences : ndarray of shape (n,), dtype int32
        Handle of each row's sequence; rows of one sequence stand together.
    tokens : ndarray of shape (n,), dtype int32
    parents : ndarray of shape (n,), dtype int32
        Index in this batch of the row that each row follows, earlier and of the same sequence; -1: the last
        kept token of its sequence. A row is placed by its depth below that token; it attends to the kept tokens, its ancestors, itself.
    wanted : ndarray of shape (n,), dtype bool
        Rows whose logits are wanted.
    """

    sequences: NDArray[np.int32]
    tokens: NDArray[np.int32]
    parents: NDArray[np.int32]
    wanted: NDArray[np.bool_]

    @classmethod
    def chain(cls, sequence: int, tokens: Sequence[int], *, wanted: Literal["all", "last", "none"] = "last") -> Batch:
        """Rows of one sequence, one after the other."""
        n = len(tokens)
        mask = np.full(n, wanted == "all")
        if wanted == "last" and n:
            mask[-1] = True
        return cls(
            np.full(n, sequence, np.int32), np.array(tokens, np.int32), np.arange(-1, n - 1, dtype=np.int32), mask
        )


class Rows(Protocol):
    """What a pass computed. Valid until the model's next ``forward``; row numbers are those of the batch."""

    def argmax(self, row: int) -> int:
        """Lowest id among the largest logits. Raises NumericsError, naming the row, if a logit is NaN."""

    def top(self, row: int, count: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Ids and logits of the ``count`` largest, descending, ties by lowest id."""

    def logits(self, row: int) -> NDArray[np.float32]:
        """The whole row, shape (vocab,), read-only and valid until the next pass."""

    def hidden(self, tap: int, row: int) -> NDArray[np.float32]:
        """Hidden state entering layer ``tap`` (``layer_count`` for the last layer's output, before the final norm)."""


class Model(Protocol):
    """A causal language model with a cache that grows and shrinks by rows."""

    vocab_size: int
    context: int
    row_invariant: bool
    numerics_id: str

    def open(self) -> int:
        """Start an empty sequence; returns its handle."""

    def fork(self, sequence: int, length: int | None = None) -> int:
        """New sequence with the first ``length`` (default: all) kept tokens of another; memory is shared."""

    def close(self, sequence: int) -> None:
        """Forget a sequence."""

    def length(self, sequence: int) -> int:
        """Number of kept tokens."""

    def forward(self, batch: Batch, *, taps: Sequence[int] = ()) -> Rows:
        """One pass. Its rows are pending until ``keep``; older pending rows of the same sequences are dropped first."""

    def keep(self, sequence: int, rows: Sequence[int]) -> None:
        """Keep these rows of its last pass (a path from the kept text downwards, in order) and drop the others."""


@dataclass(frozen=True)
class Needs:
    """What a drafter wants from the target's passes: layers to tap, how many top ids of every row, or nothing."""

    taps: tuple[int, ...] = ()
    top: int = 0


class Drafter(Protocol):
    """Guesses. It can never make the output wrong, only slow.

    ``request.tokens`` holds prompt and committed output; ``request.id`` tells requests apart. A drafter that keeps something of
    requests that are over may have a method ``free()``: the engine calls it when it is closed.
    """

    name: str
    needs: Needs

    def start(self, request: Request) -> None:
        """A request begins; its prompt is in ``request.tokens``."""

    def propose(self, request: Request, budget: int) -> Draft:
        """Guess what follows, in at most ``budget`` nodes."""

    def observe(self, request: Request, tokens: Sequence[int], rows: Any) -> None:
        """These tokens of the prompt were read, or these new ones committed, in the pass that ``rows`` holds."""

    def fork(self, request: Request, copy: Request) -> None:
        """``copy`` continues from where ``request`` stands."""

    def close(self, request: Request) -> None:
        """The request is over, or drafting for it is."""
