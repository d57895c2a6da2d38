"""The engine on toy worlds: same text whatever the drafter, honest figures, reasons when idle, clear refusals."""

import numpy as np
import pytest

from headstart.engine import Engine
from headstart.errors import InputError, RefusedError
from headstart.protocols import Needs
from headstart.toy import random_world
from headstart.tree import Draft
from support import kit
from support.tiny import CHAT_TEMPLATE

WORLD = random_world(6, seed=3)
PROMPT = [0, 1, 2]


def engine(**options):
    return Engine(WORLD.model(), tokenizer=WORLD.tokenizer(), ignore_eos=True, **options)


class Scripted:
    """Proposes the given continuation with one place of every block made wrong."""

    name = "scripted"
    needs = Needs()

    def __init__(self, truth, wrong_places):
        self.truth, self.wrong_places, self.rounds = truth, wrong_places, 0

    def start(self, request):
        self.rounds = 0

    def propose(self, request, budget):
        at = len(request.tokens)
        tokens = list(self.truth[at : at + budget])
        wrong = self.wrong_places[self.rounds % len(self.wrong_places)]
        self.rounds += 1
        if wrong < len(tokens):
            tokens[wrong] = (tokens[wrong] + 1) % 6
        return Draft.chain(tokens)

    def observe(self, request, tokens, rows):
        pass

    def fork(self, request, copy):
        pass

    def close(self, request):
        pass


@pytest.mark.parametrize("temperature", [0.0, 0.3, 1.0, 1.5])
@pytest.mark.parametrize("length", [None, 1, 2, 3, 5, 8])
def test_text_does_not_move_with_the_drafter(temperature, length):
    options = {"max_tokens": 60, "temperature": temperature, "seed": 11}
    plain = engine(drafter="none").generate(PROMPT, **options)
    drafters = [
        engine(drafter="lookup"),
        engine(draft_model=WORLD.draft_model()),
        engine(draft_model=WORLD.model()),
        engine(drafter=Scripted([*PROMPT, *plain.tokens], [0, 1, 9, 2])),
    ]
    for drafted in drafters:
        result = drafted.generate(PROMPT, draft_length=length, **options)
        assert (result.tokens, result.text, result.finish_reason) == (plain.tokens, plain.text, plain.finish_reason)
    assert result.statistics.tokens_accepted > 0


def test_two_seeds_differ():
    texts = {engine().generate(PROMPT, max_tokens=40, temperature=1.0, seed=seed).text for seed in range(4)}
    assert len(texts) == 4


def test_figures_of_a_scripted_run():
    plain = engine(drafter="none").generate(PROMPT, max_tokens=11, seed=1)
    drafter = Scripted([*PROMPT, *plain.tokens], [4, 0, 2, 1])
    run = engine(drafter=drafter).generate(PROMPT, max_tokens=64, draft_length=4, seed=1)
    assert run.tokens[:11] == plain.tokens
    truth = [*PROMPT, *engine(drafter="none").generate(PROMPT, max_tokens=40, seed=1).tokens]
    stream = engine(drafter=Scripted(truth, [4, 0, 2, 1])).stream(PROMPT, max_tokens=40, draft_length=4, seed=1)
    with stream:
        for _ in range(4):
            stream.advance()
    figures = stream.result.statistics
    assert (figures.tokens_drafted, figures.tokens_accepted, figures.rounds, figures.tokens) == (16, 7, 4, 11)
    assert figures.tokens_per_pass == 2.75
    assert figures.accepted_by_place == [3, 2, 1, 1]
    assert figures.drafted_by_place == [4, 4, 4, 4]


def test_nothing_drafted_has_a_reason_and_no_rate():
    figures = engine(drafter="none").generate(PROMPT, max_tokens=5).statistics
    assert figures.acceptance_rate is None
    assert figures.note == "drafting is off"


def test_a_failing_drafter_falls_back_to_plain():
    class Broken(Scripted):
        def propose(self, request, budget):
            raise RuntimeError("out of ideas")

    plain = engine(drafter="none").generate(PROMPT, max_tokens=20, seed=5)
    result = engine(drafter=Broken([], [0])).generate(PROMPT, max_tokens=20, seed=5)
    assert result.tokens == plain.tokens
    assert "out of ideas" in result.statistics.note


def test_batch_equals_alone():
    prompts = [[0], [1, 2], [3, 4, 5, 0]]
    options = {"max_tokens": 30, "temperature": 1.0, "seed": 3}
    together = engine().generate_batch(prompts, **options)
    assert [r.tokens for r in together] == [engine().generate(p, **options).tokens for p in prompts]


def test_warm_prefix_equals_cold():
    options = {"max_tokens": 30, "temperature": 1.0, "seed": 3}
    warm = engine()
    first = warm.generate(PROMPT, **options)
    prompt = [*PROMPT, *first.tokens, 4]
    second = warm.generate(prompt, **options)
    assert second.statistics.cached_tokens >= len(prompt) - 2
    assert second.tokens == engine().generate(prompt, **options).tokens


def test_closing_early_cancels_and_frees():
    one = engine()
    with one.stream(PROMPT, max_tokens=50, seed=2) as stream:
        next(iter(stream))
    assert stream.result.finish_reason == "cancelled"
    assert one.generate(PROMPT, max_tokens=10, seed=2).tokens == engine().generate(PROMPT, max_tokens=10, seed=2).tokens


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_tokens": 0}, "max_tokens is 0"),
        ({"max_tokens": -5}, "max_tokens is -5"),
        ({"max_tokens": True}, "max_tokens is True"),
        ({"draft_length": 65}, "draft_length is 65"),
        ({"guarantee": "maybe"}, "guarantee is 'maybe'"),
        ({"stop": ("",)}, "stop string is empty"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 2**64}, "seed is 18446744073709551616"),
        ({"drafter": "magic"}, "drafter 'magic' is unknown"),
        ({"temprature": 1.0}, "option 'temprature' is unknown"),
        ({"drafter": "model"}, "needs a draft model"),
        ({"stop": None}, "stop is None; it must be a text or a list of texts"),
        ({"stop": 5}, "stop is 5"),
        ({"logit_bias": [1]}, r"logit_bias is \[1\]; it must be a mapping"),
        ({"forced_tokens": 5}, "forced_tokens is 5; it must be a mapping"),
        ({"banned_tokens": 5}, "banned_tokens is 5; it must be a list"),
        ({"raw": 1}, "raw is 1; it must be True or False"),
        ({"ignore_eos": "yes"}, "ignore_eos is 'yes'; it must be True or False"),
        ({"stop_token_ids": 5}, "stop_token_ids is 5; it must be a list"),
        ({"processors": len}, "processors is <built-in function len>; it must be a list"),
        ({"grammar": "[0-9]+"}, "grammar is '.*'; it must be a Grammar"),
    ],
)
def test_bad_options_are_refused_in_a_sentence(options, words):
    with pytest.raises(InputError, match=words):
        engine().generate(PROMPT, **options)


@pytest.mark.parametrize("prompt", [[], [6], [-1], [0, "a"], {0: 1}, {"role": "user"}, {1, 2}])
def test_bad_prompts_are_refused(prompt):
    with pytest.raises(InputError):
        engine().generate(prompt)


@pytest.mark.parametrize("where", ["model", "draft_model"])
def test_what_is_no_model_is_refused_at_once(where):
    for thing in (5, object(), [WORLD.model()]):
        with pytest.raises(InputError, match=r"the model is .*; give a catalog name"):
            Engine(**{"model": WORLD.model(), "tokenizer": WORLD.tokenizer(), where: thing})


def test_arrays_of_numpy_are_collections_of_tokens():
    for options in ({"banned_tokens": [1, 2]}, {"stop_token_ids": [1, 2]}):
        arrays = {name: np.array(tokens) for name, tokens in options.items()}
        assert (
            engine().generate(PROMPT, max_tokens=5, **arrays).tokens
            == engine().generate(PROMPT, max_tokens=5, **options).tokens
        )


def test_text_needs_a_model_whose_rows_keep_their_bits():
    model = WORLD.model()
    model.row_invariant = False
    one = Engine(model, tokenizer=WORLD.tokenizer(), ignore_eos=True)
    with pytest.raises(RefusedError, match="use the guarantee 'law'"):
        one.generate(PROMPT, max_tokens=4)
    assert len(one.generate(PROMPT, max_tokens=4, guarantee="law").tokens) == 4


def test_raw_leaves_the_chat_template_out():
    def talking(**options):
        return kit.engine(kit.random_model(), chat_template=CHAT_TEMPLATE, ignore_eos=True, max_tokens=9, **options)

    one = talking()
    assert one.encode("a c", raw=True) == one.tokenizer.encode("a c")
    assert one.encode("a c") == one.encode([{"role": "user", "content": "a c"}]) != one.encode("a c", raw=True)
    for drafter in ("none", "lookup"):
        raw = talking(drafter=drafter, raw=True).generate("a c")
        assert raw.tokens == talking(drafter=drafter).generate(one.tokenizer.encode("a c")).tokens
        assert raw.tokens != talking(drafter=drafter).generate("a c").tokens
    with pytest.raises(InputError, match="has no chat template"):
        kit.engine(kit.random_model()).generate([{"role": "user", "content": "a"}])


def test_numbers_of_numpy_are_token_ids_and_other_things_are_not():
    assert engine().generate(np.array(PROMPT), max_tokens=5).tokens == engine().generate(PROMPT, max_tokens=5).tokens
    for prompt in (None, 5, [True], [1.0]):
        with pytest.raises(InputError):
            engine().generate(prompt)
