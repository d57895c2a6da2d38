"""Running ``headstart`` in tests: in this process, where that is enough, or as a process of its own."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import headstart
from support.files import write_gguf
from support.tiny import tiny_weights

__all__ = ["Done", "here", "one_sentence", "process", "run", "tiny_model"]

SOURCE = Path(headstart.__file__).parents[1]
"""Where this process has the package from; a process of its own takes the same."""


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


def tiny_model(folder: Path, name: str = "tiny.gguf", **how: Any) -> Path:
    """A tiny random model with a chat template, as a file."""
    return write_gguf(tiny_weights(**{"context": 2048, "tied": False} | how), folder / name)


def here(capsys: pytest.CaptureFixture[str], *arguments: object, stdin: bytes = b"") -> Done:
    """Run a command in this process."""
    from headstart.cli.app import app

    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    try:
        app([str(argument) for argument in arguments], prog_name="headstart")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    else:
        code = 0
    finally:
        sys.stdin = before
    captured = capsys.readouterr()
    return Done(code, captured.out, captured.err)


def process(*arguments: object, env: Mapping[str, str] | None = None, **how: Any) -> subprocess.Popen[bytes]:
    """Start a command as a process, with pipes."""
    command = [sys.executable, "-m", "headstart", *map(str, arguments)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | how
    path = os.pathsep.join([str(SOURCE), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path, **(env or {})}, **pipes)


def run(*arguments: object, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> Done:
    """Run a command as a process to its end."""
    with process(*arguments, env=env) as running:
        out, err = running.communicate(stdin, timeout=120)
    return Done(running.returncode, out.decode(), err.decode())


def one_sentence(done: Done, code: int) -> str:
    """Demand that a command failed as it should: this exit code, nothing on stdout, one line on stderr that says why."""
    assert (done.code, done.out) == (code, ""), done
    line = done.err.strip()
    assert line.startswith("headstart: ")
    assert "\n" not in line
    assert "Traceback" not in line
    return line
