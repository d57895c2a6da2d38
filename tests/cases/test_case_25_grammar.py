"""Case 25: grammars with refused drafts and an early end. vllm 9423, 27969, 10442; sglang 17617, 24413."""

import json
import re

import pytest

from headstart.engine import Engine
from headstart.errors import InputError, RefusedError
from headstart.grammar import Grammar, Matcher
from headstart.toy import TableModel, WordTokenizer, always
from support.kit import LENGTHS, Scripted, both, engine, equal_to_plain, random_model

DIGITS = Grammar("regex", r"\[[0-9](,[0-9]){2,5}\]")
PROMPT = "numbers: "
SPACES = [12, 13, 16, 35]
"""Bytes of white space, which a random model would otherwise write without end."""


def make(**options):
    return engine(random_model(seed=2), **options)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_equal_to_plain_and_valid(temperature):
    result = equal_to_plain(
        make,
        PROMPT,
        raw=True,
        grammar=DIGITS,
        max_tokens=40,
        temperature=temperature,
        seed=6,
        draft_models=[random_model(seed=5)],
    )
    assert result.finish_reason == "stop"
    assert all(isinstance(value, int) for value in json.loads(result.text))
    assert make(drafter="none").generate(PROMPT, raw=True, max_tokens=40).text != result.text


@pytest.mark.parametrize("length", LENGTHS)
def test_prose_then_right_tokens_then_more_after_the_end(length):
    options = {"raw": True, "grammar": DIGITS, "max_tokens": 40}
    plain = make(drafter="none").generate(PROMPT, **options)
    one = make()
    prose = one.tokenizer.encode("sure, here it is: [1,2] and then some more words")
    head = one.encode(PROMPT, raw=True)
    for truth in ([*head, *prose * 4], [*head, *plain.tokens, *prose * 4], [*head, *plain.tokens[:-1], *prose * 4]):
        drafted = make(drafter=Scripted(truth, [99])).generate(PROMPT, draft_length=length, **options)
        assert both(drafted) == both(plain)


@pytest.mark.parametrize("length", LENGTHS)
def test_sampled_drafts_come_from_the_masked_law(length):
    options = {"raw": True, "grammar": DIGITS, "max_tokens": 40, "temperature": 1.0, "guarantee": "law"}
    one = make(draft_model=random_model(seed=5))
    for seed in range(5):
        result = one.generate(PROMPT, draft_length=length, seed=seed, **options)
        assert json.loads(result.text)
        assert result.statistics.tokens_drafted > 0


def test_the_state_equals_a_replay_of_the_ids():
    tokenizer = make().tokenizer
    walked = Matcher(DIGITS, tokenizer, 300)
    branches = [tokenizer.encode(text) for text in ("[1,2", "[1,3,4", "[", "[1,2,3]", "[9", "[1,x", "[1,2,3,4")]
    for branch in branches:
        assert (walked.allowed(branch) == Matcher(DIGITS, tokenizer, 300).allowed(branch)).all()


SCHEMA = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}, "n": {"enum": [1, 2]}},
    "required": ["ok", "n"],
    "additionalProperties": False,
}
KINDS = {
    "regex": ("(yes|no)(,(yes|no)){1,2}", "(yes|no)(,(yes|no)){1,2}"),
    "json_schema": (json.dumps(SCHEMA), r'\{\s*"ok"\s*:\s*(true|false)\s*,\s*"n"\s*:\s*[12]\s*\}'),
    "lark": (
        'start: item ("+" item)~1..3\nitem: "(" DIGIT ")" | DIGIT\nDIGIT: /[0-9]/',
        r"(\(\d\)|\d)(\+(\(\d\)|\d)){1,3}",
    ),
}
"""A source of each kind, and what its texts look like."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_every_kind(kind, temperature):
    source, looks = KINDS[kind]
    options = {"raw": True, "max_tokens": 60, "temperature": temperature, "seed": 4, "banned_tokens": SPACES}
    result = equal_to_plain(make, PROMPT, grammar=Grammar(kind, source), **options)
    assert result.finish_reason == "stop"
    assert re.fullmatch(looks, result.text)
    assert make(drafter="none").generate(PROMPT, **options).text != result.text


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_after_a_marker(kind):
    """Free text, then a call, then free text: what follows the marker is what the grammar says."""
    source, looks = KINDS[kind]
    one = make()
    forced = dict(enumerate(one.tokenizer.encode("ok<call>")))
    options = {"raw": True, "max_tokens": 70, "seed": 4, "banned_tokens": SPACES, "forced_tokens": forced}
    grammar = Grammar(kind, source, after="<call>")
    result = equal_to_plain(make, PROMPT, grammar=grammar, **options)
    assert re.match("ok<call>" + looks, result.text)
    assert not re.match("ok<call>" + looks, make(drafter="none").generate(PROMPT, **options).text)


def test_a_grammar_after_a_marker():
    grammar = Grammar("regex", "[0-9]{3}", after="<n>")
    tokenizer = make().tokenizer
    matcher = Matcher(grammar, tokenizer, 300)
    free, marked = tokenizer.encode("any words"), tokenizer.encode("any words <n>")
    digits = {tokenizer.encode(digit)[0] for digit in "0123456789"}
    assert matcher.allowed(free).sum() > 200
    assert set(matcher.allowed(marked).nonzero()[0]) == digits
    assert matcher.allowed([*marked, *tokenizer.encode("123")]).sum() > 200
    forced = dict(enumerate(tokenizer.encode("ok <n>")))
    result = equal_to_plain(make, PROMPT, raw=True, grammar=grammar, forced_tokens=forced, max_tokens=20)
    assert result.text[6:9].isdigit()


def test_forced_text_is_drafted_without_a_drafters_help():
    grammar = Grammar("regex", "the only possible answer")
    result = make(drafter="lookup").generate("x", raw=True, grammar=grammar, max_tokens=60, draft_length=8)
    assert result.text == "the only possible answer"
    assert result.statistics.tokens_per_pass > 2


@pytest.mark.parametrize(
    ("grammar", "words"),
    [
        (lambda: Grammar("regex", "(("), "cannot be used"),
        (lambda: Grammar("lark", "start = x("), "cannot be used"),
        (lambda: Grammar("json_schema", "{nope"), "is not JSON"),
        (lambda: Grammar("json_schema", "[" * 100_000), "nested too deeply"),
        (lambda: Grammar("magic", "x"), "is unknown"),
        (lambda: Grammar("regex", "x", after=""), "marker"),
    ],
)
def test_bad_grammars_are_refused_in_a_sentence(grammar, words):
    with pytest.raises(InputError, match=words):
        make().generate(PROMPT, raw=True, grammar=grammar())


def test_a_grammar_and_ignore_eos_are_refused_together():
    with pytest.raises(RefusedError, match="ignore_eos"):
        make().generate(PROMPT, raw=True, grammar=DIGITS, ignore_eos=True)


def test_a_grammar_needs_an_end_token():
    table = TableModel(always(["1/2", "1/2"]), 2)
    with pytest.raises(RefusedError, match="this tokenizer has none"):
        Engine(table, tokenizer=WordTokenizer(["a", "b"])).generate([0], grammar=Grammar("regex", "( a)+"))
