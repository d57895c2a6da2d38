"""Case 08: the end token accepted inside a block ends the answer there. transformers 47912, koboldcpp 1276, sglang 39826.

The declared-EOS trick: a token that plain decoding really makes is declared an end token.
"""

import pytest

from support.kit import LENGTHS, Scripted, both, engine, random_model

PROMPT = [50, 60, 70]
MODEL_SEED = 1


def make(**options):
    return engine(random_model(seed=MODEL_SEED), **options)


@pytest.fixture(scope="module")
def continuation():
    return make(drafter="none").generate(PROMPT, max_tokens=60, ignore_eos=True).tokens


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("ends", [1, 2])
def test_nothing_after_the_end(continuation, length, ends):
    truth, places = [*PROMPT, *continuation], set()
    for at, token in enumerate(continuation[:40]):
        if token in continuation[:at]:
            continue
        later = [t for t in continuation[at + 1 :] if t not in continuation[: at + 1]]
        stop = [token, *later[:1]][:ends]
        options = {"max_tokens": 60, "stop_token_ids": stop, "logprobs": 2}
        plain = make(drafter="none", ignore_eos=True).generate(PROMPT, **options)
        drafted = make(drafter=Scripted(truth, [99]), ignore_eos=True).generate(PROMPT, draft_length=length, **options)
        assert both(drafted) == both(plain)
        assert drafted.tokens == continuation[: at + 1]
        assert (drafted.finish_reason, drafted.stop_reason) == ("stop", token)
        assert len(drafted.logprobs) == at + 1
        places.add(at % (length + 1))
    assert places == set(range(length + 1)), "the end must have fallen on every place of a block, the bonus included"


def test_the_models_own_end_token(continuation):
    tokenizer = make().tokenizer
    eos = min(tokenizer.eos_ids)
    options = {"max_tokens": 20, "forced_tokens": {5: eos}}
    plain = make(drafter="none").generate(PROMPT, **options)
    drafted = make(drafter="lookup").generate(PROMPT, draft_length=4, **options)
    assert both(drafted) == both(plain)
    assert (len(plain.tokens), plain.finish_reason) == (6, "stop")
    assert len(make(drafter="none", ignore_eos=True).generate(PROMPT, **options).tokens) == 20
