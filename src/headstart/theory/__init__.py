"""The arithmetic of speculation: what it can give, what it costs, and what counts as evidence that it is exact.

speed.py      acceptance, tokens per pass and their spread, speed-up, best draft length, break-even
bounds.py     what no rule can beat, and what sharing the noise attains
races.py      two samples by one noise
evidence.py   bets against exactness that may be looked at after every round; chi-square
"""

from __future__ import annotations

from headstart.theory.bounds import (
    ChainTokens,
    chain_tokens,
    coupling_acceptance,
    coupling_floor,
    drafts_acceptance,
)
from headstart.theory.evidence import (
    BETS,
    Bet,
    ChiSquare,
    Evidence,
    LeakInterval,
    Seen,
    anti_leak,
    chi_square,
    leak,
    nucleus,
    redraw,
    sharpen,
    tokens_to_evidence,
)
from headstart.theory.races import rematch
from headstart.theory.speed import (
    BestLength,
    acceptance,
    best_draft_length,
    break_even,
    expected_tokens,
    expected_tokens_by_position,
    round_cost,
    speedup,
    token_counts,
    token_variance,
    total_variation,
)

__all__ = [
    "BETS",
    "BestLength",
    "Bet",
    "ChainTokens",
    "ChiSquare",
    "Evidence",
    "LeakInterval",
    "Seen",
    "acceptance",
    "anti_leak",
    "best_draft_length",
    "break_even",
    "chain_tokens",
    "chi_square",
    "coupling_acceptance",
    "coupling_floor",
    "drafts_acceptance",
    "expected_tokens",
    "expected_tokens_by_position",
    "leak",
    "nucleus",
    "redraw",
    "rematch",
    "round_cost",
    "sharpen",
    "speedup",
    "token_counts",
    "token_variance",
    "tokens_to_evidence",
    "total_variation",
]
