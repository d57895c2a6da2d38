"""Case 16: a draft vocabulary larger, then smaller, than the target's. vllm 7252, transformers 45307, llama.cpp 28158."""

import numpy as np
import pytest

from headstart.engine import Engine
from headstart.errors import InputError, RefusedError
from headstart.theory import chi_square
from headstart.toy import TableModel, WordTokenizer, always
from support.kit import LENGTHS, both, engine, random_model

PROMPT = [50, 60, 70]


def make(**options):
    return engine(random_model(seed=2), ignore_eos=True, **options)


class Watched:
    """A draft model that remembers every token it was given, and scores its extra rows highest."""

    def __init__(self, model, vocab_size):
        self._model, self.vocab_size, self.given = model, vocab_size, set()
        self.context, self.row_invariant, self.numerics_id = model.context, True, "watched"
        self.open, self.fork, self.close, self.length, self.keep = (
            model.open,
            model.fork,
            model.close,
            model.length,
            model.keep,
        )

    def forward(self, batch, *, taps=()):
        self.given.update(batch.tokens.tolist())
        return WatchedRows(self._model.forward(batch, taps=taps), self.vocab_size)


class WatchedRows:
    def __init__(self, rows, vocab_size):
        self._rows, self._vocab_size = rows, vocab_size

    def logits(self, row):
        logits = self._rows.logits(row)
        extra = np.full(max(self._vocab_size - len(logits), 0), 1000.0, np.float32)
        return np.concatenate([logits, extra])[: self._vocab_size]


@pytest.mark.parametrize("vocab_size", [320, 280])
@pytest.mark.parametrize("temperature", [0.0, 0.9])
@pytest.mark.parametrize("guarantee", ["text", "law"])
@pytest.mark.parametrize("length", LENGTHS)
def test_no_id_beyond_the_target_anywhere(vocab_size, temperature, guarantee, length):
    draft = Watched(random_model(seed=2), vocab_size)
    one = make(draft_model=draft)
    assert "ids " + ("more" if vocab_size == 320 else "fewer") in one.note
    options = {"max_tokens": 40, "temperature": temperature, "seed": 3, "guarantee": guarantee, "draft_length": length}
    result = one.generate(PROMPT, **options)
    assert max(result.tokens) < 300
    assert max(draft.given) < min(300, vocab_size)
    assert result.statistics.tokens_drafted > 0
    if guarantee == "text":
        assert both(result) == both(make(drafter="none").generate(PROMPT, **options))


@pytest.mark.parametrize("draft_size", [4, 2])
@pytest.mark.parametrize("length", [1, 2, 3])
def test_the_law_is_the_targets(draft_size, length):
    """Chi-square at level 1e-4: the token that a small draft cannot make comes as often as it should."""
    target = TableModel(always(["1/2", "3/10", "1/5"]), 3)
    draft = TableModel(always(["1/5", "4/5"] if draft_size == 2 else ["1/10", "1/10", "1/5", "3/5"]), draft_size)
    words = ["a", "b", "c"]
    one = Engine(target, tokenizer=WordTokenizer(words), draft_model=draft, guarantee="law", temperature=1.0)
    counts = np.zeros(3, int)
    for seed in range(600):
        np.add.at(counts, list(one.generate([0], max_tokens=5, seed=seed, draft_length=length).tokens), 1)
    assert chi_square(counts.tolist(), [counts.sum() * p for p in (0.5, 0.3, 0.2)]).p_value > 1e-4


def test_one_size_with_other_meanings_is_refused_by_name():
    target, draft = TableModel(always(["1/2", "1/2"]), 2), TableModel(always(["1/2", "1/2"]), 2)
    target.tokenizer, draft.tokenizer = WordTokenizer(["love", "hate"]), WordTokenizer(["hate", "love"])
    with pytest.raises(RefusedError, match="the first ones 0"):
        Engine(target, draft_model=draft)
    Engine(target, draft_model=draft, draft_vocabulary="same")
    swapped = Engine(target, draft_model=draft, draft_vocabulary="intersection")
    assert len(swapped.generate([0], max_tokens=9).tokens) == 9
    with pytest.raises(InputError, match="draft_vocabulary is 'maybe'"):
        Engine(target, draft_model=draft, draft_vocabulary="maybe")
