"""Any request, any drafter: ids, text, ends, log-probabilities, usage and stream equal plain decoding's.

The same examples find a fault planted in the engine, one of each kind, which shows that they could fail.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis.errors import NoSuchExample

from headstart.errors import HeadstartError
from headstart.processors import Grammatical, MinTokens
from headstart.request import Request
from headstart.verify.broken.faults import (
    forget_the_text_of_the_round_before,
    look_for_the_end_after_the_round,
    process_the_committed_text_only,
)
from support.kit import both
from support.requests import Trial, answer, trials

EXAMPLES = 400


def examples() -> int:
    return max(settings.get_profile(settings._current_profile).max_examples, EXAMPLES)


def outcome(trial: Trial, **how: Any) -> Any:
    """What came of a trial: the answer, or the sentence that it was refused with."""
    try:
        return both(answer(trial, **how))
    except HeadstartError as error:
        return type(error), str(error)


@settings(max_examples=examples(), suppress_health_check=list(HealthCheck))
@given(trials())
def test_drafted_equals_plain(trial: Trial) -> None:
    assert outcome(trial, drafted=True) == outcome(trial, drafted=False)


def stale_grammar(request: Request) -> None:
    """Ask the grammar about the committed text, for every drafted row too."""

    class Stale:
        def __init__(self, inner: Grammatical) -> None:
            self.inner = inner

        def __call__(self, logits: Any, history: Any, prompt_length: int) -> Any:
            return self.inner(logits, history[: len(request.tokens)], prompt_length)

    processors = tuple(Stale(p) if isinstance(p, Grammatical) else p for p in request.sampling.processors)
    request.sampling = replace(request.sampling, processors=processors)


def end_one_early(request: Request) -> None:
    """Let the answer end one token before min_tokens."""
    processors = tuple(
        MinTokens(p.count - 1, p.ends) if isinstance(p, MinTokens) else p for p in request.sampling.processors
    )
    request.sampling = replace(request.sampling, processors=processors)


FAULTS: dict[str, Callable[[Request], None]] = {
    "penalties on the committed prefix only": process_the_committed_text_only,
    "tokens after the end": look_for_the_end_after_the_round,
    "stale grammar state": stale_grammar,
    "stops missed across rounds": forget_the_text_of_the_round_before,
    "min_tokens off by one": end_one_early,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str) -> None:
    def shows(trial: Trial) -> bool:
        return bool(outcome(trial, drafted=True, meddle=FAULTS[fault]) != outcome(trial, drafted=False))

    limits = settings(max_examples=EXAMPLES, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    try:
        find(trials(), shows, settings=limits)
    except NoSuchExample:
        pytest.fail(f"{EXAMPLES} random requests did not show the fault: {fault}")
