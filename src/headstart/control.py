"""How much to draft: as many nodes as raise the expected tokens per measured second, or none.

Decides from what is known before a token is drawn (ALGORITHMS rule 10); drafts without randomness of their own, and
those coupled to the target's noise, may also be cut afterwards. Knows nothing of how drafts are made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from headstart.protocols import Verdict
from headstart.request import Request
from headstart.tree import ROOT, Draft

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
        """Seconds of a round over ``rows`` rows; never falls as rows grow."""
        if not self.measured:
            return 1 + self.guess * (rows - 1)
        wider = [seconds for n, seconds in self.measured.items() if n >= rows]
        below = max((n for n in self.measured if n <= rows), default=None)
        if below is None:
            narrow = min(self.measured)
            return self.measured[narrow] * (1 + self.guess * (rows - 1)) / (1 + self.guess * (narrow - 1))
        grown = self.measured[below] * (1 + self.guess * (rows - 1)) / (1 + self.guess * (below - 1))
        return min([grown, *wider])


@dataclass
class _Record:
    """What has been seen of one drafter: acceptance by depth given the depth before, and seconds a drafted node."""

    tried: list[float] = field(default_factory=list)
    kept: list[float] = field(default_factory=list)
    node_s: float = 0.0
    idle: int = 0
    estimates: bool = False

    def chance(self, depth: int) -> float:
        """Estimated acceptance at a depth (from 0), .7 before anything is known."""
        tried = self.tried[depth] if depth < len(self.tried) else 0.0
        kept = self.kept[depth] if depth < len(self.kept) else 0.0
        prior = self.chance(depth - 1) if depth else 0.7
        return (kept + 4 * prior) / (tried + 4)

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
        chances = [record.chance(depth) for depth in range(self._max_length)]
        length = self._best_length(chances, record.node_s)
        if length == 0:
            record.idle += 1
            return 1 if record.idle % PROBE_EVERY == 0 else 0
        return length

    def trim(self, request: Request, draft: Draft) -> Draft:
        """Keep the nodes of a draft that pay, where its drafter has said how likely each is."""
        if not draft.chances or request.draft_length is not None or "sampled" in draft.origins:
            return draft
        self._record(request).estimates = True
        survival = {ROOT: 1.0}
        for node, (parent, chance) in enumerate(zip(draft.parents, draft.chances, strict=True)):
            survival[node] = survival[parent] * chance
        order = sorted(range(len(draft)), key=lambda node: (-survival[node], node))
        size = self._best_size([survival[node] for node in order])
        return draft.only(sorted(order[:size]))

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
        tokens, best, size = 1.0, 1 / self.costs(1), 0
        for count, chance in enumerate(survival, start=1):
            tokens += chance
            rate = tokens / self.costs(count + 1)
            if rate > best:
                best, size = rate, count
        return size

    def _best_length(self, chances: Sequence[float], node_s: float) -> int:
        """Chain length of most expected tokens per second, drafting time counted."""
        tokens, alive, best, length = 1.0, 1.0, 1 / self.costs(1), 0
        for count, chance in enumerate(chances, start=1):
            alive *= chance
            tokens += alive
            rate = tokens / (self.costs(count + 1) + count * node_s)
            if rate > best:
                best, length = rate, count
        return length
