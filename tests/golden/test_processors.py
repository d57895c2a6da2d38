"""Sampling against Hugging Face's processors: same kept tokens, same probabilities (``make_processors.py``, transformers 5)."""

from pathlib import Path

import numpy as np
import pytest

from headstart.options import Options

GOLDEN = np.load(Path(__file__).with_name("processors.npz"))
OURS = {
    "temperature": {"temperature": 0.7},
    "top_k": {"top_k": 7},
    "top_p": {"top_p": 0.8},
    "min_p": {"min_p": 0.1},
    "typical_p": {"typical_p": 0.6},
    "repetition": {"repetition_penalty": 1.3},
    "bias": {"logit_bias": {3: 2.5, 9: -4.0}},
    "banned": {"banned_tokens": [1, 5, 8]},
    "min_tokens": {"min_tokens": 8},
    "all": {
        "repetition_penalty": 1.2,
        "logit_bias": {3: 2.5, 9: -4.0},
        "banned_tokens": [1, 5, 8],
        "temperature": 0.9,
        "top_k": 30,
        "top_p": 0.9,
        "min_p": 0.02,
        "typical_p": 0.9,
    },
}


@pytest.mark.parametrize("name", OURS)
def test_equal_kept_sets_and_probabilities(name):
    options = Options.of({"temperature": 1.0, **OURS[name]})
    logits, prompt_length = GOLDEN["logits"], int(GOLDEN["prompt_length"])
    sampling = options.sampling(options.all_processors(None, (2, 4), logits.shape[1]))
    for row, history, truth in zip(logits, GOLDEN["history"].tolist(), GOLDEN[name], strict=True):
        law = sampling.law(row, history, prompt_length)
        ours = np.array([law.prob(token) for token in range(len(row))])
        assert (ours > 0).tolist() == (truth > 0).tolist()
        np.testing.assert_allclose(ours, truth, rtol=2e-5)


def test_presence_and_frequency_count_the_output_only():
    options = Options.of({"presence_penalty": 0.5, "frequency_penalty": 0.25})
    sampling = options.sampling(options.all_processors(None, (), 6))
    changed = sampling.processors[0](np.zeros(6, np.float32), [1, 1, 2, 3, 3, 1], 3)
    assert changed.tolist() == [0.0, -0.75, 0.0, -1.0, 0.0, 0.0]
