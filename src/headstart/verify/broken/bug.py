"""What a bug of the zoo is: which part of a round it replaces, and what shows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from headstart.draft.draw import sampled_chain
from headstart.protocols import Coins, Drafter, Model, Needs, Verifier
from headstart.tree import Draft
from headstart.verify.proof import Draw
from headstart.verify.token import TokenRejection

if TYPE_CHECKING:
    from headstart.request import Request

__all__ = [
    "Bug",
    "Kind",
    "Recoin",
    "Redraft",
    "Redrafter",
    "chain",
    "honest",
]

Kind = Literal["law", "noise", "engine"]
"""A wrong rule; a coin that is looked at twice; a fault of what surrounds the rule."""

Redraft = Callable[[Draft], Draft]
"""What a faulty drafter makes of an honest draft."""

Recoin = Callable[[Coins, int], Coins]
"""The coins that a round gets to see, from its own and the absolute position that it begins at."""


def chain(length: int) -> Draw:
    """Return the drawing of a sampled chain."""
    return lambda law_of, coins: sampled_chain(law_of, length, coins)


def honest() -> Recoin:
    """Leave the coins as they are."""
    return lambda coins, _position: coins


@dataclass(frozen=True, kw_only=True)
class Bug:
    """A known way of getting speculation wrong, as working parts.

    Parameters
    ----------
    name : str
    kind : {"law", "noise", "engine"}
    wrong : str
        What is wrong, in one sentence.
    source : str
        Where it was found or described.
    world : str
        The toy world (``headstart.toy.WORLDS``) that exposes it best.
    verifier : callable giving a Verifier
        The rule, broken or not; a new one for each text, since some remember.
    redraft : callable giving a Redraft, or None
        The fault of the drafter, where it has one; a new one for each text.
    coins : callable giving a Recoin
        What becomes of a round's coins; a new one for each text.
    draw : Draw
        How the drafts that expose it are drawn.
    rounds, window : int
        Rounds to play, and tokens to compare, before the fault can show.
    model : callable of a Model giving a Model, or None
        The faulty model around a sound one, where the fault is there.
    meddle : callable of a Request, or None
        What else is changed in a request before it runs.
    options : mapping
        Options of the engine under which the fault can show.
    """

    name: str
    kind: Kind
    wrong: str
    source: str
    world: str
    verifier: Callable[[], Verifier] = TokenRejection
    redraft: Callable[[], Redraft] | None = None
    coins: Callable[[], Recoin] = honest
    draw: Draw = field(default_factory=lambda: chain(2))
    rounds: int = 1
    window: int = 3
    model: Callable[[Model], Model] | None = None
    meddle: Callable[[Request], None] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def spoil(self, request: Request) -> None:
        """Put the broken parts into a request that has not begun; the model's are put in with ``model``."""
        if self.kind != "engine":
            self._spoil_rule(request)
        if self.meddle is not None:
            self.meddle(request)

    def _spoil_rule(self, request: Request) -> None:
        sound, verifier = request.rule, self.verifier()
        make_coins, recoin = request.make_coins, self.coins()
        request.rule = lambda draft: verifier if len(draft) else sound(draft)
        request.make_coins = lambda number: recoin(make_coins(number), len(request.tokens))
        if self.redraft is not None and request.drafter is not None:
            request.drafter = Redrafter(request.drafter, self.redraft())


class Redrafter:
    """A drafter whose drafts are tampered with."""

    needs = Needs()

    def __init__(self, drafter: Drafter, redraft: Redraft) -> None:
        self.name, self.needs = drafter.name, drafter.needs
        self._redraft = redraft
        self.start, self.observe = drafter.start, drafter.observe
        self.fork, self.close = drafter.fork, drafter.close
        self._propose = drafter.propose

    def propose(self, request: Request, budget: int) -> Draft:
        """Draft honestly, then tamper."""
        return self._redraft(self._propose(request, budget))
