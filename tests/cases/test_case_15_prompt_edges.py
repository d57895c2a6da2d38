"""Case 15: prompts at the edges of what a drafter can use. vllm 57941, 48894; sglang 3574; llama.cpp 25714."""

import pytest

from headstart.errors import InputError
from support.kit import LENGTHS, both, engine, equal_to_plain, random_model


def make(**options):
    return engine(random_model(seed=2), ignore_eos=True, **options)


@pytest.mark.parametrize(
    "prompt", [[50], [50, 60], list(range(20, 60)), [7] * 30], ids=["one", "two", "no match", "same"]
)
def test_equal_to_plain(prompt):
    equal_to_plain(make, prompt, max_tokens=30, draft_models=[random_model(seed=5, context=512)])


@pytest.mark.parametrize("drafter", ["none", "lookup"])
def test_the_empty_prompt_is_refused_alike(drafter):
    for prompt in ("", []):
        with pytest.raises(InputError, match="the prompt is empty"):
            make(drafter=drafter).generate(prompt, raw=True)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("size", [100, 20])
def test_a_draft_model_with_a_context_of_32(length, size):
    small = random_model(seed=5, context=32)
    prompt = [(7 * i) % 256 for i in range(size)]
    plain = make(drafter="none").generate(prompt, max_tokens=40)
    drafted = make(draft_model=small).generate(prompt, max_tokens=40, draft_length=length)
    assert both(drafted) == both(plain)
    assert drafted.statistics.note == "the text reached the draft model's context of 32 tokens"
    if size == 100:
        assert drafted.statistics.tokens_drafted == 0
    else:
        assert drafted.statistics.tokens_drafted > 0
