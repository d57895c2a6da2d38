"""The options that ``generate`` and ``chat`` share: their names and help, and the engine and request made from them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headstart.cli import interrupted
from headstart.errors import InputError, RefusedError

if TYPE_CHECKING:
    from headstart.engine import Engine, Prompt
    from headstart.grammar import Grammar, Kind

__all__ = [
    "Backend",
    "Context",
    "DraftLength",
    "DraftModel",
    "Drafter",
    "FrequencyPenalty",
    "GrammarAfter",
    "GrammarFile",
    "Guarantee",
    "JsonSchema",
    "MaxTokens",
    "MinP",
    "Model",
    "Precision",
    "PresencePenalty",
    "Regex",
    "RepetitionPenalty",
    "Seed",
    "ShowOrigin",
    "Stop",
    "System",
    "Temperature",
    "Threads",
    "TopK",
    "TopP",
    "Verifier",
    "grammar_of",
    "load_engine",
    "prompt_of",
]

MODEL = "What it runs on"
DRAFT = "Drafting: how far ahead, never what is said"
TEXT = "The text"
FORM = "What the text must look like"

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
RepetitionPenalty = Annotated[
    float, typer.Option(help="Makes what prompt and answer said less likely; 1 is none.", rich_help_panel=TEXT)
]
PresencePenalty = Annotated[
    float, typer.Option(help="Subtracted from what the answer said; 0 is none.", rich_help_panel=TEXT)
]
FrequencyPenalty = Annotated[
    float, typer.Option(help="The same for each time it was said; 0 is none.", rich_help_panel=TEXT)
]
JsonSchema = Annotated[
    Path | None, typer.Option(help="A file: the answer is JSON that this schema admits.", rich_help_panel=FORM)
]
Regex = Annotated[str | None, typer.Option(help="The answer is what this expression matches.", rich_help_panel=FORM)]
GrammarFile = Annotated[
    Path | None,
    typer.Option(
        "--grammar", help="A file: the answer follows this grammar, in Lark's notation.", rich_help_panel=FORM
    ),
]
GrammarAfter = Annotated[
    str | None,
    typer.Option(help="Free text until this marker, then as above, then free text.", rich_help_panel=FORM),
]
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

        engine = Engine(
            model or DEFAULT_MODEL,
            drafter=drafter,
            draft_model=draft_model,
            threads=threads,
            context=context,
            precision=precision,
            backend=backend,
            **request,
        )
    if interrupted():
        raise KeyboardInterrupt
    return engine


def grammar_of(json_schema: Path | None, regex: str | None, grammar: Path | None, after: str | None) -> Grammar | None:
    """The grammar that was asked for, if any."""
    from headstart.cli.prompt import read_text
    from headstart.grammar import Grammar

    kinds: dict[Kind, str | Path | None] = {"json_schema": json_schema, "regex": regex, "lark": grammar}
    given = {kind: source for kind, source in kinds.items() if source is not None}
    if len(given) > 1:
        raise InputError(
            "only one of --json-schema, --regex and --grammar can say what the answer looks like; give one"
        )
    for kind, source in given.items():
        return Grammar(kind, read_text(source) if isinstance(source, Path) else source, after)
    if after is not None:
        raise InputError(
            "--grammar-after says where a grammar begins; give --json-schema, --regex or --grammar as well"
        )
    return None


def prompt_of(engine: Engine, text: str, system: str | None, *, raw: bool) -> Prompt:
    """What is asked of the engine: the text as it is, or a conversation's beginning where the model has a template."""
    if system is not None and engine.chat_template is None:
        raise RefusedError(f"{engine.name} has no chat template to put --system in; write it into the prompt")
    if raw or engine.chat_template is None:
        return text
    before = [{"role": "system", "content": system}] if system is not None else []
    return [*before, {"role": "user", "content": text}]
