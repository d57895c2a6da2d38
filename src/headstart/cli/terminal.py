"""What a terminal shows: a passing word on what is going on, marks for where tokens come from, the closing figures.

Knows nothing of models.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from types import FrameType, MappingProxyType
from typing import TYPE_CHECKING, Any, TextIO

from headstart.cli import ENDS
from headstart.errors import HeadstartError

if TYPE_CHECKING:
    from headstart.request import Request
    from headstart.result import Piece, Result
    from headstart.stream import Stream

__all__ = ["Interrupt", "Writer", "figures", "follow", "print_json", "reading", "status", "stop_on_interrupt"]

_CLEAR = "\r\x1b[K"
_RESET = "\x1b[0m"
_MARKS: Mapping[str, tuple[str, str, str]] = MappingProxyType(
    {
        "accepted": ("\x1b[32m", "✓", ">"),
        "recovered": ("\x1b[35m", "↺", "~"),
        "bonus": ("\x1b[33m", "★", "*"),
        "plain": ("", "·", "."),
    }
)
"""Colour of each origin, its sign, and its sign where only ASCII can be written."""

_CONTROLS = {code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"} | {0x7F: 0x2421}
"""Control characters, made visible so that a model's text cannot steer the terminal."""


@contextlib.contextmanager
def status(doing: str) -> Iterator[Callable[[str], None]]:
    """Say on stderr what is going on, for as long as it does, if that is a terminal; gives a way to say something newer."""
    if not sys.stderr.isatty():
        yield lambda _doing: None
        return
    shown, over, begin = [doing], threading.Event(), time.monotonic()

    def say(doing: str | None = None) -> None:
        shown[0] = doing or shown[0]
        seconds = int(time.monotonic() - begin)
        sys.stderr.write(f"{_CLEAR}{shown[0]} … {f'{seconds} s' if seconds else ''}")
        sys.stderr.flush()

    def tick() -> None:
        while not over.wait(1):
            say()

    ticker = threading.Thread(target=tick, daemon=True)
    say()
    ticker.start()
    try:
        yield say
    finally:
        over.set()
        ticker.join()
        sys.stderr.write(_CLEAR)
        sys.stderr.flush()


@contextlib.contextmanager
def reading(request: Request) -> Iterator[None]:
    """Say how much of a prompt has been read, while it is."""
    with status("reading the prompt") as say:
        request.on_prefill = lambda done, whole: say(f"reading the prompt: {done} of {whole} tokens")
        try:
            yield
        finally:
            request.on_prefill = None


class Writer:
    """Writes an answer to stdout as it is made: the bare text, or marked on a terminal.

    Parameters
    ----------
    show_origin : bool
        Mark where tokens come from, where stdout is a terminal.
    legend : bool
        Say on stderr what the marks mean.
    """

    def __init__(self, *, show_origin: bool = False, legend: bool = True) -> None:
        self._out = sys.stdout
        self._terminal = self._out.isatty()
        self._marked = show_origin and self._terminal
        self._colour = "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        self._ascii = not _can_write(self._out, "✓↺★·")
        self._last = ""
        self._open = False
        if isinstance(self._out, io.TextIOWrapper):
            if self._terminal:
                self._out.reconfigure(errors="replace")
            else:
                self._out.reconfigure(encoding="utf-8", newline="")
        if self._marked and legend:
            print("  ".join(self._mark(origin, f" {origin}") for origin in _MARKS), file=sys.stderr)
        elif show_origin and legend:
            print("headstart: stdout is not a terminal, so origins are not marked", file=sys.stderr)

    def write(self, piece: Piece) -> None:
        """Write one piece at once."""
        text = piece.text.translate(_CONTROLS) if self._terminal else piece.text
        if self._marked and text:
            text, self._last = self._mark(piece.origin, text), piece.origin
        self._open = self._open or bool(text)
        self._out.write(text)
        self._out.flush()

    def break_off(self) -> None:
        """Close what was written of an answer that failed, so that the sentence why has a line of its own."""
        if self._open:
            self.end()

    def end(self) -> None:
        """Close the answer with a line's end."""
        self._open = False
        self._out.write("\n")
        self._out.flush()

    def _mark(self, origin: str, text: str) -> str:
        """Colour a text, with the origin's sign before it where the origin changes."""
        colour, sign, plain_sign = _MARKS[origin]
        sign = "" if origin == self._last else plain_sign if self._ascii else sign
        return f"{colour}{sign}{text}{_RESET}" if self._colour and colour else f"{sign}{text}"


def follow(stream: Stream, writer: Writer | None) -> bool:
    """Write an answer as it is made; Ctrl-C ends it early, and then it gives True; SIGTERM ends the process after that."""
    write = writer.write if writer is not None else lambda _piece: None
    with reading(stream.request):
        stream.start()
    with stop_on_interrupt() as interrupt:
        try:
            for piece in stream:
                write(piece)
                if interrupt.pressed:
                    break
            stream.close()
        except HeadstartError:
            if writer is not None:
                writer.break_off()
            raise
        for piece in stream.request.text.take():  # what was held back when the answer was stopped
            write(piece)
    if writer is not None:
        writer.end()
    if interrupt.number != signal.SIGINT:
        raise SystemExit(128 + interrupt.number)
    return interrupt.pressed


def print_json(document: Mapping[str, Any]) -> None:
    """Print one line of JSON, in escapes where stdout's encoding lacks a character of it."""
    line = json.dumps(document, ensure_ascii=False)
    print(line if _can_write(sys.stdout, line) else json.dumps(document))


def figures(result: Result) -> str:
    """The closing line: speed, tokens per pass, acceptance or why nothing was drafted."""
    statistics = result.statistics
    parts = [f"{statistics.tokens} tokens"]
    if statistics.tokens_per_s is not None:
        parts.append(f"{statistics.tokens_per_s:.1f} tokens/s")
    if statistics.tokens_per_pass is not None:
        parts.append(f"{statistics.tokens_per_pass:.2f} tokens per pass")
    if statistics.acceptance_rate is not None:
        parts.append(
            f"acceptance {statistics.acceptance_rate:.0%} ({statistics.tokens_accepted} of {statistics.tokens_drafted} drafted)"
        )
    elif statistics.note is None:
        parts.append("nothing drafted: no draft was worth a try")
    else:
        parts.append(f"nothing drafted: {statistics.note}")
    if statistics.acceptance_rate is not None and statistics.note is not None:
        parts.append(statistics.note)
    if result.finish_reason == "length":
        parts.append(f"cut off by {result.stop_reason}")
    if result.guarantee != "text":
        parts.append(f"guarantee {result.guarantee}")
    return " · ".join([*parts, f"seed {result.seed}"])


class Interrupt:
    """Whether Ctrl-C was pressed, or the process was asked to end, and by which signal."""

    pressed = False
    number: int = signal.SIGINT


@contextlib.contextmanager
def stop_on_interrupt() -> Iterator[Interrupt]:
    """Note the first Ctrl-C or wish to end, so that the round under way can end well; the second one interrupts at once."""
    interrupt = Interrupt()

    def note(number: int, _frame: FrameType | None) -> None:
        if interrupt.pressed:
            raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)
        interrupt.pressed, interrupt.number = True, number

    before: dict[int, Any] = {}
    try:
        with contextlib.suppress(ValueError):  # not the main thread: whoever runs us there handles signals
            for number in _signals_handled():
                before[number] = signal.signal(number, note)
        yield interrupt
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _signals_handled() -> list[int]:
    """Ctrl-C, and the wishes to end that the command line handles."""
    return [signal.SIGINT, *(number for number in ENDS if callable(signal.getsignal(number)))]


def _can_write(stream: TextIO, text: str) -> bool:
    try:
        text.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
