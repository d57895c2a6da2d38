"""Case 03: bias, bans, forced tokens and custom processors hold on every row, the bonus included. vllm 38467, 42744; sglang 26330."""

import numpy as np
import pytest

from headstart.errors import InputError
from support.kit import LENGTHS, Scripted, engine, equal_to_plain, random_model

PROMPT = [40, 41, 42, 43]
OPTIONS = {"max_tokens": 64, "seed": 4}


def make(**options):
    return engine(random_model(seed=2), ignore_eos=True, **options)


def plain(**options):
    return make(drafter="none").generate(PROMPT, **OPTIONS, **options)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("length", LENGTHS)
def test_a_banned_token_that_the_drafter_always_proposes(temperature, length):
    favourite = max(set(plain().tokens), key=plain().tokens.count)
    truth = [favourite] * 200
    for ban in ({"logit_bias": {favourite: -100.0}}, {"banned_tokens": [favourite]}):
        options = {"temperature": temperature, **ban}
        drafted = make(drafter=Scripted(truth, [99])).generate(PROMPT, draft_length=length, **OPTIONS, **options)
        assert favourite not in drafted.tokens
        assert drafted.tokens == plain(**options).tokens
    assert favourite in plain().tokens


def test_a_bias_of_100_takes_every_place():
    result = equal_to_plain(make, PROMPT, logit_bias={77: 100.0}, **OPTIONS)
    assert set(result.tokens) == {77}


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_custom_processor_that_allows_even_ids(temperature):
    def even(logits, history, prompt_length):
        logits[1::2] = -np.inf
        return logits

    result = equal_to_plain(make, PROMPT, processors=[even], temperature=temperature, **OPTIONS)
    assert all(token % 2 == 0 for token in result.tokens)
    assert any(token % 2 for token in plain(temperature=temperature).tokens)


def test_a_processor_sees_the_drafted_ancestors():
    def never_repeat(logits, history, prompt_length):
        logits[list(history)] = -np.inf
        return logits

    result = equal_to_plain(make, PROMPT, processors=[never_repeat], **OPTIONS)
    assert len(set(result.tokens)) == 64


def test_forced_tokens_stand_at_their_places():
    result = equal_to_plain(make, PROMPT, forced_tokens={0: 9, 5: 10, 6: 11}, **OPTIONS)
    assert (result.tokens[0], *result.tokens[5:7]) == (9, 10, 11)


def test_a_processor_of_the_wrong_shape_is_refused():
    with pytest.raises(InputError, match="shape"):
        plain(processors=[lambda logits, history, prompt_length: logits[:5]])


@pytest.mark.parametrize("options", [{"logit_bias": {300: 1.0}}, {"banned_tokens": [-1]}, {"forced_tokens": {0: 300}}])
def test_tokens_outside_the_vocabulary_are_refused(options):
    with pytest.raises(InputError, match="from 0 to 299"):
        plain(**options)
