"""``headstart chat``: turn after turn with the same model; what was said before is not read again."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import typer

from headstart.cli import options
from headstart.errors import HeadstartError, InputError

if TYPE_CHECKING:
    from headstart.engine import Engine
    from headstart.result import Result

__all__ = ["app"]

app = typer.Typer(add_completion=False)

HELP = "/reset begins anew, /stats shows figures, /exit leaves (or Ctrl-D); Ctrl-C stops an answer"


@app.command()
def chat(
    show_origin: options.ShowOrigin = False,
    system: options.System = None,
    temperature: options.Temperature = None,
    top_k: options.TopK = 0,
    top_p: options.TopP = 1.0,
    min_p: options.MinP = 0.0,
    seed: options.Seed = None,
    max_tokens: options.MaxTokens = 512,
    stop: options.Stop = None,
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
    """Talk with a model. /reset begins anew, /stats shows figures, /exit leaves; Ctrl-C stops an answer."""
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
        draft_length=draft_length,
        guarantee=guarantee,
        verifier=verifier,
    )
    if engine.chat_template is None:
        raise InputError(
            f"{engine.name} has no chat template, so there is no conversing with it; use headstart generate --raw"
        )
    _Conversation(engine, system, show_origin).run()


@dataclass
class _Conversation:
    """What was said, and how it went."""

    engine: Engine
    system: str | None
    show_origin: bool
    said: list[dict[str, str]] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)

    def run(self) -> None:
        """Take turns until the input ends or /exit."""
        self._reset()
        interactive = sys.stdin.isatty()
        if interactive:
            print(f"{self.engine.name}. {HELP}.", file=sys.stderr)
        while True:
            try:
                line = _next_line(interactive)
                if line is None or line == "/exit":
                    return
                if line.startswith("/"):
                    self._command(line)
                elif line:
                    self._turn(line)
            except KeyboardInterrupt:  # on an unfinished message, or between an answer and the next one
                print(f"\n{HELP}", file=sys.stderr)

    def _command(self, line: str) -> None:
        if line == "/reset":
            self._reset()
            print("a new conversation", file=sys.stderr)
        elif line == "/stats":
            print(self._stats(), file=sys.stderr)
        else:
            print(f"{line} is unknown: {HELP}", file=sys.stderr)

    def _reset(self) -> None:
        self.said = [{"role": "system", "content": self.system}] if self.system is not None else []

    def _turn(self, line: str) -> None:
        """Answer one message; one that cannot be answered is as if it had not been said."""
        asked = [*self.said, {"role": "user", "content": line}]
        try:
            result = self._answer(asked)
        except HeadstartError as error:
            print(f"headstart: {error}", file=sys.stderr)
        except KeyboardInterrupt:
            print("stopped before an answer began", file=sys.stderr)
        else:
            self.results.append(result)
            self.said = [*asked, {"role": "assistant", "content": result.text}]

    def _answer(self, asked: list[dict[str, str]]) -> Result:
        from headstart.cli.terminal import Writer, follow

        writer = Writer(show_origin=self.show_origin, legend=not self.results)
        with self.engine.stream(asked) as stream:
            follow(stream, writer)
        return stream.result

    def _stats(self) -> str:
        from headstart.cli.terminal import figures

        if not self.results:
            return "nothing was answered yet"
        tokens = sum(result.statistics.tokens for result in self.results)
        cached = self.results[-1].statistics.cached_tokens
        return f"{len(self.results)} answered, {tokens} tokens; the last: {figures(self.results[-1])}; {cached} tokens were not read again"


def _next_line(interactive: bool) -> str | None:
    """The next message, or None at the end."""
    try:
        if interactive:
            import readline  # noqa: F401 - input() then edits and recalls lines

            return input("> ").strip()
        line = sys.stdin.buffer.readline()
        return line.decode("utf-8").strip() if line else None
    except EOFError:
        return None
    except UnicodeDecodeError:
        raise InputError("stdin is not UTF-8 text; convert it, for example with iconv") from None
