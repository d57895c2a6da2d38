"""The command line: ``headstart``. Light to import, since every command waits for it; each command loads its own module."""

from __future__ import annotations

import os
import signal
import sys
from typing import NoReturn

__all__ = ["ENDS", "interrupted", "main"]

ENDS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals that ask the process to end."""

_pressed = False


def main() -> None:
    """Run the command that the arguments ask for, and end the process with its exit code."""
    for number in ENDS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _terminated)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else whoever started us wants it ignored
        signal.signal(signal.SIGINT, _interrupted)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by whoever started us
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - open to the end
    try:
        from headstart.cli.app import app

        app()
    except KeyboardInterrupt:  # while modules were being loaded
        raise SystemExit(130) from None


def interrupted() -> bool:
    """Whether Ctrl-C was pressed; Python drops a KeyboardInterrupt that comes inside of a destructor or an import's callback."""
    return _pressed


def _interrupted(_signal: int, _frame: object) -> NoReturn:
    global _pressed
    _pressed = True
    raise KeyboardInterrupt


def _terminated(number: int, _frame: object) -> NoReturn:
    """End as if by an error, so that files under way are removed and traces closed."""
    raise SystemExit(128 + number)
