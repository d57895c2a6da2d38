"""Case 12: a stop and the length cap inside one block. sglang 31599."""

import pytest

from headstart.engine import Engine
from headstart.toy import TableModel, WordTokenizer, markov
from support.kit import Scripted, both

WORDS = ["a", "b", "STOP", "c", "d", "e", "f"]
CHAIN = TableModel(markov([[int(j == (i + 1) % 7) for j in range(7)] for i in range(7)]), 7)


@pytest.mark.parametrize("how", [{"stop": "STOP"}, {"stop_token_ids": [2]}])
@pytest.mark.parametrize(("cap", "count", "reason"), [(5, 3, "stop"), (2, 2, "length"), (3, 3, "stop")])
def test_whichever_comes_first(how, cap, count, reason):
    truth = [6, *range(7), *range(7)]
    plain = Engine(CHAIN, tokenizer=WordTokenizer(WORDS), drafter="none").generate([6], max_tokens=cap, **how)
    drafted = Engine(CHAIN, tokenizer=WordTokenizer(WORDS), drafter=Scripted(truth, [99])).generate(
        [6], max_tokens=cap, draft_length=8, **how
    )
    assert both(drafted) == both(plain)
    assert (len(drafted.tokens), drafted.finish_reason) == (count, reason)
    assert not set(drafted.tokens) & {3, 4, 5}
