"""Case 27: split characters and the tail of the stream. vmlx-swift 148, hipfire 595, vllm 30204."""

import itertools
import json

import pytest

from support.kit import LENGTHS, Scripted, engine, random_model

CHARACTERS = ["x", "e\u0301", "é", "🙂", "日", "本", "👩\u200d👩\u200d👧", " ", "o\u0302\u0323", "🇫🇷", "ที่", "."]
TEXT = "".join(CHARACTERS)
ENDS = {len("".join(CHARACTERS[:count])) for count in range(len(CHARACTERS) + 1)}


def make(**options):
    return engine(random_model(seed=2), **options)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("cut", [None, 1, 2, 3, 5, 8, 13])
def test_pieces_join_and_characters_come_out_whole(length, cut):
    tokenizer = make().tokenizer
    ids = tokenizer.encode(TEXT)
    assert len(ids) > 20, "the characters must be split into bytes"
    forced = dict(enumerate([*ids, min(tokenizer.eos_ids)]))
    options = {"forced_tokens": forced, "max_tokens": cut or 100, "draft_length": length}
    plain = make(drafter="none").generate([5], **options)
    with make(drafter=Scripted([5, *ids, min(tokenizer.eos_ids)], [99, 1, 0])).stream([5], **options) as stream:
        pieces = list(stream)
    assert "".join(piece.text for piece in pieces) == plain.text == stream.result.text
    assert tuple(t for piece in pieces for t in piece.tokens) == plain.tokens
    ends = list(itertools.accumulate(len(piece.text) for piece in pieces))
    assert set(ends[:-1]) <= ENDS | {len("xe")}, "only the first mark of a text may come apart from its letter"
    for piece in pieces[:-1]:
        assert "�" not in piece.text
        assert json.loads(json.dumps(piece.text)) == piece.text
    if cut is None:
        assert plain.text == TEXT


def test_a_three_character_answer_arrives():
    tokenizer = make().tokenizer
    ids = [*tokenizer.encode("yes"), min(tokenizer.eos_ids)]
    with make().stream([5], forced_tokens=dict(enumerate(ids)), max_tokens=50) as stream:
        assert "".join(piece.text for piece in stream) == "yes"
