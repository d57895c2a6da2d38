"""The default model with everything on: drafted equals plain, warm equals cold, and what was asked for is there."""

import json
import re

import pytest

from headstart.backends import load_backend
from headstart.engine import Engine
from headstart.grammar import Grammar
from support.kit import both
from support.real import smollm

PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 20}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def engine():
    weights = smollm()
    model = load_backend(weights, threads=2)
    return Engine(model, tokenizer=weights.tokenizer, chat_template=weights.chat_template)


def equal(engine, prompt, **options):
    """Plain decoding's answer, which lookup must give too."""
    plain = engine.generate(prompt, drafter="none", **options)
    for length in (None, 4):
        assert both(engine.generate(prompt, drafter="lookup", draft_length=length, **options)) == both(plain)
    return plain


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_everything_at_once(engine, temperature):
    result = equal(
        engine,
        "Give a person with name and age as JSON.",
        grammar=Grammar.json_schema(PERSON),
        temperature=temperature,
        seed=3,
        repetition_penalty=1.1,
        presence_penalty=0.2,
        frequency_penalty=0.1,
        logit_bias={100: 1.0},
        banned_tokens=[0],
        min_tokens=4,
        stop=["THE END"],
        logprobs=5,
        max_tokens=60,
    )
    assert set(json.loads(result.text)) == {"name", "age"}
    assert result.finish_reason == "stop"
    assert len(result.logprobs) == len(result.tokens)


def test_a_call_in_the_middle_of_free_text(engine):
    forced = dict(enumerate(engine.tokenizer.encode("Sure. <tool>")))
    grammar = Grammar.json_schema(PERSON, after="<tool>")
    result = equal(engine, "Describe a person.", grammar=grammar, forced_tokens=forced, max_tokens=50)
    call = re.match(r"Sure\. <tool>(\{.*?\})", result.text, re.DOTALL)
    assert set(json.loads(call[1])) == {"name", "age"}


def test_forced_text_costs_few_passes(engine):
    grammar = Grammar("lark", 'start: "SELECT " NAME (", " NAME)~2..4 " FROM " NAME\nNAME: /[a-z]{1,8}/')
    result = equal(engine, "Write SQL.", grammar=grammar, max_tokens=60)
    assert re.fullmatch(r"SELECT [a-z]{1,8}(, [a-z]{1,8}){2,4} FROM [a-z]{1,8}", result.text)
    assert engine.generate("Write SQL.", grammar=grammar, max_tokens=60).statistics.tokens_per_pass > 1.2


@pytest.mark.parametrize("drafter", ["none", "lookup"])
def test_the_next_turn_of_a_chat_is_warm_and_the_same(engine, drafter):
    options = {"temperature": 0.7, "seed": 1, "max_tokens": 24, "logprobs": 2, "drafter": drafter}
    first = [{"role": "user", "content": "Name a colour."}]
    said = engine.generate(first, **options).text
    turns = [*first, {"role": "assistant", "content": said}, {"role": "user", "content": "Another one?"}]
    warm = engine.generate(turns, **options)
    engine.close()
    cold = engine.generate(turns, **options)
    assert both(warm) == both(cold)
    assert warm.statistics.cached_tokens > 30 > cold.statistics.cached_tokens == 0
    scored = [engine.generate(turns, prompt_logprobs=1, **options) for _ in range(2)]
    assert both(scored[0]) == both(scored[1])
    assert len(scored[0].prompt_logprobs) == scored[0].statistics.prompt_tokens - 1


def test_choices_share_the_prompt_and_differ(engine):
    options = {"temperature": 0.9, "seed": 5, "max_tokens": 24, "grammar": Grammar("regex", "[a-z ]{10,20}")}
    engine.close()
    choices = engine.generate_choices("Tell a joke.", 3, **options)
    plain = engine.generate_choices("Tell a joke.", 3, drafter="none", **options)
    assert [both(choice) for choice in choices] == [both(choice) for choice in plain]
    assert len({choice.text for choice in choices}) == 3
    assert [choice.statistics.cached_tokens > 0 for choice in choices] == [False, True, True]
    assert all(re.fullmatch("[a-z ]{10,20}", choice.text) for choice in choices)


def test_the_context_fills_up_inside_a_block():
    weights = smollm()
    small = load_backend(weights, threads=2, context=64)
    engine = Engine(small, tokenizer=weights.tokenizer, raw=True, ignore_eos=True)
    result = equal(engine, "1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2,")
    assert (result.finish_reason, result.stop_reason) == ("length", "context")
    assert result.statistics.prompt_tokens + len(result.tokens) == 64
