"""Case 24: log-probabilities, one per token, equal to plain's and to scoring the same ids. llama.cpp 27972, vllm 34497, 53488."""

import numpy as np
import pytest

from headstart.protocols import Batch
from support.kit import engine, equal_to_plain, random_model

PROMPT = [50, 60, 70, 50, 60]


def make(**options):
    return engine(random_model(seed=2), ignore_eos=True, **options)


def scored(tokens):
    """Log-softmax of every row of a text, from one pass."""
    model = random_model(seed=2)
    sequence = model.open()
    rows = model.forward(Batch.chain(sequence, tokens, wanted="all"))
    logits = np.stack([rows.logits(row) for row in range(len(tokens))]).astype(np.float64)
    model.close(sequence)
    return (
        logits
        - np.log(np.exp(logits - logits.max(1, keepdims=True)).sum(1, keepdims=True))
        - logits.max(1, keepdims=True)
    )


@pytest.mark.parametrize(
    "options", [{}, {"temperature": 0.8, "seed": 3, "top_k": 9}, {"repetition_penalty": 1.5}], ids=str
)
def test_equal_to_plain_and_to_scoring(options):
    result = equal_to_plain(make, PROMPT, max_tokens=30, logprobs=3, prompt_logprobs=2, **options)
    table = scored([*PROMPT, *result.tokens])
    assert len(result.logprobs) == 30
    for at, entry in enumerate(result.logprobs, start=len(PROMPT) - 1):
        assert entry.logprob == pytest.approx(table[at, entry.token], abs=1e-9)
        assert entry.logprob < 0
        best = np.argsort(-table[at], kind="stable")[:3]
        assert [token for token, _ in entry.top] == best.tolist()
    for at, entry in enumerate(result.prompt_logprobs):
        assert entry.token == PROMPT[at + 1]
        assert entry.logprob == pytest.approx(table[at, entry.token], abs=1e-9)


def test_cut_where_the_text_is_cut():
    tokens = make(drafter="none").generate(PROMPT, max_tokens=30).tokens
    stop = next(token for at, token in enumerate(tokens) if at > 5 and token not in tokens[:at])
    result = equal_to_plain(make, PROMPT, max_tokens=30, logprobs=0, stop_token_ids=[stop])
    assert len(result.logprobs) == len(result.tokens) < 30
