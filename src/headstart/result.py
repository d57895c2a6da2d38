"""What a request gives back: pieces while it runs, a result with figures when it is over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from headstart.logprobs import Logprob
from headstart.protocols import Kind
from headstart.tree import Draft

__all__ = ["Piece", "Result", "Statistics"]


@dataclass(frozen=True)
class Piece:
    """Some text of the answer, as soon as it is certain.

    Parameters
    ----------
    text : str
        Joined in order, the pieces are exactly the result's text. Empty where a token only finished the answer or is held back.
    tokens : tuple of int
        The token ids whose text ends in this piece.
    origin : {"accepted", "recovered", "bonus", "plain"}
        Where its last token comes from.
    """

    text: str
    tokens: tuple[int, ...]
    origin: Kind


@dataclass
class Statistics:
    """Figures of one choice. Nothing drafted means a rate of None, and ``note`` says why.

    Counts are of target passes in rounds (``rounds``), all target passes with prefill (``passes``), tokens made, and drafted
    tokens that were put before the target; ``*_by_place`` counts them by their depth in the draft. Seconds are wall-clock by phase.
    """

    prompt_tokens: int = 0
    cached_tokens: int = 0
    tokens: int = 0
    rounds: int = 0
    passes: int = 0
    tokens_drafted: int = 0
    tokens_accepted: int = 0
    drafted_by_place: list[int] = field(default_factory=list)
    accepted_by_place: list[int] = field(default_factory=list)
    prefill_s: float = 0.0
    draft_s: float = 0.0
    pass_s: float = 0.0
    verify_s: float = 0.0
    total_s: float = 0.0
    note: str | None = None

    @property
    def acceptance_rate(self) -> float | None:
        """Accepted of the drafted tokens, 0..1; None where nothing was drafted."""
        return self.tokens_accepted / self.tokens_drafted if self.tokens_drafted else None

    @property
    def tokens_per_pass(self) -> float | None:
        """Tokens made per round; None before the first."""
        return self.tokens / self.rounds if self.rounds else None

    @property
    def tokens_per_s(self) -> float | None:
        """Tokens made per second after prefill; None before the first."""
        seconds = self.draft_s + self.pass_s + self.verify_s
        return self.tokens / seconds if seconds > 0 else None

    def count_round(self, draft: Draft, accepted: Sequence[int], committed: int) -> None:
        """Count one round: the draft as put before the target, the accepted nodes that were committed, all tokens committed."""
        self.rounds += 1
        self.passes += 1
        self.tokens += committed
        self.tokens_drafted += len(draft)
        self.tokens_accepted += len(accepted)
        for counts, nodes in ((self.drafted_by_place, range(len(draft))), (self.accepted_by_place, accepted)):
            for node in nodes:
                place = draft.depth(node)
                counts.extend([0] * (place - len(counts)))
                counts[place - 1] += 1

    def add_seconds(self, draft: float, target_pass: float, verify: float) -> None:
        """Add one round's time by phase; in a batch every request counts the whole round."""
        self.draft_s += draft
        self.pass_s += target_pass
        self.verify_s += verify

    def as_dict(self) -> dict[str, Any]:
        """Every figure, rates included, ready for JSON."""
        rates = {name: getattr(self, name) for name in ("acceptance_rate", "tokens_per_pass", "tokens_per_s")}
        return {**vars(self), **rates}


@dataclass(frozen=True)
class Result:
    """An answer.

    Parameters
    ----------
    text : str
    tokens : tuple of int
        Token ids made, the one that ended the answer included.
    origins : tuple of str
        For each token ``"accepted"``, ``"recovered"``, ``"bonus"`` or ``"plain"``.
    finish_reason : {"stop", "length", "cancelled", "error"}
    stop_reason : str, int or None
        The stop string, the id of the token that ended the answer, ``"max_tokens"`` or ``"context"``.
    seed : int
        The seed used, drawn if none was given: with it the same request gives the same answer.
    guarantee : {"text", "law", "lossy"}
        What holds between this answer and plain decoding.
    numerics_id : str
        Backend, instruction set and precision: texts are promised equal within one.
    verifier : str or None
        The rule that the last draft was verified by; None before the first pass.
    drafter : str
        ``"none"`` for plain decoding.
    statistics : Statistics
    logprobs : tuple of Logprob, or None
        One for each token, where they were asked for.
    prompt_logprobs : tuple of Logprob, or None
        One for each token of the prompt but the first, where they were asked for.
    """

    text: str
    tokens: tuple[int, ...]
    origins: tuple[str, ...]
    finish_reason: str
    stop_reason: str | int | None
    seed: int
    guarantee: str
    numerics_id: str
    verifier: str | None
    drafter: str
    statistics: Statistics
    logprobs: tuple[Logprob, ...] | None = None
    prompt_logprobs: tuple[Logprob, ...] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        plain = {**vars(self), "statistics": self.statistics.as_dict()}
        for name in ("logprobs", "prompt_logprobs"):
            entries = getattr(self, name)
            plain[name] = None if entries is None else [vars(entry) for entry in entries]
        return plain
