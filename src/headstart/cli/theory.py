"""``headstart theory``: the arithmetic of speculation as tables, JSON or pictures. Loads no model."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from headstart import theory
from headstart.errors import InputError
from headstart.law import Law
from headstart.pictures import check_picture, save_picture
from headstart.toy import WORLDS, World

__all__ = ["app"]

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="What speculation can give, what it costs, and what no rule can beat.",
)

MAX_CHAINS = 100_000

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
Plot = Annotated[Path | None, typer.Option(help="Draw the table into this file (.png, .svg, .pdf).")]
Alpha = Annotated[str, typer.Option(help="Acceptance rate, or one for each position: 0.8 or 0.9,0.8,0.7.")]
DraftLength = Annotated[int, typer.Option(min=0, help="Drafted tokens a round.")]


@dataclass(frozen=True)
class _Sheet:
    """One table: its first column is what the others are drawn against."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


@app.command()
def laws(
    p: Annotated[str | None, typer.Option("--p", help="Target law: 3/5,2/5 or 0.6,0.4.")] = None,
    q: Annotated[str | None, typer.Option("--q", help="Draft law, over the same words.")] = None,
    world: Annotated[str, typer.Option(help=f"A toy world in place of two laws: {', '.join(WORLDS)}.")] = "three-word",
    draft_length: DraftLength = 5,
    drafts: Annotated[int, typer.Option(min=1, max=1000, help="Independent drafts for one place.")] = 4,
    as_json: Json = False,
    plot: Plot = None,
) -> None:
    """Acceptance, bounds and tokens per pass of a target and a draft whose laws are known.

    A world with a memory is asked after its first word.
    """
    chosen = _world(p, q, world)
    one, other = chosen.target((0,)), chosen.draft((0,))
    _check_chains(one.size, draft_length)
    single = (
        ("best possible: 1 - TV", theory.acceptance(one, other)),
        ("shared noise (coupled)", theory.coupling_acceptance(one, other)),
        ("floor of shared noise", theory.coupling_floor(one, other)),
    )
    many = tuple((k, theory.drafts_acceptance(one, other, k)) for k in range(1, drafts + 1))
    chains = (theory.chain_tokens(chosen.target, chosen.draft, n, context=(0,)) for n in range(draft_length + 1))
    tokens = tuple((n, chain.token, chain.block, chain.bound) for n, chain in enumerate(chains))
    sheets = [
        _Sheet("Acceptance of one drafted token", ("rule", "probability"), single),
        _Sheet("Best acceptance with more drafts for one place", ("drafts", "probability"), many),
        _Sheet("Tokens per pass", ("draft length", "token rejection", "block verification", "bound"), tokens),
    ]
    _show(sheets, as_json=as_json, plot=plot)


def _check_chains(words: int, draft_length: int) -> None:
    """Every chain is gone through in exact fractions, some seconds' worth of them at most."""
    length = min(draft_length, MAX_CHAINS.bit_length())  # too many already, if two words or more
    if words**length > MAX_CHAINS:
        most = max(n for n in range(length) if words**n <= MAX_CHAINS)
        raise InputError(
            f"--draft-length {draft_length} over {words} words makes more than {MAX_CHAINS} chains, each of which is gone "
            f"through; use {most} or less"
        )


@app.command()
def speed(
    alpha: Alpha,
    draft_cost: Annotated[float, typer.Option(min=0, help="Drafting one token, in plain steps.")] = 0.0,
    pass_costs: Annotated[str, typer.Option(help="Time of a pass of 1,2,... rows, any unit. Empty: flat.")] = "",
    overhead: Annotated[float, typer.Option(min=0, help="What else a round costs, in plain steps.")] = 0.0,
    draft_length: Annotated[int, typer.Option(min=1, help="The longest draft in the table.")] = 8,
    as_json: Json = False,
    plot: Plot = None,
) -> None:
    """Speed-up by draft length, which length pays most, and from what acceptance on it pays."""
    rates, costs = _numbers(alpha), _numbers(pass_costs) if pass_costs else []
    given = rates if len(rates) > 1 else rates[0]
    lengths = range(
        min([draft_length, *([len(rates)] if len(rates) > 1 else []), *([len(costs) - 1] if costs else [])]) + 1
    )
    price: dict[str, Any] = {"draft_cost": draft_cost, "pass_costs": costs, "overhead": overhead}
    best = theory.best_draft_length(given, **price, limit=lengths[-1]).draft_length
    rows = tuple(_speed_row(n, rates, price, best) for n in lengths)
    columns = ("draft length", "tokens", "spread", "cost", "speed-up", "break-even", "best")
    _show([_Sheet("Speed-up over plain decoding", columns, rows)], as_json=as_json, plot=plot)


def _speed_row(length: int, rates: list[float], price: dict[str, Any], best: int) -> tuple[Any, ...]:
    by_position = rates[:length] if len(rates) > 1 else rates * length
    return (
        length,
        theory.expected_tokens_by_position(by_position),
        theory.token_variance(by_position) ** 0.5,
        theory.round_cost(length, **price),
        theory.speedup(by_position, length, **price),
        theory.break_even(length, **price),
        "<" if length == best else "",
    )


@app.command()
def tokens(alpha: Alpha, draft_length: DraftLength = 4, as_json: Json = False, plot: Plot = None) -> None:
    """How often a pass gives 1, 2, ... tokens: not only the mean."""
    rates = _numbers(alpha)
    by_position = rates if len(rates) > 1 else rates * draft_length
    rows = tuple(enumerate(theory.token_counts(by_position), 1))
    _show([_Sheet("Tokens in a pass", ("tokens", "probability"), rows)], as_json=as_json, plot=plot)


@app.command()
def evidence(
    truth: Annotated[str, typer.Option(help="The law that an engine's tokens follow.")],
    p: Annotated[str, typer.Option("--p", help="The law that they should follow.")],
    as_json: Json = False,
    plot: Plot = None,
) -> None:
    """How many tokens it takes to show that an engine is wrong."""
    levels = (1e2, 1e3, 1e4, 1e6, 1e9)
    rows = tuple((f"{level:g}", theory.tokens_to_evidence(_law(truth), _law(p), level)) for level in levels)
    _show(
        [_Sheet("Tokens until the best bet has typically made this of 1", ("evidence", "tokens"), rows)],
        as_json=as_json,
        plot=plot,
    )


def _world(p: str | None, q: str | None, name: str) -> World:
    if (p is None) != (q is None):
        raise InputError("one law was given; give both --p and --q, or a --world")
    if p is not None and q is not None:
        target, draft = _law(p), _law(q)
        return World("given", tuple(map(str, range(target.size))), lambda _: target, lambda _: draft)
    if name not in WORLDS:
        raise InputError(f"there is no world {name!r}; the worlds are {', '.join(WORLDS)}")
    return WORLDS[name]


def _law(text: str) -> Law:
    try:
        weights = [Fraction(part) for part in text.split(",")]
    except (ValueError, ZeroDivisionError):
        weights = []
    if not weights or min(weights) < 0 or sum(weights) != 1:
        raise InputError(f"{text!r} is not a law; give probabilities that sum to 1, such as 3/5,2/5 or 0.6,0.4")
    return Law.of(weights)


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"{text!r} is not a list of numbers; give them as 0.9,0.8,0.7") from None


def _show(sheets: Sequence[_Sheet], *, as_json: bool, plot: Path | None) -> None:
    if plot is not None:
        _draw(sheets, plot)
    if as_json:
        typer.echo(
            json.dumps(
                {s.title: [dict(zip(s.columns, map(_plain, row), strict=True)) for row in s.rows] for s in sheets}
            )
        )
        return
    for sheet in sheets:
        table = Table(*sheet.columns)
        for row in sheet.rows:
            table.add_row(*map(_cell, row))
        Console().print(sheet.title, table, sep="\n")


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Fraction) else value


def _cell(value: Any) -> str:
    if value is None:
        return "never"
    if isinstance(value, Fraction):
        short = value.denominator < 1000
        return f"{float(value):.4f}" + (f"  = {value}" if short else "")
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _draw(sheets: Sequence[_Sheet], file: Path) -> None:
    check_picture(file)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4 * len(sheets), 4.8), layout="constrained")
    for axes, sheet in zip(figure.subplots(1, len(sheets), squeeze=False)[0], sheets, strict=True):
        _curves(axes, sheet)
    save_picture(figure, file)


def _curves(axes: Any, sheet: _Sheet) -> None:
    first, *others = sheet.columns
    for at, name in enumerate(others, 1):
        points = [(row[0], float(row[at])) for row in sheet.rows if isinstance(row[at], (int, float, Fraction))]
        plot: Callable[..., Any] = axes.bar if len(others) == 1 else axes.plot
        plot(*zip(*points, strict=True), label=name) if points else None
    axes.set(title=sheet.title, xlabel=first)
    axes.legend()
