"""``headstart models``: what can be had by name, and fetching it."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["app"]

app = typer.Typer(add_completion=False, help="Models that have a name: list them, or fetch one.")


@app.callback(invoke_without_command=True)
def models(ctx: typer.Context) -> None:
    """List the models that have a name, and whether they are here. Any .gguf file or Hugging Face folder works too."""
    if ctx.invoked_subcommand is None:
        _list()


@app.command()
def pull(name: Annotated[str, typer.Argument(help="A name that `headstart models` lists.")]) -> None:
    """Fetch a model, unless it is here already; the download is checked by its SHA-256."""
    from headstart.models import store

    typer.echo(store.pull(name))


def _list() -> None:
    from headstart.models import store

    for entry in store.catalog():
        path = store.installed(entry.name)
        typer.echo(f"{entry.name}  {entry.size_bytes / 1e6:.0f} MB  {entry.licence}  {path or 'not fetched'}")
        typer.echo(f"    {entry.summary}")
    typer.echo(f"folder: {store.models_folder()}", err=True)
