"""The commands by name, and how every one of them ends: what exit code, and one sentence where it fails.

Exit codes: 0 done; 1 it failed, or texts differ; 2 what was asked for is not possible; 130 stopped by Ctrl-C; 141 the
reader of our output went away.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from headstart.errors import HeadstartError

__all__ = ["COMMANDS", "INTERRUPTED", "STOPPED", "app"]

COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "generate": "headstart.cli.generate:app",
        "chat": "headstart.cli.chat:app",
        "models": "headstart.cli.models:app",
        "trace": "headstart.cli.trace:app",
        "bench": "headstart.cli.bench:app",
        "theory": "headstart.cli.theory:app",
        "lesson": "headstart.lesson.server:serve",
    }
)
"""Where each command is found; its module is imported when it is asked for."""

INTERRUPTED = 130
STOPPED = "stopped by Ctrl-C"
BROKEN_PIPE = 141


class _Commands(TyperGroup):
    """A group that imports a command when it is wanted and turns errors into sentences."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        module, name = COMMANDS[cmd_name].split(":")
        found = getattr(importlib.import_module(module), name)
        command = typer.main.get_command(found if isinstance(found, typer.Typer) else _wrapped(found))
        command.name = cmd_name
        return command

    def invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except KeyboardInterrupt:
            typer.echo(f"headstart: {STOPPED}", err=True)
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(BROKEN_PIPE) from None
        except Exception as error:
            code, sentence = _ending(error)
            if sentence is None:
                raise
            typer.echo(f"headstart: {sentence}", err=True)
            raise typer.Exit(code) from None
        return result


def _ending(error: Exception) -> tuple[int, str | None]:
    """Exit code and sentence for an error; no sentence where it is raised on as it is."""
    code = getattr(error, "exit_code", None)
    if isinstance(error, HeadstartError):
        return error.exit_code, str(error)
    if hasattr(error, "format_message") and type(error).__name__ != "NoArgsIsHelpError":  # typer's usage errors
        context = getattr(error, "ctx", None)
        where = context.command_path if context else "headstart"
        return code or 2, f"{error.format_message().rstrip('.')}; see {where} --help"
    if code is not None or "HEADSTART_TRACEBACK" in os.environ:
        return 1, None
    return 1, _unforeseen(error)


def _unforeseen(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'the output'}: {error.strerror}"
    if isinstance(error, MemoryError):
        return "there is not enough memory for that; ask for a shorter context or a smaller model"
    return f"a fault of Headstart itself, {type(error).__name__}: {error}; HEADSTART_TRACEBACK=1 shows where, please report it"


def _wrapped(function: Any) -> typer.Typer:
    """A function as a command of its own."""
    single = typer.Typer(add_completion=False)
    single.command()(function)
    return single


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Headstart: the same text, sooner. Lossless speculative decoding on this machine's CPU.",
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            typer.echo(f"headstart {version('headstart')}")
        except PackageNotFoundError:
            typer.echo("headstart, from a folder that was not installed")
        raise typer.Exit


@app.callback()
def _headstart(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Take the options that stand before a command."""
