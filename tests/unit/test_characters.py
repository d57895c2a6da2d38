"""What is held back so that characters come out whole, and that ordinary text never is."""

import pytest

from headstart.characters import LONGEST, growing, has_marks
from headstart.text import TextStream


def pieces_of(parts, **options):
    """Pieces as they come, one list for each token, then what the end gives."""
    stream, pieces = TextStream(parts.__getitem__, **options), []
    for token in range(len(parts)):
        stream.push(token, "plain")
        pieces.append([piece.text for piece in stream.take()])
    stream.finish()
    return [*pieces, [piece.text for piece in stream.take()]]


@pytest.mark.parametrize(
    "text",
    [
        "The quick brown fox, 3.14 times!\n",
        "Größe, naïveté, señor",
        "日本語のテキスト。",
        "한국어 문장",
        "Привет, мир",
        "a ← b",
    ],
)
def test_ordinary_text_is_never_held_back(text):
    given = pieces_of([character.encode() for character in text])
    ordinary = [character for character in text if character != "←"]
    assert sum(len(pieces) == 1 for pieces in given[:-1]) >= len(ordinary)
    assert given[-1] == []


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("", 0),
        ("word", 0),
        ("a 1", 0),
        ("日本", 0),
        ("👩", 1),
        ("x👩🏽", 2),
        ("👩\u200d", 2),
        ("👩\u200d👩\u200d👧", 5),
        ("❤\ufe0f", 2),
        ("🇫", 1),
        ("🇫🇷", 0),
        ("🇫🇷🇩", 1),
        ("cafe\u0301", 2),
        ("नि", 2),
        ("क\u094dष", 3),
        ("ไทย", 1),
        ("\u1100\u1161", 2),
        ("line\r", 1),
        ("line\r\n", 0),
        ("👩 ", 0),
        ("🏴\U000e0067\U000e0062\U000e007f", 4),
    ],
)
def test_the_end_that_may_still_grow(text, held):
    assert growing(text) == held


def test_letters_are_held_in_a_text_that_sets_marks_on_them():
    assert has_marks("e\u0301")
    assert not has_marks("naïve ไทย ❤\ufe0f")
    assert (growing("cafe", marked=True), growing("cafe ", marked=True)) == (1, 0)


def test_nothing_is_held_back_without_end():
    given = pieces_of([b"e"] + ["\u0301".encode()] * 200)
    assert len("".join("".join(pieces) for pieces in given[:-1])) >= 201 - LONGEST
