"""Case 18: a draft model with another tokenizer. transformers 46936, 46124; vllm 38174."""

import numpy as np
import pytest

from headstart.engine import Engine
from headstart.theory import chi_square
from headstart.toy import TableModel, WordTokenizer, always
from support.kit import LENGTHS, both, random_model
from support.other import Other
from support.tiny import tiny_tokenizer

PROMPTS = ["  two spaces", "line\n\nline", "日本語とemoji 🙂", "the thing is there", "é"]


def make(**options):
    return Engine(random_model(seed=2), tokenizer=tiny_tokenizer(300), ignore_eos=True, **options)


@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("temperature", [0.0, 0.8])
@pytest.mark.parametrize("vocabulary", ["auto", "strings"])
def test_equal_to_plain(prompt, temperature, vocabulary):
    options = {"raw": True, "max_tokens": 64, "temperature": temperature, "seed": 1}
    plain = make(drafter="none").generate(prompt, **options)
    drafted_tokens = 0
    for length in LENGTHS:
        draft = Other()
        one = make(draft_model=draft, draft_vocabulary=vocabulary)
        assert ("another tokenizer" if vocabulary == "auto" else "respelled") in one.note
        drafted = one.generate(prompt, draft_length=length, **options)
        assert both(drafted) == both(plain)
        read = [token for tokens in draft.given for token in tokens]
        assert max(read) < 262
        assert read.count(draft.tokenizer.bos_id) == 1
        drafted_tokens += drafted.statistics.tokens_drafted
    assert drafted_tokens > 100


def test_the_law_is_the_targets():
    """Chi-square at level 1e-4. The draft knows two of the three words, in another order, and one that the target lacks."""
    target = TableModel(always(["1/2", "3/10", "1/5"]), 3)
    draft = TableModel(always(["1/5", "1/5", "2/5", "1/5"]), 4)
    draft.tokenizer = WordTokenizer(["c", "x", "a", "y"])
    known = {word: token for token, word in enumerate(draft.tokenizer.words)}
    draft.tokenizer.encode = lambda text, special: [known[word] for word in text.split() if word in known]
    target.tokenizer = WordTokenizer(["a", "b", "c"])
    target.tokenizer.encode = None  # committed ids of the target are never encoded again
    one = Engine(target, draft_model=draft, guarantee="law", temperature=1.0)
    counts = np.zeros(3, int)
    for seed in range(500):
        result = one.generate([0], max_tokens=5, seed=seed, draft_length=3)
        np.add.at(counts, list(result.tokens), 1)
    assert result.statistics.note is None
    assert chi_square(counts.tolist(), [counts.sum() * p for p in (0.5, 0.3, 0.2)]).p_value > 1e-4
