"""Case 29: exact figures, and a reason when idle. llama.cpp 14104, 25345; vllm 24322; mlx-engine 280."""

import pytest

from headstart.errors import ModelNotFoundError
from support.kit import Scripted, engine, random_model

PROMPT = [50, 60, 70]


def make(**options):
    return engine(random_model(seed=2), ignore_eos=True, **options)


@pytest.fixture(scope="module")
def truth():
    return [*PROMPT, *make(drafter="none").generate(PROMPT, max_tokens=60).tokens]


@pytest.mark.parametrize("guarantee", ["text", "law"])
def test_a_scripted_run(truth, guarantee):
    last = truth[len(PROMPT) + 10]
    assert last not in truth[len(PROMPT) : len(PROMPT) + 10]
    result = make(drafter=Scripted(truth, [4, 0, 2, 1])).generate(
        PROMPT, max_tokens=60, draft_length=4, guarantee=guarantee, stop_token_ids=[last]
    )
    figures = result.statistics
    assert (figures.tokens_drafted, figures.tokens_accepted, figures.rounds, figures.tokens) == (16, 7, 4, 11)
    assert figures.tokens_per_pass == 2.75
    assert figures.accepted_by_place == [3, 2, 1, 1]
    assert figures.drafted_by_place == [4, 4, 4, 4]
    assert result.origins[:6] == ("accepted",) * 4 + ("bonus", "recovered")


def test_a_last_block_cut_by_max_tokens(truth):
    figures = make(drafter=Scripted(truth, [99])).generate(PROMPT, max_tokens=7, draft_length=4).statistics
    assert (figures.tokens, figures.tokens_drafted, figures.tokens_accepted, figures.rounds) == (7, 5, 5, 2)
    assert figures.tokens_per_pass == 3.5


def test_nothing_drafted_gives_no_rate_and_a_reason():
    off = make(drafter="none").generate(PROMPT, max_tokens=5).statistics
    assert (off.acceptance_rate, off.note) == (None, "drafting is off")
    zero = make(drafter="lookup").generate(PROMPT, max_tokens=5, draft_length=0).statistics
    assert (zero.acceptance_rate, zero.note) == (None, "draft_length is 0")
    idle = make(drafter="lookup").generate(list(range(10, 40)), max_tokens=1).statistics
    assert idle.acceptance_rate is None
    assert idle.note == "the drafter lookup proposed nothing"


def test_a_draft_that_fails_to_load_is_an_error():
    with pytest.raises(ModelNotFoundError):
        make(draft_model="no-such-file.gguf")
