"""Case 13: max_tokens from 1 to beyond a block, unset, and what is not allowed. mlx-lm 1591, ik_llama.cpp 2358."""

import pytest

from headstart.errors import InputError
from support.kit import LENGTHS, Scripted, both, engine, random_model

PROMPT = [50, 60, 70]


def make(**options):
    return engine(random_model(seed=2, context=64), ignore_eos=True, **options)


@pytest.mark.parametrize("length", LENGTHS)
def test_exactly_that_many(length):
    truth = [*PROMPT, *make(drafter="none").generate(PROMPT, max_tokens=40).tokens]
    for cap in (1, 2, length, length + 1, length + 2):
        plain = make(drafter="none").generate(PROMPT, max_tokens=cap)
        drafted = make(drafter=Scripted(truth, [99])).generate(PROMPT, max_tokens=cap, draft_length=length)
        assert both(drafted) == both(plain)
        assert len(drafted.tokens) == cap
        assert (drafted.finish_reason, drafted.stop_reason) == ("length", "max_tokens")
        assert drafted.statistics.tokens_drafted <= cap - 1
        assert drafted.statistics.tokens_accepted <= cap


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("cap", [None, 10_000])
def test_unset_and_beyond_end_at_the_context(length, cap):
    plain = make(drafter="none").generate(PROMPT, max_tokens=cap)
    drafted = make(drafter="lookup").generate(PROMPT, max_tokens=cap, draft_length=length)
    assert both(drafted) == both(plain)
    assert len(drafted.tokens) == 61
    assert (drafted.finish_reason, drafted.stop_reason) == ("length", "context")


@pytest.mark.parametrize("cap", [0, -5, 1.5, "7"])
def test_what_is_not_allowed_is_refused_with_and_without_a_drafter(cap):
    for drafter in ("none", "lookup"):
        with pytest.raises(InputError, match="max_tokens is"):
            make(drafter=drafter).generate(PROMPT, max_tokens=cap)
