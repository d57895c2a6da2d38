"""``headstart generate``: one prompt, one answer, written as it is made."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headstart.cli import options
from headstart.cli.app import INTERRUPTED, STOPPED
from headstart.cli.prompt import read_prompt
from headstart.errors import RefusedError

if TYPE_CHECKING:
    from headstart.engine import Engine, Prompt
    from headstart.result import Result

__all__ = ["app"]

app = typer.Typer(add_completion=False)


@app.command(no_args_is_help=True)
def generate(
    prompt: Annotated[str | None, typer.Argument(help="The prompt; - reads stdin.", show_default=False)] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="Read the prompt from a file.")] = None,
    raw: Annotated[bool, typer.Option("--raw", help="Continue the prompt as it is, without chat template.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document with text and figures.")] = False,
    trace: Annotated[Path | None, typer.Option(help="Write every decision into this file.")] = None,
    compare: Annotated[
        bool, typer.Option("--compare", help="Decode plainly as well: the text must be the same; print both speeds.")
    ] = False,
    show_origin: options.ShowOrigin = False,
    system: options.System = None,
    temperature: options.Temperature = None,
    top_k: options.TopK = 0,
    top_p: options.TopP = 1.0,
    min_p: options.MinP = 0.0,
    seed: options.Seed = None,
    max_tokens: options.MaxTokens = 512,
    stop: options.Stop = None,
    ignore_eos: Annotated[
        bool, typer.Option("--ignore-eos", help="Go on past the model's own end.", rich_help_panel=options.TEXT)
    ] = False,
    repetition_penalty: options.RepetitionPenalty = 1.0,
    presence_penalty: options.PresencePenalty = 0.0,
    frequency_penalty: options.FrequencyPenalty = 0.0,
    count: Annotated[
        int, typer.Option("--n", help="Answers, each with randomness of its own.", rich_help_panel=options.TEXT)
    ] = 1,
    logprobs: Annotated[
        int | None,
        typer.Option(
            help="With --json: log-probabilities of the tokens and of so many likeliest.", rich_help_panel=options.TEXT
        ),
    ] = None,
    json_schema: options.JsonSchema = None,
    regex: options.Regex = None,
    grammar: options.GrammarFile = None,
    grammar_after: options.GrammarAfter = None,
    drafter: options.Drafter = None,
    draft_model: options.DraftModel = None,
    draft_length: options.DraftLength = None,
    guarantee: options.Guarantee = "text",
    verifier: options.Verifier = None,
    model: options.Model = None,
    threads: options.Threads = None,
    context: options.Context = None,
    precision: options.Precision = "auto",
    backend: options.Backend = "native",
) -> None:
    """Answer a prompt. Only the answer goes to stdout; the figures go to stderr."""
    text = read_prompt(prompt, file, raw=raw)
    about_one = compare or trace is not None or show_origin
    _check_together(raw, system, as_json, logprobs, count, about_one, compare, guarantee)
    engine = options.load_engine(
        model=model,
        drafter=drafter,
        draft_model=draft_model,
        threads=threads,
        context=context,
        precision=precision,
        backend=backend,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        min_p=min_p,
        seed=seed,
        max_tokens=max_tokens,
        stop=tuple(stop or ()),
        ignore_eos=ignore_eos,
        repetition_penalty=repetition_penalty,
        presence_penalty=presence_penalty,
        frequency_penalty=frequency_penalty,
        logprobs=logprobs,
        grammar=options.grammar_of(json_schema, regex, grammar, grammar_after),
        draft_length=draft_length,
        guarantee=guarantee,
        verifier=verifier,
        raw=raw,
    )
    given = options.prompt_of(engine, text, system, raw=raw)
    if count != 1:
        _choices(engine, given, count, as_json=as_json)
    else:
        _one(engine, given, trace, show_origin=show_origin, as_json=as_json, compare=compare)


def _check_together(
    raw: bool,
    system: str | None,
    as_json: bool,
    logprobs: int | None,
    count: int,
    about_one: bool,
    compare: bool,
    guarantee: str,
) -> None:
    """Refuse options that contradict each other, before anything is loaded."""
    if system is not None and raw:
        raise RefusedError("--raw takes no --system: there is no chat template to put it in; write it into the prompt")
    if logprobs is not None and not as_json:
        raise RefusedError("--logprobs are figures of every token, which only --json prints; add it")
    if count != 1 and about_one:
        raise RefusedError(
            "--n takes no --compare, --trace or --show-origin, which are about one answer; leave one out"
        )
    if compare and guarantee != "text":
        raise RefusedError(f"--compare checks that texts are equal, which the guarantee {guarantee!r} does not promise")


def _one(
    engine: Engine, prompt: Prompt, trace: Path | None, *, show_origin: bool, as_json: bool, compare: bool
) -> None:
    """One answer with its figures, and with ``compare`` what plain decoding makes of the same prompt."""
    result, interrupted = _answer(engine, prompt, trace, show_origin=show_origin, quiet=as_json)
    report: dict[str, Any] = {"model": engine.name, **result.as_dict()}
    if compare and not interrupted:
        report["compare"] = _compare(engine, prompt, result)
    if interrupted:
        print(f"headstart: {STOPPED}", file=sys.stderr)
    _report(result, report, as_json=as_json)
    if interrupted:
        raise typer.Exit(INTERRUPTED)


def _answer(
    engine: Engine, prompt: Prompt, trace: Path | None, *, show_origin: bool, quiet: bool
) -> tuple[Result, bool]:
    """Stream one answer to stdout; Ctrl-C ends it early."""
    from headstart.cli.terminal import Writer, follow

    writer = None if quiet else Writer(show_origin=show_origin)
    with engine.stream(prompt, trace=trace) as stream:
        interrupted = follow(stream, writer)
    return stream.result, interrupted


def _choices(engine: Engine, prompt: Prompt, count: int, *, as_json: bool) -> None:
    """Several answers, one after the other once all are there; a line of three dashes stands between them."""
    from headstart.cli.terminal import Writer, figures, print_json, status
    from headstart.result import Piece

    with status(f"answering {count} times"):
        results = engine.generate_choices(prompt, count)
    if as_json:
        choices = [result.as_dict() for result in results]
        print_json({"model": engine.name, "choices": choices})
    else:
        writer = Writer()
        for number, result in enumerate(results):
            writer.write(Piece(f"{'---' + chr(10) if number else ''}{result.text}", result.tokens, "plain"))
            writer.end()
    for result in results:
        print(figures(result), file=sys.stderr)


def _report(result: Result, report: dict[str, Any], *, as_json: bool) -> None:
    """The figures: a line on stderr, and the JSON document."""
    from headstart.cli.terminal import figures, print_json

    if as_json:
        print_json(report)
    if "compare" in report:
        against = report["compare"]
        print(
            f"same text as plain decoding: {against['tokens_per_s']:.1f} against {against['plain_tokens_per_s']:.1f} tokens/s, "
            f"{against['ratio']:.2f} times as fast",
            file=sys.stderr,
        )
    print(figures(result), file=sys.stderr)


def _compare(engine: Engine, prompt: Prompt, result: Result) -> dict[str, Any]:
    """Decode plainly in the same process; a different text raises DivergenceError."""
    from headstart.cli.compare import require_same
    from headstart.cli.terminal import status

    with status("decoding plainly, to compare"):
        plain = engine.generate(prompt, drafter="none", seed=result.seed)
    require_same(engine, prompt, result, plain)
    fast, slow = result.statistics.tokens_per_s or 0.0, plain.statistics.tokens_per_s or 0.0
    return {
        "tokens_per_s": fast,
        "plain_tokens_per_s": slow,
        "ratio": fast / slow if slow else None,
        "plain": plain.as_dict(),
    }
