"""Are two answers the same, and if not: where do they part, and by how little?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headstart.errors import DivergenceError
from headstart.protocols import Batch

if TYPE_CHECKING:
    from headstart.engine import Engine, Prompt
    from headstart.result import Result

__all__ = ["require_same"]


def require_same(engine: Engine, prompt: Prompt, drafted: Result, plain: Result) -> None:
    """Raise where two answers differ.

    Raises
    ------
    DivergenceError
        With the position, both tokens, and how far apart their logits are there.
    """
    if drafted.tokens == plain.tokens and drafted.text == plain.text:
        return
    pairs = zip(drafted.tokens, plain.tokens, strict=False)
    at = next((i for i, (one, other) in enumerate(pairs) if one != other), min(len(drafted.tokens), len(plain.tokens)))
    if at >= min(len(drafted.tokens), len(plain.tokens)):
        raise DivergenceError(
            f"drafted and plain decoding agree on {at} tokens, but one made {len(drafted.tokens)} and the other "
            f"{len(plain.tokens)}; please report this with the prompt and the seed {drafted.seed}"
        )
    one, other = drafted.tokens[at], plain.tokens[at]
    gap = _logit_gap(engine, [*engine.encode(prompt), *drafted.tokens[:at]], one, other)
    raise DivergenceError(
        f"drafted and plain decoding differ at token {at} of the answer: {_shown(engine, one)} against "
        f"{_shown(engine, other)}, whose logits are {gap:.3g} apart; please report this with the prompt and the seed {drafted.seed}"
    )


def _logit_gap(engine: Engine, tokens: list[int], one: int, other: int) -> float:
    """Difference between two tokens' logits after a text."""
    model = engine.model
    sequence = model.open()
    try:
        row = model.forward(Batch.chain(sequence, tokens)).logits(len(tokens) - 1)
        return abs(float(row[one]) - float(row[other]))
    finally:
        model.close(sequence)


def _shown(engine: Engine, token: int) -> str:
    return f"{engine.tokenizer.token_bytes(token).decode('utf-8', 'replace')!r} (id {token})"
