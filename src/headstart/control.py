"""How much to draft: as many nodes as raise the expected tokens per measured second, or none.

Decides from what is known before a token is drawn (ALGORITHMS rule 10); drafts without randomness of their own, and
those coupled to the target's noise, may also be cut afterwards. Knows nothing of how drafts are made.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from headstart.protocols import Verdict
from headstart.request import Request
from headstart.tree import Draft

__all__ = ["Controller", "PassCosts"]

MAX_LENGTH = 15
"""Nodes drafted at most when the length is left to the controller."""

LAW_LENGTH = 4
"""Draft length under the guarantee ``law`` unless one is given: a seed then gives the same text on every machine."""

PROBE_EVERY = 32
"""Rounds between two probes of a drafter that does not pay at the moment."""


@dataclass
class PassCosts:
    """Seconds of a round over n rows, measured as rounds go by and filled in where no round was that wide.

    Before the first measurement the unit is one row's pass, and the curve a guess: ``1 + 0.06 (n - 1)``.
    """

    measured: dict[int, float] = field(default_factory=dict)
    memory: float = 0.1
    guess: float = 0.06

    def observe(self, rows: int, seconds: float) -> None:
        """Take one round's time; the recent past counts more."""
        old = self.measured.get(rows)
        seconds = seconds if old is None else min(seconds, 3 * old)
        self.measured[rows] = seconds if old is None else old + self.memory * (seconds - old)

    def __call__(self, rows: int) -> float:
        """Seconds of a round over ``rows`` rows."""
        return self.curve(rows)[rows - 1]

    def curve(self, most: int) -> list[float]:
        """Seconds of a round over 1, 2, ... ``most`` rows; never falls as rows grow.

        Where no round was that wide: what the next narrower one took, grown as guessed, but not more than any wider one.
        """
        measured, guess = self.measured or {1: 1.0}, self.guess
        seconds, below = [], min(measured)
        for rows in range(1, most + 1):
            if rows in measured:
                below = rows
                seconds.append(measured[rows])
            else:
                seconds.append(measured[below] * ((1 + guess * (rows - 1)) / (1 + guess * (below - 1))))
        least = min([found for rows, found in measured.items() if rows > most], default=math.inf)
        for at in range(most - 1, -1, -1):
            if seconds[at] > least:
                seconds[at] = least
            elif at + 1 in measured:
                least = seconds[at]
        return seconds


@dataclass
class _Record:
    """What has been seen of one drafter: acceptance by depth given the depth before, and seconds a drafted node."""

    tried: list[float] = field(default_factory=list)
    kept: list[float] = field(default_factory=list)
    node_s: float = 0.0
    idle: int = 0
    estimates: bool = False

    def chances(self, count: int) -> list[float]:
        """Estimated acceptance at depths 0, 1, ...: .7 before anything is known, and that of the depth before."""
        chance, found = 0.7, []
        for kept, tried in zip(self.kept[:count], self.tried[:count], strict=True):
            chance = (kept + 4 * chance) / (tried + 4)
            found.append(chance)
        return found + [chance] * (count - len(found))

    def count(self, depth: int, accepted: bool) -> None:
        while len(self.tried) <= depth:
            self.tried.append(0.0)
            self.kept.append(0.0)
        self.tried[depth] = 0.98 * self.tried[depth] + 1
        self.kept[depth] = 0.98 * self.kept[depth] + accepted


class Controller:
    """Chooses draft lengths for all requests of an engine.

    Parameters
    ----------
    max_length : int
        Nodes of a draft at most when a request leaves its length open.
    """

    def __init__(self, *, max_length: int = MAX_LENGTH) -> None:
        self.costs = PassCosts()
        self._max_length = max_length
        self._records: dict[str, _Record] = {}

    def budget(self, request: Request) -> int:
        """Nodes that the request's drafter may propose this round."""
        if request.draft_length is not None:
            return request.draft_length
        if request.guarantee == "law":
            return LAW_LENGTH
        record = self._record(request)
        if record.estimates:
            return self._max_length
        length = self._best_length(record.chances(self._max_length), record.node_s)
        if length == 0:
            record.idle += 1
            return 1 if record.idle % PROBE_EVERY == 0 else 0
        return length

    def trim(self, request: Request, draft: Draft) -> Draft:
        """Keep the nodes of a draft that pay, where its drafter has said how likely each is."""
        if not draft.chances or request.draft_length is not None or "sampled" in draft.origins:
            return draft
        self._record(request).estimates = True
        survival = [1.0]  # of the root, then of the nodes
        for parent, chance in zip(draft.parents, draft.chances, strict=True):
            survival.append(survival[parent + 1] * chance)
        del survival[0]
        if draft.is_chain:
            size = self._best_size(survival)
            return draft if size == len(draft) else draft.head(size)
        order = sorted(range(len(draft)), key=lambda node: (-survival[node], node))
        size = self._best_size([survival[node] for node in order])
        return draft if size == len(draft) else draft.only(sorted(order[:size]))

    def observe_round(self, rows: int, seconds: float) -> None:
        """Take the time of one round of the whole batch."""
        self.costs.observe(rows, seconds)

    def observe_draft(self, request: Request, draft: Draft, seconds: float) -> None:
        """Take the time that one draft took."""
        if len(draft):
            record = self._record(request)
            each = seconds / len(draft)
            record.node_s = (
                each if not record.node_s else record.node_s + 0.1 * (min(each, 3 * record.node_s) - record.node_s)
            )

    def observe_verdict(self, request: Request, draft: Draft, verdict: Verdict) -> None:
        """Count which depths of a chain were tried and kept."""
        record = self._record(request)
        for depth in range(min(len(verdict.path) + 1, len(draft))):
            record.count(depth, depth < len(verdict.path))

    def _record(self, request: Request) -> _Record:
        name = request.drafter.name if request.drafter is not None else "none"
        return self._records.setdefault(name, _Record())

    def _best_size(self, survival: Sequence[float]) -> int:
        """Nodes to keep of those in order: add one while expected tokens per second rise (ALGORITHMS §19)."""
        costs = self.costs.curve(len(survival) + 1)
        tokens, best, size = 1.0, 1 / costs[0], 0
        for count, chance in enumerate(survival, start=1):
            tokens += chance
            rate = tokens / costs[count]
            if rate > best:
                best, size = rate, count
        return size

    def _best_length(self, chances: Sequence[float], node_s: float) -> int:
        """Chain length of most expected tokens per second, drafting time counted."""
        costs = self.costs.curve(len(chances) + 1)
        tokens, alive, best, length = 1.0, 1.0, 1 / costs[0], 0
        for count, chance in enumerate(chances, start=1):
            alive *= chance
            tokens += alive
            rate = tokens / (costs[count] + count * node_s)
            if rate > best:
                best, length = rate, count
        return length
