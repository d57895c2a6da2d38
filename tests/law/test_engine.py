"""The whole engine by enumeration: under ``law`` the law of answers is plain decoding's, whatever is asked for.

Answers are ids, text, end and error. Nothing is sampled: every coin falls every way. Laws are float64, so the demand is
equality to rounding; a planted fault moves the law by thousands of times as much.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headstart.draft.draw import sampled_chain, sampled_paths, sampled_tree
from headstart.engine import Engine
from headstart.errors import DeadEndError
from headstart.protocols import Needs
from headstart.request import Request
from headstart.toy import WORLDS, TableModel, WordTokenizer, World, always, markov
from headstart.tree import Draft
from headstart.verify.broken.faults import look_for_the_end_after_the_round, process_the_committed_text_only
from support.asked import TOY, dead_end
from support.enumeration import answers, distance

ROUNDING = 1e-7
"""Logits are float32 logarithms of the laws, the same ones for both sides; what differs is float64 arithmetic."""


class Drawn:
    """A drafter that draws from a rule's laws, shaped as the request asks, in any form: chain, tree, paths."""

    name = "drawn"
    needs = Needs()

    def __init__(self, model: TableModel, draw: Callable[..., Draft]) -> None:
        self.model, self.draw = model, draw

    def start(self, request: Request) -> None: ...

    def propose(self, request: Request, budget: int) -> Draft:
        def law_of(tokens: tuple[int, ...]) -> Any:
            history = [*request.tokens, *tokens]
            try:
                return request.sampling.law(self.model.logits(tuple(history)), history, request.prompt_length)
            except DeadEndError:
                return None

        return self.draw(law_of, budget, request.coins)

    def observe(self, request: Request, tokens: Any, rows: Any) -> None: ...
    def fork(self, request: Request, copy: Request) -> None: ...
    def close(self, request: Request) -> None: ...


def chain(law_of, budget, coins):
    return sampled_chain(law_of, budget, coins)


def tree(law_of, budget, coins):
    return sampled_tree(law_of, [2, 1][: min(budget, 2)], coins)


def paths(law_of, budget, coins):
    return sampled_paths(law_of, 2, min(budget, 2), coins)


def certain(law_of, budget, coins):
    return Draft.chain([(n + 1) % 3 for n in range(budget)])


ENDING = WORLDS["ending"]


def make(world: World, **options: Any) -> Callable[[], Engine]:
    return lambda: Engine(
        world.model(), tokenizer=world.tokenizer(), **{"guarantee": "law", "temperature": 1.0, **options}
    )


def moved(
    world: World, draw: Callable[..., Draft], verifier: str | None, length: int, *, prompt: Any = (0,), **options: Any
) -> float:
    """Total variation between drafted and plain answers."""
    drafter = Drawn(world.draft_model(), draw)
    plain = answers(make(world, drafter="none"), prompt, **options)
    assert sum(plain.values()) == pytest.approx(1)
    drafted = answers(make(world, drafter=drafter, verifier=verifier), prompt, draft_length=length, **options)
    assert sum(drafted.values()) == pytest.approx(1)
    return distance(plain, drafted)


CHAINS = [(chain, rule) for rule in ("token", "block", "multi-step", "traversal", "k-seq")]
WIDE = [(tree, "multi-step"), (tree, "traversal"), (paths, "multi-path-block")]
CERTAIN = [(certain, "walk"), (certain, "block")]


def name(value: Any) -> str:
    return getattr(value, "__name__", str(value))


@pytest.mark.parametrize("asked", TOY)
@pytest.mark.parametrize(("draw", "verifier"), [*CHAINS, *CERTAIN], ids=name)
def test_every_parameter(asked, draw, verifier):
    assert moved(ENDING, draw, verifier, 2, **{"max_tokens": 3, **TOY[asked]}) < ROUNDING


@pytest.mark.parametrize("asked", TOY)
@pytest.mark.parametrize(("draw", "verifier"), WIDE, ids=name)
def test_every_parameter_on_trees_and_paths(asked, draw, verifier):
    assert moved(ENDING, draw, verifier, 4, **{"max_tokens": 2, **TOY[asked]}) < ROUNDING


PENALTIES = {"repetition_penalty": 1.7, "presence_penalty": 0.5, "frequency_penalty": 0.4}


@pytest.mark.parametrize("asked", [PENALTIES, {"processors": [dead_end]}], ids=["penalties", "dead ends"])
@pytest.mark.parametrize(("draw", "verifier"), WIDE, ids=name)
def test_longer_texts_on_trees_and_paths(asked, draw, verifier):
    assert moved(ENDING, draw, verifier, 4, max_tokens=3, **asked) < ROUNDING


_FORKS = [[0, 3, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1], [1, 0, 0, 0]]
SPARSE = World("sparse", ("a", "b", "c", "d"), markov(_FORKS), markov([[0, 2, 3, 0], *_FORKS[1:]]))
"""Only every third word is open, so that long drafts can be enumerated; where the text begins says which."""


@pytest.mark.parametrize("begin", [0, 1, 3])
@pytest.mark.parametrize("length", range(1, 9))
@pytest.mark.parametrize(("draw", "verifier"), CHAINS, ids=name)
def test_every_length_with_the_bonus_and_the_round_after(length, begin, draw, verifier):
    options = {"max_tokens": length + 2, "presence_penalty": 0.5, "prompt": [begin]}
    assert moved(SPARSE, draw, verifier, length, **options) < ROUNDING


@pytest.mark.parametrize("fault", [process_the_committed_text_only, look_for_the_end_after_the_round])
def test_a_planted_fault_moves_the_law(fault):
    asked = {"max_tokens": 3, **PENALTIES}
    drafter = Drawn(ENDING.draft_model(), chain)
    plain = answers(make(ENDING, drafter="none"), [0], **asked)
    drafted = answers(make(ENDING, drafter=drafter), [0], draft_length=2, meddle=fault, **asked)
    assert distance(plain, drafted) > 1000 * ROUNDING


def draft_of(pair: str) -> TableModel:
    """A draft model whose words are more, fewer, or others."""
    sizes = {
        "more words": ["1/5", "1/5", "1/5", "2/5"],
        "fewer words": ["1/4", "3/4"],
        "other words": ["2/5", "1/5", "2/5"],
    }
    draft = TableModel(always(sizes[pair]), len(sizes[pair]))
    if pair == "other words":
        draft.tokenizer = WordTokenizer(["hate", "other", "love"])
        draft.tokenizer.encode = lambda text, special: [0 if word == "hate" else 2 for word in text.split()]
    return draft


@pytest.mark.parametrize("asked", ["temperature", "repetition_penalty", "logit_bias", "banned_tokens", "forced_tokens"])
@pytest.mark.parametrize("pair", ["more words", "fewer words", "other words"])
def test_pairs_of_vocabularies(asked, pair):
    """Words that a draft model lacks come as often as in plain decoding."""
    vocabulary = "intersection" if pair == "other words" else "auto"
    options = {"max_tokens": 3, **TOY[asked]}
    plain = answers(make(ENDING, drafter="none"), [0], **options)
    drafting = make(ENDING, draft_model=draft_of(pair), draft_vocabulary=vocabulary)
    assert distance(plain, answers(drafting, [0], draft_length=2, **options)) < ROUNDING
