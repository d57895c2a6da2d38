"""Case 19: crossing a sliding window. transformers 48280; mlx-lm 1914, 1427."""

import pytest

from headstart.protocols import Batch
from support.kit import LENGTHS, Scripted, both, engine, random_model

PROMPT = [50, 60, 70, 80, 90, 100]


def make(**options):
    return engine(random_model(seed=2, window=8), ignore_eos=True, **options)


def without_a_cache(count):
    """Greedy decoding that computes the whole text anew for every token."""
    model, tokens = random_model(seed=2, window=8), list(PROMPT)
    for _ in range(count):
        sequence = model.open()
        tokens.append(model.forward(Batch.chain(sequence, tokens)).argmax(len(tokens) - 1))
        model.close(sequence)
    return tuple(tokens[len(PROMPT) :])


def test_plain_equals_no_cache_and_the_window_matters():
    plain = make(drafter="none").generate(PROMPT, max_tokens=40)
    assert plain.tokens == without_a_cache(40)
    assert plain.tokens != engine(random_model(seed=2), ignore_eos=True).generate(PROMPT, max_tokens=40).tokens


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("draft_window", [8, None])
def test_refusal_at_each_place_and_full_acceptance(length, draft_window):
    plain = make(drafter="none").generate(PROMPT, max_tokens=40)
    truth = [*PROMPT, *plain.tokens]
    for wrong in range(length + 1):
        drafted = make(drafter=Scripted(truth, [wrong])).generate(PROMPT, max_tokens=40, draft_length=length)
        assert both(drafted) == both(plain)
    drafted = make(draft_model=random_model(seed=2, window=draft_window)).generate(
        PROMPT, max_tokens=40, draft_length=length
    )
    assert both(drafted) == both(plain)
    assert drafted.statistics.tokens_accepted > 0
