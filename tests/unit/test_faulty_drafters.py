"""Whatever a drafter does wrong, the text is plain decoding's, the result says why nothing is drafted, and nothing leaks."""

from __future__ import annotations

import math

import numpy as np
import pytest

from headstart.errors import InputError, RefusedError
from headstart.grammar import Grammar
from headstart.law import Law
from headstart.protocols import Needs
from headstart.tree import EMPTY, Draft
from support.kit import engine, random_model

OPTIONS = {"max_tokens": 12, "seed": 1, "temperature": 1.0, "draft_length": 4}


def fail(*_):
    raise KeyError("out of ideas")


class Rubbish:
    """A drafter made of the functions given; it drafts nothing by default."""

    name = "rubbish"
    needs = Needs()

    def __init__(self, propose=lambda request, budget: EMPTY, **parts):
        nothing = dict.fromkeys(("start", "observe", "fork", "close"), lambda *_: None)
        vars(self).update({"propose": propose, **nothing, **parts})


def sampled(law, token=5):
    return lambda request, budget: Draft.chain([token], origin="sampled", laws=[law])


def run(drafter, **options):
    model = random_model(seed=2)
    with engine(model, ignore_eos=True, drafter=drafter) as one:
        before = len(one.model._native.lengths())
        result = one.generate([5, 6], **{**OPTIONS, **options})
    assert len(one.model._native.lengths()) == before
    return result


FAULTS = {
    "propose raises": (Rubbish(fail), "KeyError: 'out of ideas'"),
    "start raises": (Rubbish(start=fail), "KeyError"),
    "observe raises": (Rubbish(observe=fail), "KeyError"),
    "close raises": (Rubbish(close=fail), "KeyError"),
    "all raise": (Rubbish(fail, start=fail, observe=fail, close=fail), "KeyError"),
    "no draft": (Rubbish(lambda request, budget: [1, 2]), "not a Draft"),
    "nothing at all": (Rubbish(lambda request, budget: None), "not a Draft"),
    "later parents": (
        Rubbish(lambda request, budget: Draft((1, 2), (1, 0), ("certain",) * 2, (None,) * 2)),
        "a parent must be an earlier node",
    ),
    "unequal lengths": (Rubbish(lambda request, budget: Draft((1, 2), (-1,))), "same length"),
    "half a token": (Rubbish(lambda request, budget: Draft((1.5,), (-1,), ("certain",), (None,))), "whole number"),
    "a token of text": (Rubbish(lambda request, budget: Draft(("a",), (-1,), ("certain",), (None,))), "whole number"),
    "an unknown origin": (Rubbish(lambda request, budget: Draft((1,), (-1,), ("magic",), (None,))), "'magic'"),
    "chances of text": (Rubbish(lambda request, budget: Draft.chain([1], chances=["much"])), "TypeError"),
    "a law too small": (Rubbish(sampled(Law.of([0.5] * 10))), "weights on 10 tokens"),
    "a law too large": (Rubbish(sampled(Law(np.full(400, 1 / 400), None, 400), 399)), "weights on 400 tokens"),
    "a law of sum 300": (Rubbish(sampled(Law(np.ones(300), None, 300))), "sum to 300"),
    "a law of NaN": (Rubbish(sampled(Law(np.full(300, math.nan), None, 300))), "needs the law"),
    "no law": (Rubbish(sampled(None)), "needs the law"),
    "propose writes": (Rubbish(lambda request, budget: request.tokens.append(1) or EMPTY), "changed the text"),
    "start writes": (Rubbish(start=lambda request: request.tokens.insert(0, 1)), "changed the text"),
    "observe writes": (Rubbish(observe=lambda request, *_: request.tokens.clear()), "changed the text"),
    "close writes": (Rubbish(fail, close=lambda request: request.tokens.pop()), "KeyError"),
    "another text": (Rubbish(lambda request, budget: setattr(request, "tokens", [1]) or EMPTY), "changed the text"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("guarantee", ["text", "law"])
@pytest.mark.parametrize("length", [4, None])
def test_plain_text_and_the_reason(fault, guarantee, length):
    drafter, words = FAULTS[fault]
    result = run(drafter, guarantee=guarantee, draft_length=length)
    assert result.tokens == run("none", guarantee=guarantee).tokens
    if not (fault == "chances of text" and (length or guarantee == "law")):  # nobody looks at them then
        assert words in result.statistics.note


@pytest.mark.parametrize(
    "propose",
    [
        lambda request, budget: Draft.chain([-5, 3]),
        lambda request, budget: Draft.chain([2**40]),
        lambda request, budget: Draft.chain([3] * 10_000),
        lambda request, budget: Draft.chain([1, 2], chances=[math.nan, 7.0]),
    ],
)
@pytest.mark.parametrize("length", [4, None])
def test_what_can_be_cut_is_cut(propose, length):
    result = run(Rubbish(propose), draft_length=length)
    assert result.tokens == run("none").tokens
    assert result.statistics.tokens_drafted <= 64 * result.statistics.rounds
    assert result.statistics.note in (None, "the drafter rubbish proposed nothing")


def test_a_draft_of_mixed_origins_is_refused_where_the_rule_cannot_take_it():
    law = Law(np.full(300, 1 / 300), None, 300)
    mixed = Draft((1, 2), (-1, 0), ("certain", "sampled"), (None, law))
    drafter = Rubbish(lambda request, budget: mixed)
    assert "node 1 is sampled" in run(drafter, guarantee="law").statistics.note
    assert run(drafter).tokens == run("none").tokens


@pytest.mark.parametrize("thing", [7, object(), Rubbish, Rubbish(name=3), Rubbish(needs=None)])
def test_what_is_no_drafter_is_refused_at_once(thing):
    with pytest.raises(InputError, match="is not a drafter"):
        engine(random_model(seed=2), drafter=thing)
    with pytest.raises(InputError, match="is not a drafter"):
        engine(random_model(seed=2)).generate([5], drafter=thing)


def test_taps_that_the_model_lacks_are_refused_and_nothing_leaks():
    before = len(random_model(seed=2)._native.lengths())
    with engine(random_model(seed=2), drafter=Rubbish(needs=Needs(taps=(99,)))) as one, pytest.raises(InputError):
        one.generate([5, 6], **OPTIONS)
    assert len(random_model(seed=2)._native.lengths()) == before


@pytest.mark.parametrize("verifier", ["token", "block", "multi-step", "traversal", "multi-path-block", "k-seq"])
def test_a_named_rule_and_text_that_a_grammar_forces(verifier):
    """Forced text is a draft without randomness: drafted where the rule takes it, left to the draft model elsewhere."""
    one = engine(random_model(seed=2), draft_model=random_model(seed=5), guarantee="law", verifier=verifier)
    options = {"raw": True, "max_tokens": 60, "temperature": 1.0, "seed": 1, "draft_length": 4}
    result = one.generate("x", grammar=Grammar("regex", "the only answer [0-9]{9}"), **options)
    assert result.text.startswith("the only answer ")
    assert result.statistics.tokens_accepted >= 10
    assert result.statistics.note is None


def test_a_rule_that_never_takes_the_drafters_drafts_is_refused_by_name():
    result = run("lookup", guarantee="law", verifier="k-seq")
    assert result.statistics.note is not None
    assert "k-seq verification takes drafts that are sampled" in result.statistics.note
    with pytest.raises(RefusedError, match="less than 'text'"):
        run("lookup", guarantee="text", verifier="block")
