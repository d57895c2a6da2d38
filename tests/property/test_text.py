"""Any text cut into any tokens, with any stops: whole characters come out, and the answer ends where a plain search says."""

from __future__ import annotations

import codecs

from hypothesis import given
from hypothesis import strategies as st

from headstart.text import TextStream

CHARACTERS = [
    *"ab,1 ",
    "é",
    "日",
    "가",
    "🙂",
    "👩🏽",
    "👩\u200d👩\u200d👧",
    "❤\ufe0f",
    "🇫🇷",
    "🇩🇪",
    "🏴\U000e0067\U000e0062\U000e007f",
    "क\u094dषि",
    "ไทย"[0],
    "ที่",
    "שָׁ",
    "\r\n",
    "\u1112\u1161\u11ab",
]
"""Each is what a reader takes for one character."""

MARKED = [*"ab,1 ", "e\u0301", "o\u0302\u0323", "か\u3099"]
"""Letters with marks of their own: whole once the text has set the first."""


def tokens(data: st.DataObject, text: str) -> list[bytes]:
    """A text's bytes, cut anywhere."""
    raw, parts = text.encode(), []
    while raw:
        size = data.draw(st.integers(1, 5))
        parts.append(raw[:size])
        raw = raw[size:]
    return parts


def texts(characters: list[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(characters), min_size=1, max_size=12)


@given(st.data(), st.one_of(texts(CHARACTERS), texts(MARKED).map(lambda more: ["x", "e\u0301", *more])))
def test_characters_come_out_whole(data: st.DataObject, characters: list[str]) -> None:
    parts = tokens(data, "".join(characters))
    stream = TextStream(parts.__getitem__)
    for token in range(len(parts)):
        assert stream.push(token, "plain") is None
    stream.finish()
    pieces = stream.take()
    ends = {len("".join(characters[:count])) for count in range(len(characters) + 1)}
    ends |= {len("xe")} if characters[0] == "x" else set()
    at = 0
    for piece in pieces:
        at += len(piece.text)
        assert at in ends
    assert stream.text == "".join(piece.text for piece in pieces) == "".join(characters)
    assert [token for piece in pieces for token in piece.tokens] == list(range(len(parts)))


def searched(parts: list[bytes], stops: list[str], include: bool, min_tokens: int) -> tuple[str, int, str | None]:
    """Text, tokens taken and the stop, by searching the whole text anew after every token."""
    decoder, text, deaf = codecs.getincrementaldecoder("utf-8")(errors="replace"), "", 0
    for count, part in enumerate(parts, start=1):
        text += decoder.decode(part)
        if count <= min_tokens:
            deaf = len(text)
            continue
        found = [(at, stop) for stop in stops if (at := text.find(stop, deaf)) >= 0]
        if found:
            at, stop = min(found)
            return text[: at + len(stop) if include else at], count, stop
    return text + decoder.decode(b"", True), len(parts), None


@given(
    st.data(),
    texts([*CHARACTERS, *MARKED]),
    st.lists(texts([*CHARACTERS, "\u0301", "\u200d"]).map(lambda stop: "".join(stop[:3])), max_size=3),
    st.booleans(),
    st.integers(0, 6),
)
def test_stops_cut_where_a_plain_search_does(
    data: st.DataObject, characters: list[str], stops: list[str], include: bool, min_tokens: int
) -> None:
    parts = tokens(data, "".join(characters))
    expected, count, stop = searched(parts, stops, include, min_tokens)
    stream = TextStream(parts.__getitem__, stops=stops, include_stop=include, min_tokens=min_tokens)
    given_out, found = "", None
    for token in range(len(parts)):
        found = stream.push(token, "plain")
        given_out += "".join(piece.text for piece in stream.take())
        assert expected.startswith(given_out), "no character of a stop string is given out"
        if found is not None:
            break
    stream.finish()
    assert (stream.text, token + 1, found) == (expected, count, stop)
