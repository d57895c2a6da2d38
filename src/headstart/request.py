"""One choice of one request: its tokens, its ends, its figures, and how a verdict is committed token by token.

Knows nothing of models, caches or how drafts are made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from headstart.errors import HeadstartError
from headstart.grammar import Matcher
from headstart.law import Law
from headstart.logprobs import Logprob, logprob
from headstart.protocols import Coins, Drafter, Kind, Laws, Rows, Verdict, Verifier
from headstart.result import Statistics
from headstart.sampling import Sampling
from headstart.text import TextStream
from headstart.tree import ROOT, Draft

if TYPE_CHECKING:
    from headstart.trace import Recorder

T = TypeVar("T")

__all__ = ["Ends", "Request", "RowLaws", "row_law"]


@dataclass(frozen=True)
class Ends:
    """When an answer is over.

    Parameters
    ----------
    max_tokens : int
        At most this many tokens are made; the caller has already cut it to what the context holds.
    eos_ids : frozenset of int
        Tokens that end the answer, the user's own among them; the one that did is in the ids but not in the text.
    limit_reason : str
        Stop reason when ``max_tokens`` is reached: ``"max_tokens"`` or ``"context"``.
    """

    max_tokens: int
    eos_ids: frozenset[int] = frozenset()
    limit_reason: str = "max_tokens"


@dataclass(eq=False)
class Request:
    """State of one choice while it is decoded. ``tokens`` holds prompt and committed output."""

    id: int
    tokens: list[int]
    prompt_length: int
    sampling: Sampling
    ends: Ends
    text: TextStream
    rule: Callable[[Draft], Verifier]
    guarantee: str
    make_coins: Callable[[int], Coins]
    seed: int = 0
    drafter: Drafter | None = None
    draft_length: int | None = None
    sequence: int = -1
    round: int = 0
    coins: Coins = field(init=False)
    guessed: bool = False  # whether this round's draft is the drafter's own: a grammar's teaches nothing about it
    rule_name: str | None = None
    origins: list[Kind] = field(default_factory=list)
    statistics: Statistics = field(default_factory=Statistics)
    finish_reason: str | None = None
    stop_reason: str | int | None = None
    error: HeadstartError | None = None
    cancelled: bool = False
    recorder: Recorder | None = None
    on_prefill: Callable[[int, int], None] | None = None
    matcher: Matcher | None = None
    logprobs_wanted: int | None = None
    prompt_logprobs_wanted: int | None = None
    logprobs: list[Logprob] = field(default_factory=list)
    prompt_logprobs: list[Logprob] = field(default_factory=list)

    def begin_round(self) -> None:
        """Give the round its own coins."""
        self.coins = self.make_coins(self.round)
        self.guessed = False

    @property
    def output(self) -> list[int]:
        """Tokens made so far."""
        return self.tokens[self.prompt_length :]

    @property
    def remaining(self) -> int:
        """How many more tokens may be made."""
        return self.ends.max_tokens - (len(self.tokens) - self.prompt_length)

    @property
    def over(self) -> bool:
        """Whether nothing more will be made."""
        return self.finish_reason is not None or self.error is not None or self.cancelled

    @property
    def ending(self) -> str:
        """How the answer ended, or what it is if it goes no further."""
        return self.finish_reason or ("cancelled" if self.error is None else "error")

    def with_drafter(self, work: Callable[[Drafter], T], otherwise: T) -> T:
        """Do something with the drafter, if there is one; what it does wrong ends drafting, and nothing else."""
        if (drafter := self.drafter) is None:
            return otherwise
        held, tokens = self.tokens, self.tokens.copy()
        try:
            done = work(drafter)
            if self.tokens == tokens:
                return done
            reason = f"the drafter {drafter.name} changed the text, which is not its own"
        except HeadstartError as error:
            reason = str(error)
        except Exception as error:
            reason = f"the drafter {drafter.name} failed: {type(error).__name__}: {error}"
        held[:] = tokens
        self.tokens = held
        self.stop_drafting(reason)
        return otherwise

    def stop_drafting(self, reason: str | None = None) -> None:
        """Let the drafter go and decode plainly from here on; the result says why, by the first reason given."""
        self.statistics.note = self.statistics.note or reason
        self.with_drafter(self._let_go, None)

    def _let_go(self, drafter: Drafter) -> None:
        self.drafter = None
        drafter.close(self)

    def fail(self, error: HeadstartError) -> None:
        """End the answer with an error; what was held back of its text is given out."""
        self.error = error
        self.text.finish()

    def verify(self, draft: Draft, laws: Laws) -> Verdict:
        """Let the rule that suits the draft decide; the position is that of the token after the committed text."""
        verifier = self.rule(draft)
        if len(draft) or self.rule_name is None:
            self.rule_name = verifier.name
        return verifier.verify(draft, laws, self.coins, len(self.tokens))

    def commit(self, draft: Draft, verdict: Verdict, laws: RowLaws) -> list[int]:
        """Append what the verdict keeps, one token at a time, and stop where plain decoding would.

        Returns
        -------
        list of int
            The tokens committed: at least one, and fewer than the verdict holds where the answer ended inside it.

        Raises
        ------
        HeadstartError
            Where plain decoding would: nothing may follow, or the model gave no numbers.
        """
        kinds: list[tuple[int, Kind]] = [(draft.tokens[node], "accepted") for node in verdict.path]
        kinds.append((verdict.token, verdict.kind))
        committed: list[int] = []
        for before, (token, kind) in zip((ROOT, *verdict.path), kinds, strict=True):
            try:
                laws.require(before)
                if self.logprobs_wanted is not None:
                    self.logprobs.append(laws.logprob(before, token, self.logprobs_wanted))
            except HeadstartError:
                if not committed:
                    raise
                break  # the next round meets it again, first thing
            self.tokens.append(token)
            self.origins.append(kind)
            committed.append(token)
            if self._ended_by(token, kind):
                break
        self.statistics.count_round(draft, verdict.path[: len(committed)], len(committed))
        self.round += 1
        return committed

    def _ended_by(self, token: int, kind: Kind) -> bool:
        """Feed one token to the text and see whether the answer is over."""
        if token in self.ends.eos_ids:
            self.text.end(token, kind)
            self.finish_reason, self.stop_reason = "stop", token
        elif (stop := self.text.push(token, kind)) is not None:
            self.finish_reason, self.stop_reason = "stop", stop
        elif self.remaining <= 0:
            self.finish_reason, self.stop_reason = "length", self.ends.limit_reason
        if self.finish_reason is not None:
            self.text.finish()
        return self.finish_reason is not None


def row_law(
    sampling: Sampling, rows: Rows, row: int, history: Sequence[int], prompt_length: int, vocab_size: int
) -> Law:
    """The law that a request samples a row by; ids of ``vocab_size`` and above are left out."""
    if sampling.greedy and not sampling.processors and (token := rows.argmax(row)) < vocab_size:
        return Law.certain(token, vocab_size)
    logits = rows.logits(row)
    return sampling.law(logits if len(logits) == vocab_size else logits[:vocab_size], history, prompt_length)


class RowLaws:
    """The target's law after each node, computed when a rule asks for it and kept.

    A node that has no law (nothing may follow it, say) may be looked at and then turned down, so it is no error yet: some law
    stands in for it, and ``require`` raises once a token is about to follow. Whatever stands there, the text up to it has its law.
    """

    def __init__(self, request: Request, draft: Draft, rows: Rows, first_row: int, vocab_size: int) -> None:
        self._request, self._draft, self._rows = request, draft, rows
        self._first, self._vocab_size = first_row, vocab_size
        self._errors: dict[int, HeadstartError] = {}
        self.seen: dict[int, Law] = {}

    def row(self, node: int) -> int:
        """Row of the pass that follows ``node``: the first one follows the committed text."""
        return self._first + 1 + node

    def require(self, node: int) -> None:
        """Raise what kept a node from having a law."""
        if node in self._errors:
            raise self._errors[node]

    def logprob(self, node: int, token: int, count: int) -> Logprob:
        """Log-probability of a token after a node, and of the likeliest there."""
        return logprob(self._rows, self.row(node), token, count)

    def __call__(self, node: int) -> Law:
        if node not in self.seen:
            history = self._request.tokens
            if node != ROOT:
                history = [*history, *(self._draft.tokens[n] for n in self._draft.path(node))]
            sampling, prompt_length = self._request.sampling, self._request.prompt_length
            try:
                law = row_law(sampling, self._rows, self.row(node), history, prompt_length, self._vocab_size)
            except HeadstartError as error:
                self._errors[node], law = error, Law.certain(0, self._vocab_size)
            self.seen[node] = law
        return self.seen[node]
