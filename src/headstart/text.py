"""From tokens to text, as it is made: whole characters only, and nothing that may turn out to be a stop string.

What is held back, besides the bytes of half a character: an end that more text may still change (``characters``), and an end
that a stop string may begin with. All of it is given out at the end of the answer, once.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence

from headstart.characters import growing, has_marks
from headstart.protocols import Kind
from headstart.result import Piece

__all__ = ["TextStream"]


class TextStream:
    """Turns tokens into pieces of text.

    Parameters
    ----------
    token_bytes : callable of int to bytes
        The exact bytes of a token (``Tokenizer.token_bytes``).
    stops : sequence of str
        Strings that end the answer. Text that may be the beginning of one is held back until it is decided.
    include_stop : bool
        Whether the stop string that ended the answer is part of the text.
    min_tokens : int
        Stop strings are looked for in the text after this many tokens.
    """

    def __init__(
        self,
        token_bytes: Callable[[int], bytes],
        *,
        stops: Sequence[str] = (),
        include_stop: bool = False,
        min_tokens: int = 0,
    ) -> None:
        self._token_bytes = token_bytes
        self._torn = b""  # the beginning of a character that a later token ends
        self._stops, self._include_stop = tuple(stops), include_stop
        self._longest_start = max((len(stop) - 1 for stop in stops), default=0)
        self._start_ends = frozenset("".join(stop[:-1] for stop in stops))
        self._unstoppable = min_tokens
        self._deaf = 0  # so many held characters came too early to be of a stop string
        self._marked = False
        self._stopped = False
        self._held = ""
        self._held_tokens: list[tuple[int, int, Kind]] = []  # token, where its text ends in `held`, origin
        self._given: list[str] = []
        self._pieces: list[Piece] = []

    @property
    def text(self) -> str:
        """All text given out so far; after ``finish`` all there is."""
        return "".join(self._given)

    def push(self, token: int, origin: Kind) -> str | None:
        """Take one token; returns the stop string that it completes, if any."""
        read = self._torn + self._token_bytes(token)
        new, whole = codecs.utf_8_decode(read, "replace")
        self._torn = read[whole:]
        self._held += new
        self._marked = self._marked or has_marks(new)
        self._held_tokens.append((token, len(self._held) + bool(self._torn), origin))
        if self._unstoppable:
            self._unstoppable -= 1
            self._deaf = len(self._held)
        elif (stop := self._completed()) is not None:
            self._stopped = True
            return stop
        size = len(self._held) - self._undecided()
        self._give(size - growing(self._held[:size], marked=self._marked))
        return None

    def end(self, token: int, origin: Kind) -> None:
        """Take a token that ends the answer and has no text."""
        self._held_tokens.append((token, len(self._held), origin))

    def finish(self) -> None:
        """Give out what is held back: the answer is over."""
        if not self._stopped:
            self._held += codecs.utf_8_decode(self._torn, "replace", True)[0]
            self._torn = b""
        self._held_tokens = [(token, min(end, len(self._held)), origin) for token, end, origin in self._held_tokens]
        self._give(len(self._held))

    def take(self) -> list[Piece]:
        """Pieces that became certain since the last call."""
        pieces, self._pieces = self._pieces, []
        return pieces

    def _completed(self) -> str | None:
        """The stop string in the held text that begins first, if any; what follows it is dropped, and itself if so asked."""
        found = [(at, stop) for stop in self._stops if (at := self._held.find(stop, self._deaf)) >= 0]
        if not found:
            return None
        at, stop = min(found)
        self._held = self._held[: at + len(stop) if self._include_stop else at]
        return stop

    def _undecided(self) -> int:
        """Length of the longest end of the held text that a stop string may begin with."""
        if self._held[-1:] not in self._start_ends:
            return 0
        sizes = range(min(self._longest_start, len(self._held) - self._deaf), 0, -1)
        return next((n for n in sizes if any(stop.startswith(self._held[-n:]) for stop in self._stops)), 0)

    def _give(self, size: int) -> None:
        """Give out the first ``size`` held characters and the tokens that end in them."""
        done = [entry for entry in self._held_tokens if entry[1] <= size]
        if not done and not size:
            return
        origin = (done or self._held_tokens)[-1][2]
        given, self._held = self._held[:size], self._held[size:]
        self._pieces.append(Piece(given, tuple([token for token, _, _ in done]), origin))
        self._given.append(given)
        self._deaf = max(self._deaf - size, 0)
        self._held_tokens = [(token, end - size, kind) for token, end, kind in self._held_tokens[len(done) :]]
