"""``headstart trace``: make the decisions of a trace again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["app"]

app = typer.Typer(
    add_completion=False, help="Traces: every decision of an answer, with its numbers.", no_args_is_help=True
)


@app.callback()
def traces() -> None:
    """Keep `check` a command of its own, though it is the only one."""


@app.command()
def check(
    file: Annotated[Path, typer.Argument(help="What --trace wrote.", show_default=False)],
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="Also compute the laws again, from this model.")
    ] = None,
    threads: Annotated[int | None, typer.Option(help="Threads of a pass. [default: all cores]")] = None,
) -> None:
    """Make every decision of a trace again, and name the first record that does not follow."""
    from headstart.trace import check_trace, read

    trace = read(file)
    report = check_trace(trace)
    typer.echo(
        f"{report.rounds} rounds, {report.tokens} tokens, {report.coins} coins, {report.laws} laws: every decision follows"
    )
    if report.coins_only:
        typer.echo(f"of {report.coins_only} rounds only the coins: their laws are too wide to be stored whole")
    if model is not None:
        from headstart.cli.terminal import status
        from headstart.trace.recompute import load_traced, recompute

        with status(f"computing the laws again with {model}"):
            laws = recompute(trace, *load_traced(trace, model, threads=threads))
        typer.echo(f"{laws} laws are those of {model}, to the bit")
