"""Case 07: a model that drafts for itself, and exact ties. mlx-lm 1470, transformers 39421, llama.cpp 25618, vllm 7627."""

import pytest

from headstart.engine import Engine
from headstart.toy import WORLDS, TableModel, WordTokenizer, always, random_world
from support.kit import LENGTHS, engine, random_model


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("guarantee", ["text", "law"])
def test_a_table_that_drafts_for_itself_is_always_accepted(length, temperature, guarantee):
    for world in (WORLDS["six-word"], random_world(5, seed=9)):
        one = Engine(world.model(), tokenizer=world.tokenizer(), draft_model=world.model(), ignore_eos=True)
        options = {"max_tokens": 40, "temperature": temperature, "guarantee": guarantee, "seed": 2}
        assert one.generate([0], draft_length=length, **options).statistics.acceptance_rate == 1.0


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_a_random_model_that_drafts_for_itself_is_always_accepted(length, temperature):
    model = random_model(seed=3)
    one = engine(model, draft_model=model, ignore_eos=True)
    options = {"max_tokens": 40, "temperature": temperature, "seed": 2}
    assert one.generate([5, 6], draft_length=length, **options).statistics.acceptance_rate == 1.0


@pytest.mark.parametrize("length", LENGTHS)
def test_ties_go_to_the_lowest_id(length):
    tied = TableModel(always(["1/5", "2/5", "2/5"]), 3)
    for drafter in ({"drafter": "none"}, {"drafter": "lookup"}, {"draft_model": tied}):
        one = Engine(tied, tokenizer=WordTokenizer(["a", "b", "c"]), **drafter)
        assert set(one.generate([2, 0], max_tokens=12, draft_length=length).tokens) == {1}
