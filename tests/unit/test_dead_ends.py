"""Where nothing may follow, or a number is none: the same error with and without drafting, after the same text.

An error of a drafted row that plain decoding never visits is none.
"""

from __future__ import annotations

import numpy as np
import pytest

from headstart.engine import Engine
from headstart.errors import DeadEndError, HeadstartError, InputError, NumericsError
from headstart.grammar import Grammar
from headstart.toy import TableModel, WordTokenizer, markov
from headstart.trace import check
from support.kit import Scripted, drafters, engine, random_model

PROMPT = [50, 60, 70]
OPTIONS = {"max_tokens": 30, "seed": 3}


def make(**options):
    return engine(random_model(seed=2), **options)


def ending(drafter, **options):
    """What is streamed before the error, and the error; the caches are freed."""
    with make(**drafter) as one:
        before, streamed = len(one.model._native.lengths()), []
        with pytest.raises(HeadstartError) as caught, one.stream(PROMPT, **{**OPTIONS, **options}) as stream:
            streamed.extend(piece.text for piece in stream)
        assert stream.result.finish_reason == "error"
    assert len(one.model._native.lengths()) == before
    return "".join(streamed), stream.result.tokens, type(caught.value), str(caught.value)


def alike(**options):
    """Demand the same ending of plain decoding and of every drafter."""
    plain = ending({"drafter": "none"}, **options)
    for length in (1, 3, 8):
        for drafter in drafters(random_model(seed=2), [*PROMPT, *plain[1], *range(40)], length):
            assert ending(drafter, draft_length=length, **options) == plain, (length, drafter)
    return plain


def after(count, end):
    """A processor that does something once there are ``count`` tokens of output."""

    def processor(logits, history, prompt_length):
        return end(logits) if len(history) - prompt_length >= count else logits

    return processor


def broken(logits):
    raise ZeroDivisionError("no such luck")


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize(
    ("end", "kind", "words"),
    [
        (lambda logits: np.full_like(logits, -np.inf), DeadEndError, "no token may follow"),
        (lambda logits: np.full_like(logits, np.nan), InputError, "returned NaN"),
        (lambda logits: logits * np.inf, InputError, "returned NaN or plus infinity"),
        (lambda logits: logits[:4], InputError, "returned shape"),
        (broken, InputError, "failed for the token at position 10: ZeroDivisionError: no such luck"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_a_processor_that_comes_to_an_end(end, kind, words, temperature):
    text, tokens, caught, sentence = alike(processors=[after(7, end)], temperature=temperature, ignore_eos=True)
    assert (len(tokens), caught) == (7, kind)
    assert words in sentence
    options = {**OPTIONS, "max_tokens": 7, "temperature": temperature}
    assert text == make(drafter="none", ignore_eos=True).generate(PROMPT, **options).text


def test_everything_banned():
    _, tokens, caught, _ = alike(banned_tokens=list(range(300)), ignore_eos=True)
    assert (tokens, caught) == ((), DeadEndError)


def test_a_grammar_that_ends_before_min_tokens():
    _, tokens, caught, _ = alike(grammar=Grammar("regex", "[0-9]{4}"), min_tokens=10)
    assert (len(tokens), caught) == (4, DeadEndError)


def test_a_grammar_against_bans():
    digits = [token for digit in "0123456789" for token in make().tokenizer.encode(digit)]
    _, tokens, caught, _ = alike(grammar=Grammar("regex", "[A-F]{3}[0-9]+"), banned_tokens=digits)
    assert (len(tokens), caught) == (3, DeadEndError)


def test_a_dead_end_that_only_a_draft_runs_into_is_none():
    def no_way_after_nine(logits, history, prompt_length):
        return np.full_like(logits, -np.inf) if 9 in history else logits

    options = {"processors": [no_way_after_nine], "ignore_eos": True, "temperature": 1.0, **OPTIONS}
    plain = make(drafter="none").generate(PROMPT, **options)
    assert 9 not in plain.tokens
    lost = Scripted([*PROMPT, *plain.tokens[:5], *[9] * 60], [99])
    drafted = make(drafter=lost).generate(PROMPT, draft_length=8, **options)
    assert drafted.tokens == plain.tokens
    assert drafted.statistics.tokens_accepted == 5


def test_one_request_of_a_batch_fails_and_the_others_are_what_they_are_alone():
    one = make(ignore_eos=True)
    prompts = [PROMPT, [80, 81], [90]]
    streams = [
        one.stream(prompt, processors=[after(5, broken)] if at == 1 else [], **OPTIONS)
        for at, prompt in enumerate(prompts)
    ]
    for stream in streams:
        stream.start()
    while running := [stream for stream in streams if not stream.done]:
        one._step([stream.request for stream in running])
    for stream in streams:
        stream.close()
    assert [stream.result.finish_reason for stream in streams] == ["length", "error", "length"]
    for at in (0, 2):
        assert streams[at].result.tokens == make(ignore_eos=True).generate(prompts[at], **OPTIONS).tokens
    with pytest.raises(InputError, match="no such luck"):
        one.generate_batch(prompts, each=[{}, {"processors": [after(5, broken)]}, {}], **OPTIONS)


@pytest.mark.parametrize("options", [{}, {"temperature": 1.0}, {"temperature": 1.0, "guarantee": "law"}])
def test_a_model_that_gives_no_numbers(options):
    """The words differ, for each row has its number in the pass; text and kind are alike."""
    table = markov([[1, 2, 3, 4], [4, 3, 2, 1], [2, 2, 1, 1], [1, 1, 5, 1]])

    class Broken(TableModel):
        def logits(self, context):
            return np.full(4, np.nan, np.float32) if len(context) >= 9 else super().logits(context)

    found = set()
    for drafter in ({"drafter": "none"}, {"drafter": "lookup"}, {"draft_model": TableModel(table, 4)}):
        one = Engine(Broken(table, 4), tokenizer=WordTokenizer("abcd"), ignore_eos=True, **drafter)
        with pytest.raises(NumericsError, match="NaN"), one.stream([0, 1, 0, 1], seed=1, **options) as stream:
            list(stream)
        found.add(stream.result.tokens if options.get("guarantee") != "law" else len(stream.result.tokens))
    assert len(found) == 1


def test_logits_of_a_size_beyond_any_sense_are_refused():
    for options in (
        {"logit_bias": {3: 1e39}},
        {"logit_bias": {3: float("-inf")}},
        {"presence_penalty": float("nan")},
        {"frequency_penalty": 1e7},
        {"repetition_penalty": 0},
        {"repetition_penalty": 1e-30},
        {"repetition_penalty": "1.2"},
    ):
        with pytest.raises(InputError, match="it must be a number from"):
            make(**options)


@pytest.mark.parametrize(
    "against",
    [{"banned_tokens": [9]}, {"grammar": Grammar("regex", "[0-9]{9}")}, {"min_tokens": 9, "stop_token_ids": [9]}],
)
def test_a_forced_token_that_something_else_forbids(against):
    """Neither is dropped: it is an error, once it is met."""
    options = {"forced_tokens": {4: 9}, "ignore_eos": "grammar" not in against, **against}
    _, tokens, caught, sentence = alike(**options)
    assert (len(tokens), caught) == (4, DeadEndError)
    assert "for the token at position 7" in sentence


@pytest.mark.parametrize(
    "drafter", ["none", "lookup", Scripted([*PROMPT, *range(99)], [99])], ids=["plain", "lookup", "scripted"]
)
def test_a_failed_answer_leaves_a_trace_that_follows(tmp_path, drafter):
    forced = {**{place: place for place in range(7)}, 7: 9}
    options = {"forced_tokens": forced, "banned_tokens": [9], "draft_length": 5, **OPTIONS}
    with pytest.raises(DeadEndError):
        make(ignore_eos=True, drafter=drafter).generate(PROMPT, trace=tmp_path / "trace", **options)
    assert '"finish_reason":"error"' in (tmp_path / "trace").read_text()
    assert check(tmp_path / "trace").tokens == 7
