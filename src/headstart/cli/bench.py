"""``headstart bench``: how fast this machine is, and what of that is used."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["app"]

app = typer.Typer(
    add_completion=False, no_args_is_help=True, help="Measure this machine. The last line of every benchmark is JSON."
)


@app.callback()
def _benchmarks() -> None:
    """Keeps the benchmarks' names, also while there is only one."""


@app.command()
def kernel(
    model: Annotated[str, typer.Option(help="Catalog name, GGUF file or model folder.")] = "smollm2-135m-instruct",
    threads: Annotated[int | None, typer.Option(help="Threads of a pass; all available cores by default.")] = None,
    contexts: Annotated[str, typer.Option(help="Tokens in the cache, one or more lengths.")] = "200,1000,4000",
    rows: Annotated[str, typer.Option(help="Rows of a pass, one or more numbers.")] = ",".join(map(str, range(1, 17))),
    prefill: Annotated[int, typer.Option(help="Tokens of the prompt whose reading is timed.")] = 512,
    rounds: Annotated[int, typer.Option(help="Interleaved rounds; each figure is their median.")] = 15,
    formats: Annotated[str, typer.Option(help="Weight formats of synthetic models, 'all' or 'none'.")] = "all",
    shapes: Annotated[str, typer.Option(help="Shapes of synthetic models, separated by ';', 'all' or 'none'.")] = "all",
    peer: Annotated[str | None, typer.Option(help="Also time llama.cpp on the same file, in the same run.")] = None,
    peer_python: Annotated[str | None, typer.Option(help="An interpreter that has llama-cpp-python.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the JSON object only.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the curve into this file (.png, .svg, .pdf).")] = None,
) -> None:
    """What a pass costs, by rows, context, weight format and model shape, beside what memory allows."""
    from headstart.bench.kernel import KernelOptions, main
    from headstart.bench.synthetic import SHAPES
    from headstart.models.kinds import KINDS

    options = KernelOptions(
        model=model,
        threads=threads,
        contexts=_numbers("contexts", contexts),
        rows=_numbers("rows", rows),
        prefill=prefill,
        rounds=rounds,
        formats=_names(formats, ",", tuple(KINDS)),
        shapes=_names(shapes, ";", tuple(SHAPES)),
        peer=peer,
        peer_python=peer_python,
    )
    main(options, as_json=as_json, plot=plot, say=typer.echo)


def _numbers(name: str, text: str) -> tuple[int, ...]:
    from headstart.errors import InputError

    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"{name} is {text!r}; give whole numbers separated by commas, like 200,1000") from None


def _names(text: str, separator: str, everything: tuple[str, ...]) -> tuple[str, ...]:
    if text in ("all", "none"):
        return everything if text == "all" else ()
    return tuple(part.strip() for part in text.split(separator))
