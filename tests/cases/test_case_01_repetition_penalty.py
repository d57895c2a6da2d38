"""Case 01: a repetition penalty counts the drafted tokens before a row. vllm 18902, 22987; TensorRT-LLM 17701."""

import pytest

from headstart.protocols import Needs
from headstart.tree import Draft
from support.kit import LENGTHS, engine, equal_to_plain, random_model

PROMPT = " word" * 8


def make(**options):
    return engine(random_model(), ignore_eos=True, **options)


@pytest.mark.parametrize("temperature", [0.0, 0.9])
def test_equal_to_plain(temperature):
    options = {"raw": True, "max_tokens": 48, "seed": 1, "temperature": temperature}
    penalised = equal_to_plain(make, PROMPT, repetition_penalty=1.3, draft_models=[random_model(seed=1)], **options)
    assert penalised.tokens != make(drafter="none").generate(PROMPT, **options).tokens


class RepeatLast:
    """A drafter that always repeats the last token."""

    name = "repeat-last"
    needs = Needs()

    def start(self, request): ...
    def propose(self, request, budget):
        return Draft.chain([request.tokens[-1]] * budget)

    def observe(self, request, tokens, rows): ...
    def fork(self, request, copy): ...
    def close(self, request): ...


@pytest.mark.parametrize("length", LENGTHS)
def test_a_drafter_that_repeats_the_last_token(length):
    options = {"raw": True, "max_tokens": 48, "repetition_penalty": 1.3}
    plain = make(drafter="none").generate(PROMPT, **options)
    assert make(drafter=RepeatLast()).generate(PROMPT, draft_length=length, **options).tokens == plain.tokens


@pytest.mark.parametrize("penalty", [{"presence_penalty": 1.5}, {"frequency_penalty": 0.8}])
def test_output_penalties(penalty):
    options = {"raw": True, "max_tokens": 48}
    result = equal_to_plain(make, PROMPT, **penalty, **options)
    assert result.tokens != make(drafter="none").generate(PROMPT, **options).tokens
