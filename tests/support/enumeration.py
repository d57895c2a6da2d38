"""The exact law of what the whole engine answers: every coin of every round falls every way, with its weight.

What runs is the production loop, with every parameter; only the coins are others. Laws are made of float64 logits, so two
laws of answers agree to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headstart.engine import Engine
from headstart.errors import HeadstartError
from headstart.outcomes import BranchCoins, outcomes
from headstart.request import Request

__all__ = ["answers", "distance"]

Answer = tuple[Any, ...]


def answers(
    make: Callable[[], Engine],
    prompt: Sequence[int],
    *,
    budget: int = 200_000,
    meddle: Callable[[Request], None] | None = None,
    **options: Any,
) -> dict[Answer, float]:
    """Probability of every answer: ids, text, how it ended, log-probabilities, or the sentence of an error; ``meddle`` may plant a fault."""
    engine = make()

    def play(coins: BranchCoins) -> Answer:
        return _play(engine, prompt, coins, meddle, options)

    return {answer: float(weight) for answer, weight in outcomes(play, budget=budget).items()}


def _play(engine: Engine, prompt: Sequence[int], coins: BranchCoins, meddle: Any, options: dict[str, Any]) -> Answer:
    def next_round(number: int) -> BranchCoins:
        coins.next_round()
        return coins

    with engine.stream(prompt, seed=0, **options) as stream:
        stream.request.make_coins = next_round
        if meddle is not None:
            meddle(stream.request)
        try:
            for _ in stream:
                pass
        except HeadstartError as error:
            return stream.result.tokens, stream.result.text, "error", str(error)
    result = stream.result
    assert result.statistics.note in (None, "drafting is off", f"the drafter {result.drafter} proposed nothing")
    return result.tokens, result.text, result.finish_reason, result.stop_reason, result.logprobs, result.prompt_logprobs


def distance(a: dict[Answer, float], b: dict[Answer, float]) -> float:
    """Total variation."""
    return sum(abs(a.get(answer, 0.0) - b.get(answer, 0.0)) for answer in {*a, *b}) / 2
