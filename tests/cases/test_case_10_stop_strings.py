"""Case 10: stop strings across tokens and blocks. transformers 48039, sglang 23802, vllm 47616, ArcticInference 161."""

import pytest

from support.kit import LENGTHS, engine, equal_to_plain, random_model, run

PROMPT = [50, 60, 70]


def make(**options):
    return engine(random_model(seed=2), ignore_eos=True, **options)


@pytest.fixture(scope="module")
def text():
    return make(drafter="none").generate(PROMPT, max_tokens=60).text


@pytest.mark.parametrize("include", [False, True])
@pytest.mark.parametrize("begin", [3, 8, 13, 20])
def test_equal_to_plain_and_cut_at_one_place(text, include, begin):
    stop = text[begin : begin + 6]
    result = equal_to_plain(make, PROMPT, max_tokens=60, stop=stop, include_stop=include, logprobs=1)
    at = text.index(stop)
    assert result.text == text[: at + (len(stop) if include else 0)]
    assert (result.finish_reason, result.stop_reason) == ("stop", stop)


@pytest.mark.parametrize("length", LENGTHS)
def test_no_character_of_the_stop_is_streamed(text, length):
    stop = text[10:16]
    with make(drafter="lookup") as one, one.stream(PROMPT, max_tokens=60, stop=stop, draft_length=length) as stream:
        streamed = ""
        for piece in stream:
            streamed += piece.text
            assert text[: text.index(stop)].startswith(streamed)


def test_stops_are_not_looked_for_before_min_tokens(text):
    early = text[:2]
    options = {"max_tokens": 30, "stop": early}
    assert run(make, {"drafter": "none"}, PROMPT, options).text == ""
    later = equal_to_plain(make, PROMPT, min_tokens=10, **options)
    assert len(later.tokens) >= 10
