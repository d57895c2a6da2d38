"""Where a prompt comes from: the command line, a file, or stdin; and other files of text. Bytes that are not text are refused."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

from headstart.errors import InputError

__all__ = ["read_prompt", "read_text"]

LIMIT_BYTES = 16 << 20


def read_prompt(prompt: str | None, file: Path | None, *, raw: bool) -> str:
    """Get the prompt.

    Parameters
    ----------
    prompt : str or None
        As given on the command line; ``-`` is stdin.
    file : Path or None
    raw : bool
        Keep it to the byte. Otherwise a line's end at the end of a file or of stdin is not part of the prompt.

    Raises
    ------
    InputError
        If there is none or more than one, or it cannot be read, is not UTF-8, or is empty.
    """
    if prompt is not None and file is not None:
        raise InputError("the prompt is given twice, as an argument and by --file; give one of them")
    if prompt is None and file is None:
        raise InputError("no prompt was given; write it as an argument, name a --file, or give - to read stdin")
    if prompt is not None and prompt != "-":
        text = _decoded(prompt.encode("utf-8", "surrogateescape"), "the prompt")
    else:
        text = _decoded(_read(file), "stdin" if file is None else str(file))
        text = text if raw else text.removesuffix("\n").removesuffix("\r")
    if not (text if raw else text.strip()):
        raise InputError("the prompt is empty; give at least one word")
    return text


def read_text(file: Path) -> str:
    """Read a file of text; raises InputError where it cannot be read or is not UTF-8."""
    return _decoded(_read(file), str(file))


def _read(file: Path | None) -> bytes:
    try:
        with contextlib.nullcontext(sys.stdin.buffer) if file is None else file.open("rb") as source:
            data = source.read(LIMIT_BYTES + 1)
    except OSError as error:
        raise InputError(f"{file or 'stdin'} cannot be read: {error.strerror}") from None
    if len(data) > LIMIT_BYTES:
        raise InputError(f"{file or 'stdin'} holds more than {LIMIT_BYTES >> 20} MiB, which no model reads; give less")
    return data


def _decoded(data: bytes, source: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{source} is not UTF-8 text (byte {data[error.start]:#04x} at offset {error.start}); convert it, for example with iconv"
        ) from None
