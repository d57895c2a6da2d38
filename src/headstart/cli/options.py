"""The options that ``generate`` and ``chat`` share: their names and help, and the engine and request made from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from headstart.engine import Engine

__all__ = [
    "Backend",
    "Context",
    "DraftLength",
    "DraftModel",
    "Drafter",
    "Guarantee",
    "MaxTokens",
    "MinP",
    "Model",
    "Precision",
    "Seed",
    "ShowOrigin",
    "Stop",
    "System",
    "Temperature",
    "Threads",
    "TopK",
    "TopP",
    "Verifier",
    "load_engine",
    "messages",
]

MODEL = "What it runs on"
DRAFT = "Drafting: how far ahead, never what is said"
TEXT = "The text"

Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        help="Catalog name, .gguf file or Hugging Face folder. [default: smollm2-135m-instruct]",
        rich_help_panel=MODEL,
    ),
]
Threads = Annotated[int | None, typer.Option(help="Threads of a pass. [default: all cores]", rich_help_panel=MODEL)]
Context = Annotated[
    int | None, typer.Option(help="Positions to make room for. [default: the model's]", rich_help_panel=MODEL)
]
Precision = Annotated[
    str, typer.Option(help="auto (int8 activations for quantised weights) or float32.", rich_help_panel=MODEL)
]
Backend = Annotated[str, typer.Option(help="native, or reference: NumPy, slow, for comparison.", rich_help_panel=MODEL)]
Drafter = Annotated[
    str | None,
    typer.Option(help="lookup, model or none. [default: lookup; model with --draft-model]", rich_help_panel=DRAFT),
]
DraftModel = Annotated[
    str | None, typer.Option(help="A smaller model with the same tokens that guesses.", rich_help_panel=DRAFT)
]
DraftLength = Annotated[
    int | None, typer.Option(help="Tokens guessed a round, 0 to 64. [default: what pays]", rich_help_panel=DRAFT)
]
Guarantee = Annotated[
    str,
    typer.Option(
        help="text: the very text of plain decoding; law: its distribution; lossy: neither.", rich_help_panel=DRAFT
    ),
]
Verifier = Annotated[
    str | None, typer.Option(help="A rule by name. [default: the one that suits]", rich_help_panel=DRAFT)
]
Temperature = Annotated[
    float | None,
    typer.Option(
        "--temperature", "-t", help="0 is greedy. [default: 0, or 1 with top-k, top-p or min-p]", rich_help_panel=TEXT
    ),
]
TopK = Annotated[int, typer.Option(help="Keep the k likeliest tokens; 0 keeps all.", rich_help_panel=TEXT)]
TopP = Annotated[float, typer.Option(help="Keep the likeliest tokens up to this probability.", rich_help_panel=TEXT)]
MinP = Annotated[
    float, typer.Option(help="Keep tokens at least this likely relative to the likeliest.", rich_help_panel=TEXT)
]
Seed = Annotated[
    int | None, typer.Option(help="Same seed, same text. [default: drawn, and reported]", rich_help_panel=TEXT)
]
MaxTokens = Annotated[int, typer.Option("--max-tokens", "-n", help="Tokens at most.", rich_help_panel=TEXT)]
Stop = Annotated[list[str] | None, typer.Option(help="End before this text; may be repeated.", rich_help_panel=TEXT)]
System = Annotated[str | None, typer.Option(help="What the model is told before anything else.", rich_help_panel=TEXT)]
ShowOrigin = Annotated[
    bool, typer.Option("--show-origin", help="On a terminal, mark accepted, recovered and bonus tokens.")
]


def load_engine(
    *,
    model: str | None,
    drafter: str | None,
    draft_model: str | None,
    threads: int | None,
    context: int | None,
    precision: str,
    backend: str,
    **request: Any,
) -> Engine:
    """Load the models, with a word on a terminal's stderr meanwhile; options of requests are checked before."""
    from headstart.cli.terminal import status
    from headstart.options import Options

    Options.of(request)
    with status(f"loading {model or 'the model'}"):
        from headstart.engine import DEFAULT_MODEL, Engine

        return Engine(
            model or DEFAULT_MODEL,
            drafter=drafter,
            draft_model=draft_model,
            threads=threads,
            context=context,
            precision=precision,
            backend=backend,
            **request,
        )


def messages(system: str | None, prompt: str) -> list[dict[str, str]]:
    """A conversation's beginning."""
    before = [{"role": "system", "content": system}] if system is not None else []
    return [*before, {"role": "user", "content": prompt}]
