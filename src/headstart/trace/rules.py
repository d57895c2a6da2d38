"""The rules' own formulas, written out a second time for single numbers: what each decision must have looked like.

Written apart from ``headstart.verify`` on purpose, and for laws of which only a few weights are known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from headstart.errors import TraceError
from headstart.trace.numbers import position_key, times
from headstart.trace.read import StoredLaw
from headstart.tree import ROOT, Draft

__all__ = ["RULES", "Decision"]

Coin = Mapping[str, Any]


@dataclass
class Decision:
    """One round's decision: the draft, what is known of its laws, and its coins, each to be used once."""

    draft: Draft
    laws: Mapping[int, StoredLaw]
    draft_laws: Mapping[int, StoredLaw]
    record: Mapping[str, Any]
    seed: int
    choice: int
    _used: list[int] = field(default_factory=list)

    def law(self, node: int) -> StoredLaw:
        """Target law after a node."""
        if node not in self.laws:
            raise TraceError(f"the law after node {node} is missing")
        return self.laws[node]

    def p(self, node: int, token: int) -> float:
        """Target probability of a token after a node."""
        return self.law(node).prob(token)

    def q(self, node: int, token: int) -> float:
        """Probability of a token in the law that ``node`` was drawn from; certain nodes are sure of theirs."""
        if node in self.draft_laws:
            return self.draft_laws[node].prob(token)
        return 1.0 if token == self.draft.tokens[node] else 0.0

    def coin(self, stream: str, place: int) -> Coin:
        """The coin of a stream for a node (or, for the target, a position); it must have been drawn."""
        for at, coin in enumerate(self.record["coins"]):
            if coin["stream"] == stream and coin.get("node", coin.get("position")) == place and at not in self._used:
                self._used.append(at)
                return dict(coin)
        raise TraceError(f"the {stream} coin of {place} is missing")

    def check_all_used(self) -> None:
        """No coin may be left over."""
        for at, coin in enumerate(self.record["coins"]):
            if at not in self._used and coin["stream"] != "propose":
                raise TraceError(f"its {coin['stream']} coin decides nothing")

    def conclude(self, end: int, token: int) -> None:
        """The path ends at node ``end`` and ``token`` follows."""
        verdict, path = self.record["verdict"], list(self.draft.path(end))
        if verdict["path"] != path or verdict["token"] != token:
            raise TraceError(
                f"the verdict is path {verdict['path']} and token {verdict['token']}; it must be path {path} and token {token}"
            )

    def draw(self, node: int, weight: Callable[[int], float], mass: float | None = None) -> int:
        """Token that was drawn after ``node``; its weight must be ``weight(token)``, divided by ``mass`` if given."""
        coin = self.coin("recover", node)
        token, expected = coin["token"], weight(coin["token"])
        if "mass" in coin:
            if mass is not None and coin["mass"] != mass:
                raise TraceError(f"the residual's mass after node {node} is {coin['mass']!r}; it must be {mass!r}")
            expected = max(expected, 0.0) / coin["mass"]
        if coin["at"] != expected:
            raise TraceError(f"token {token} was drawn with weight {coin['at']!r}; it must be {expected!r}")
        return int(token)

    def draw_plain(self, node: int) -> int:
        """Token that was drawn after ``node`` from the target's own law."""
        coin = self.record["coins"][-1] if self.record["coins"] else {}
        if "mass" in coin:
            raise TraceError(
                f"the token after node {node} was drawn from a residual; it must come from the target's law"
            )
        return self.draw(node, lambda token: self.p(node, token))

    def test(self, node: int, numerator: float, denominator: float) -> bool:
        """Whether ``node`` won its coin, whose numbers must be these."""
        coin = self.coin("accept", node)
        if coin["numerator"] != numerator or coin["denominator"] != denominator:
            raise TraceError(
                f"node {node} was tested by {coin['numerator']!r} / {coin['denominator']!r}; it must be {numerator!r} / {denominator!r}"
            )
        return bool(coin["accepted"])


def _walk(decision: Decision, token_after: Callable[[int, int], int]) -> None:
    """Descend while a child has the target's token; ``token_after`` takes a node and its depth."""
    nodes, depth = [ROOT], 0
    while True:
        token = token_after(nodes[0], depth)
        below = [
            child for node in nodes for child in decision.draft.children(node) if decision.draft.tokens[child] == token
        ]
        if not below:
            return decision.conclude(nodes[0], token)
        nodes, depth = below, depth + 1


def _greedy(decision: Decision) -> None:
    def only(node: int, _depth: int) -> int:
        law = decision.law(node)
        if not law.whole or law.law.weights.tolist() != [1.0] or law.law.ids is None:
            raise TraceError(f"the law after node {node} leaves a choice")
        return int(law.law.ids[0])

    _walk(decision, only)


def _coupled(decision: Decision) -> None:
    _walk(decision, lambda node, depth: _raced(decision, node, decision.record["position"] + depth))


def _raced(decision: Decision, node: int, position: int) -> int:
    """Winner of the race at a position, proved from what is stored of the law."""
    stored, token = decision.law(node), decision.coin("target", position)["token"]
    key = position_key(decision.seed, decision.choice, position)
    law = stored.law
    ids = np.arange(len(law.weights)) if law.ids is None else law.ids
    finish = times(law.weights, ids, key)
    if int(ids[np.argmin(finish)]) != token:
        raise TraceError(
            f"token {token} did not win the race at position {position}; {int(ids[np.argmin(finish)])} did"
        )
    if stored.floor:
        others = np.setdiff1d(np.arange(law.size), ids)
        if (times(np.full(len(others), stored.floor), others, key) <= finish.min()).any():
            raise TraceError(f"the law after node {node} leaves out a token that could have won the race")
    return int(token)


def _sampled_walk(decision: Decision) -> None:
    _walk(decision, lambda node, _depth: decision.draw(node, lambda token: decision.p(node, token)))


def _token(decision: Decision) -> None:
    last = ROOT
    for node, token in enumerate(decision.draft.tokens):
        if not decision.test(node, decision.p(last, token), decision.q(node, token)):
            drawn = decision.draw(last, lambda y: decision.p(last, y) - decision.q(node, y) * _residual(decision))  # noqa: B023
            return decision.conclude(last, drawn)
        last = node
    return decision.conclude(last, decision.draw_plain(last))


def _residual(decision: Decision) -> float:
    """1 where the last coin drew from a residual; 0 where that was empty by rounding, and the target's law stood in."""
    return 1.0 if "mass" in decision.record["coins"][-1] else 0.0


def _block(decision: Decision) -> None:
    draft, worth = decision.draft, [1.0]
    for node, token in enumerate(draft.tokens):
        value = min(1.0, worth[-1] * decision.p(node - 1, token) / decision.q(node, token))
        if value <= 0:
            break
        worth.append(value)
    for end in range(len(worth) - 2, -1, -1):
        scale = worth[end + 1]
        if end == len(draft) - 1:
            if decision.test(end, scale, 1.0):
                return decision.conclude(end, decision.draw_plain(end))
        elif (mass := _stopped(decision, end, scale)) is not None:
            return decision.conclude(end, _draw_above(decision, end, scale, mass))
    if not len(draft):
        return decision.conclude(ROOT, decision.draw_plain(ROOT))
    return decision.conclude(ROOT, _draw_above(decision, ROOT, 1.0, None))


def _stopped(decision: Decision, node: int, scale: float) -> float | None:
    """Residual mass after a node if the chain stops there; it is read from the node's own coin, and used again below."""
    coins = [coin for coin in decision.record["coins"] if coin["stream"] == "accept" and coin["node"] == node]
    if not coins:  # mass 0 and worth 1: the laws are equal, and no coin is needed
        if scale != 1.0:
            raise TraceError(f"the accept coin of {node} is missing")
        return 0.0
    mass = float(coins[0]["numerator"])
    return mass if decision.test(node, mass, mass + 1 - scale) else None


def _draw_above(decision: Decision, node: int, scale: float, mass: float | None) -> int:
    """Token drawn from ``max(scale * p - q, 0)`` after a node, or from p where that is empty."""
    used = _residual(decision)
    child = node + 1
    if mass is not None and (mass > 0) != (used > 0):
        raise TraceError(f"the residual after node {node} has mass {mass!r}, and the draw does not go by it")
    return decision.draw(
        node,
        lambda y: (scale * decision.p(node, y) - decision.q(child, y)) if used else decision.p(node, y),
        mass or None,
    )


RULES: Mapping[str, Callable[[Decision], None]] = MappingProxyType(
    {"greedy": _greedy, "coupled": _coupled, "walk": _sampled_walk, "token": _token, "block": _block}
)
"""Rules whose formula is written out here."""
