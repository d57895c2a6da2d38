"""Every parameter under every verifier of the guarantees ``text`` and ``lossy``; those of ``law`` are enumerated in tests/law.

With ``law/test_engine.py`` these are the lines of docs/exactness.md.
"""

from __future__ import annotations

import re

import pytest

from headstart.errors import RefusedError
from headstart.options import Options
from support.asked import REAL
from support.kit import LENGTHS, Scripted, both, engine, random_model

PROMPT = [50, 60, 70, 50, 60]
SHAPES_A_CHOICE = ("temperature", "top_k", "top_p", "min_p", "typical_p")


def make(**options):
    return engine(random_model(seed=2), **options)


def asked_for(name, temperature):
    """Options of a request with that parameter; the model's own end counts where the parameter is about ends."""
    options = {"max_tokens": 32, "seed": 5, "ignore_eos": name not in ("grammar", "ignore_eos"), **REAL[name]}
    return options if name in SHAPES_A_CHOICE else {"temperature": temperature, **options}


def without(name, temperature):
    """The same request without it."""
    kept = {option: value for option, value in asked_for(name, temperature).items() if option != name}
    return make(drafter="none").generate(PROMPT, **{"temperature": temperature, "max_tokens": 32, **kept})


def plain(name, temperature, **more):
    return make(drafter="none").generate(PROMPT, **asked_for(name, temperature), **more)


def truth(name, temperature):
    """What plain decoding would write without an end, so that drafts run past it; then anything."""
    ends = {"stop": (), "stop_token_ids": (), "max_tokens": 40, "min_tokens": 0}
    options = {**asked_for(name, temperature), **ends, "ignore_eos": name != "grammar"}
    return [*PROMPT, *make(drafter="none").generate(PROMPT, **options).tokens, *range(60, 100)]


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("verifier", ["greedy", "coupled"])
@pytest.mark.parametrize("draft", ["chain", "tree", "model"])
def test_text_equals_plain(name, verifier, draft):
    if verifier == "greedy" and name in SHAPES_A_CHOICE:
        with pytest.raises(RefusedError, match="needs temperature 0"):
            Options(verifier="greedy", **REAL[name])
        return
    temperature = 0.0 if verifier == "greedy" else 1.0
    expected = plain(name, temperature)
    assert both(expected) != both(without(name, temperature)), "the parameter changes plain decoding"
    text = truth(name, temperature)
    accepted = 0
    for length in LENGTHS:
        scripted = Scripted(text, list(range(length + 1)), branch=draft == "tree")
        drafter = {"draft_model": random_model(seed=2)} if draft == "model" else {"drafter": scripted}
        drafted = make(**drafter).generate(
            PROMPT, draft_length=length, verifier=verifier, **asked_for(name, temperature)
        )
        assert both(drafted) == both(expected)
        assert drafted.statistics.note is None
        accepted += drafted.statistics.tokens_accepted
    assert accepted > 0


HARD = {
    "max_tokens": lambda result: len(result.tokens) <= 13,
    "min_tokens": lambda result: len(result.tokens) >= 12,
    "banned_tokens": lambda result: not set(result.tokens) & set(range(100, 250)),
    "forced_tokens": lambda result: (result.tokens[0], *result.tokens[5:7]) == (9, 10, 11),
    "grammar": lambda result: re.fullmatch("[0-9]+(,[0-9]+)*;?,?", result.text) is not None,
    "stop": lambda result: not set(result.text) & set("etaoin"),
    "include_stop": lambda result: not set(result.text[:-1]) & set("etaoin"),
    "stop_token_ids": lambda result: all(token % 9 != 3 for token in result.tokens[:-1]),
    "ignore_eos": lambda result: result.finish_reason == "length",
    "logprobs": lambda result: [entry.token for entry in result.logprobs] == list(result.tokens),
    "prompt_logprobs": lambda result: [entry.token for entry in result.prompt_logprobs] == PROMPT[1:],
}


@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("verifier", ["lossy-lenience", "lossy-typical"])
def test_lossy_keeps_what_is_certain(name, verifier):
    """Lossy rules promise no law, but what may not follow never does, and answers end where they must."""
    lossy = {"guarantee": "lossy", "verifier": verifier, "draft_length": 4}
    accepted = 0
    for drafter in ({"draft_model": random_model(seed=5)}, {"drafter": Scripted(truth(name, 1.0), [4, 1, 2])}):
        for seed in range(8):
            result = make(**drafter).generate(
                PROMPT, **{**asked_for(name, 1.0), "seed": seed, "ignore_eos": name != "grammar"}, **lossy
            )
            assert HARD[name](result)
            assert (result.guarantee, result.verifier) == ("lossy", verifier)
            accepted += result.statistics.tokens_accepted
    assert accepted > 0


def test_a_seed_gives_one_answer_under_every_guarantee():
    for guarantee in ("text", "law", "lossy"):
        options = {"temperature": 1.0, "guarantee": guarantee, "max_tokens": 30, "draft_length": 3}
        answers = [make(draft_model=random_model(seed=5)).generate(PROMPT, seed=seed, **options) for seed in (1, 1, 2)]
        assert both(answers[0]) == both(answers[1])
        assert answers[0].tokens != answers[2].tokens
        drawn = make().generate(PROMPT, **options)
        assert both(make().generate(PROMPT, seed=drawn.seed, **options)) == both(drawn)
