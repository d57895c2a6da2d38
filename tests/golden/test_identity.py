"""The default model: drafted text is plain text, with drafts of every quality (benchmarks/identity.py does it at length)."""

import pytest

from headstart.backends import load_backend
from headstart.draft import LookupDrafter, ModelDrafter
from headstart.engine import Engine
from headstart.models.quantise import perturb
from support.real import smollm

PROMPTS = [
    "Write the numbers from one to twenty in words.",
    "Copy this line three times: the quick brown fox jumps over the lazy dog.",
    "What is a good name for a grey cat, and why? Give three reasons for it.",
]


@pytest.fixture(scope="module")
def engine():
    weights = smollm()
    model = load_backend(weights, threads=2)
    return Engine(model, tokenizer=weights.tokenizer, chat_template=weights.chat_template, max_tokens=64)


@pytest.fixture(scope="module")
def perturbed(engine):
    return ModelDrafter(load_backend(perturb(smollm(), noise_rate=0.07, seed=1), threads=2), engine.model.vocab_size)


@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_drafted_text_is_plain_text(engine, perturbed, temperature):
    itself = ModelDrafter(engine.model, engine.model.vocab_size)
    drafted, accepted = {}, {}
    for prompt in PROMPTS:
        plain = engine.generate(prompt, temperature=temperature, seed=3, drafter="none")
        for name, drafter in {"lookup": LookupDrafter(), "perturbed": perturbed, "itself": itself}.items():
            for length in (1, 3, 8):
                result = engine.generate(prompt, temperature=temperature, seed=3, drafter=drafter, draft_length=length)
                assert (result.tokens, result.text) == (plain.tokens, plain.text)
                drafted[name] = drafted.get(name, 0) + result.statistics.tokens_drafted
                accepted[name] = accepted.get(name, 0) + result.statistics.tokens_accepted
    assert accepted["itself"] > 100
    assert 0.2 < accepted["perturbed"] / drafted["perturbed"] < 0.8
    assert accepted["perturbed"] > 100
    assert drafted["perturbed"] - accepted["perturbed"] > 100
    assert accepted["lookup"] > 20
    assert drafted["lookup"] - accepted["lookup"] > 100


def test_rejection_with_a_sampled_draft_ends_properly(engine, perturbed):
    for seed in range(3):
        result = engine.generate(PROMPTS[2], temperature=0.7, seed=seed, drafter=perturbed, guarantee="law")
        again = engine.generate(PROMPTS[2], temperature=0.7, seed=seed, drafter=perturbed, guarantee="law")
        assert result.tokens == again.tokens
        assert result.verifier == "block"
        assert result.statistics.tokens_accepted > 0
