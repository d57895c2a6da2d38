"""Where a text may be cut without tearing a character apart that more text would still change.

What a reader sees as one character may be several code points: an emoji and its joined companions, a letter and its marks.
The rule is made for streams, so ordinary text is never held back. Knows nothing of tokens or streams.

=====================================================  ==================================================================
a text that ends in                                    may still grow
=====================================================  ==================================================================
an emoji, or one joined, coloured or varied            yes: a joiner, a skin tone or a variation may follow
an odd number of regional indicators                   yes: half a flag
a letter of a script that is written with marks        yes: Hebrew, Arabic, the scripts of India and South-East Asia, Jamo
a combining mark, a joiner, a carriage return          yes
any other letter or digit                              only in a text that has set marks on such letters before
anything else                                          no
=====================================================  ==================================================================

So two things may come apart: the first combining mark of a text otherwise written without them, from its letter; and what
varies an ordinary letter or digit, such as the frame of a keycap.
"""

from __future__ import annotations

import unicodedata

__all__ = ["growing", "has_marks"]

LONGEST = 32
"""A cluster of more code points than this is cut: nothing is held back without end."""

_VIRAMA = 9
"""Combining class of the signs that join two consonants."""

_MARKED = ((0x0590, 0x109F), (0x1100, 0x115F), (0x1700, 0x1CFF), (0xA800, 0xAADF), (0xABC0, 0xABFF), (0x11000, 0x11FFF))
"""Scripts whose letters usually carry marks."""

_EMOJI = (
    (0x00A9, 0x00A9),
    (0x00AE, 0x00AE),
    (0x203C, 0x203C),
    (0x2049, 0x2049),
    (0x2122, 0x2122),
    (0x2139, 0x2139),
    (0x2190, 0x21FF),
    (0x2300, 0x23FF),
    (0x25A0, 0x27BF),
    (0x2900, 0x297F),
    (0x2B00, 0x2BFF),
    (0x3030, 0x3030),
    (0x303D, 0x303D),
    (0x3297, 0x3299),
    (0x1F000, 0x1F1E5),
    (0x1F200, 0x1FAFF),
)
"""Blocks of symbols that may be joined, coloured or varied."""

_JOINING = ((0x1160, 0x11FF), (0xD7B0, 0xD7FF), (0x200C, 0x200D), (0x1F3FB, 0x1F3FF), (0xE0020, 0xE007F))
"""Code points beyond the combining marks that belong to what stands before them."""

_LOOSE_MARKS = ((0x0300, 0x036F), (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x3099, 0x309A), (0xFE20, 0xFE2F))
"""Combining marks of no script in particular."""

_REGIONAL = "".join(map(chr, range(0x1F1E6, 0x1F200)))
"""Letters that make flags in pairs."""


def growing(text: str, *, marked: bool = False) -> int:
    """Length of the last character of a text, in code points, if more text may still change it; otherwise 0.

    Parameters
    ----------
    text : str
    marked : bool
        Whether the text has set marks on letters of any script before (``has_marks``).

    Examples
    --------
    >>> growing("it is"), growing("a family: \\U0001f468\\u200d"), growing("cafe\\u0301")
    (0, 2, 2)
    """
    if not text or (text[-1].isascii() and text[-1] != "\r" and not marked):
        return 0
    if text[-1] in _REGIONAL:
        return (len(text) - len(text.rstrip(_REGIONAL))) % 2
    start = _last_character(text)
    open_ended = start < len(text) - 1 or _may_grow(text[start]) or (marked and text[start].isalnum())
    return len(text) - start if open_ended else 0


def has_marks(text: str) -> bool:
    """Whether a text holds a combining mark that is of no script in particular."""
    return not text.isascii() and any(_in(character, _LOOSE_MARKS) for character in text)


def _last_character(text: str) -> int:
    """Where the last character begins."""
    at = len(text) - 1
    while at > 0 and len(text) - at < LONGEST and (_joins(text[at]) or _links(text[at - 1])):
        at -= 1
    return at


def _may_grow(character: str) -> bool:
    return character == "\r" or _joins(character) or _in(character, _MARKED) or _in(character, _EMOJI)


def _joins(character: str) -> bool:
    return unicodedata.category(character)[0] == "M" or _in(character, _JOINING)


def _links(character: str) -> bool:
    """Whether what follows a code point belongs to it."""
    return character == "\u200d" or unicodedata.combining(character) == _VIRAMA


def _in(character: str, ranges: tuple[tuple[int, int], ...]) -> bool:
    code = ord(character)
    return any(low <= code <= high for low, high in ranges)
