"""Text from tokens: whole characters, stop strings held back, pieces that join to the text."""

import pytest

from headstart.text import TextStream


def run(parts, *, stops=(), include_stop=False):
    stream = TextStream(parts.__getitem__, stops=stops, include_stop=include_stop)
    pieces, stopped = [], None
    for token in range(len(parts)):
        stopped = stream.push(token, "plain")
        pieces += stream.take()
        if stopped is not None:
            break
    stream.finish()
    pieces += stream.take()
    assert "".join(piece.text for piece in pieces) == stream.text
    assert [t for piece in pieces for t in piece.tokens] == list(range(token + 1))
    return stream.text, stopped, [piece.text for piece in pieces]


def test_a_character_split_over_tokens_comes_out_whole():
    emoji = "🙂".encode()
    text, _, pieces = run([b"a", emoji[:2], emoji[2:], b"b"])
    assert text == "a🙂b"
    assert pieces[-1] == "🙂b"


def test_a_cut_character_is_marked_once():
    assert run([b"a", "🙂".encode()[:2]])[0] == "a�"


@pytest.mark.parametrize("include", [False, True])
def test_a_stop_string_over_three_tokens_never_shows_before_it_is_decided(include):
    text, stopped, pieces = run([b"one ", b"EN", b"D", b" two"], stops=["END"], include_stop=include)
    assert stopped == "END"
    assert text == ("one END" if include else "one ")
    assert pieces[0] == "one "


def test_a_false_start_of_a_stop_is_given_out():
    assert run([b"EN", b"T", b"EN"], stops=["END"])[0] == "ENTEN"


def test_the_stop_that_begins_first_wins():
    assert run([b"abcd"], stops=["cd", "bc"])[:2] == ("a", "bc")
