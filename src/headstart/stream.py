"""One answer on its way: pieces as they become certain, the result when they are through.

Knows nothing of how requests are made or what they share.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from headstart.options import Options
from headstart.request import Request
from headstart.result import Piece, Result

if TYPE_CHECKING:
    from headstart.engine import Engine

__all__ = ["Stream"]


class Stream:
    """Pieces of one answer as they are made. Closing it early stops decoding after the pass under way."""

    def __init__(self, engine: Engine, request: Request, options: Options) -> None:
        self.request = request
        self._engine, self._options = engine, options
        self._state = "new"
        self._begin = time.perf_counter()
        self._drafter_name = request.drafter.name if request.drafter is not None else "none"

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[Piece]:
        try:
            while not self.done:
                self._advance()
                yield from self.request.text.take()
            self.close()
            yield from self.request.text.take()  # what was held back when another thread closed the stream
            self._complain()
        finally:
            self.close()

    @property
    def done(self) -> bool:
        """Whether the answer is over."""
        return self._state == "closed" or self.request.over

    @property
    def result(self) -> Result:
        """The answer so far; finished with ``"cancelled"`` if it was closed before its end, with ``"error"`` if it failed."""
        request = self.request
        return Result(
            text=request.text.text,
            tokens=tuple(request.output),
            origins=tuple(request.origins),
            finish_reason=request.ending,
            stop_reason=request.stop_reason,
            seed=request.seed,
            guarantee=self._options.guarantee,
            numerics_id=self._engine.model.numerics_id,
            verifier=request.rule_name,
            drafter=self._drafter_name,
            statistics=request.statistics,
            logprobs=None if self._options.logprobs is None else tuple(request.logprobs),
            prompt_logprobs=None if self._options.prompt_logprobs is None else tuple(request.prompt_logprobs),
        )

    def start(self) -> None:
        """Read the prompt; happens by itself when the first piece is asked for."""
        if self._state == "new":
            self._state = "running"
            self._engine._start(self.request)

    def record(self, path: Path) -> None:
        """Write a trace of this answer, which must not have begun."""
        from headstart.trace import Recorder

        model, tokenizer = self._engine.model, self._engine.tokenizer
        Recorder(
            path,
            self.request,
            model={
                "name": self._engine.name,
                "fingerprint": self._engine.fingerprint(),
                "vocab_size": model.vocab_size,
            },
            numerics_id=model.numerics_id,
            drafter=self._drafter_name,
            token_bytes=tokenizer.token_bytes,
            special_ids=tokenizer.special_ids,
        )

    def advance(self) -> None:
        """Run one round; its pieces come out of the iterator. Raises what the answer failed of."""
        self._advance()
        self._complain()

    def _advance(self) -> None:
        self.start()
        if not self.done:
            self._engine._step([self.request])

    def _complain(self) -> None:
        if self.request.error is not None:
            raise self.request.error

    def close(self) -> None:
        """Stop after the pass under way, and free what the answer used; any thread may say so."""
        self.request.cancelled = True
        with self._engine._lock:
            if self._state == "closed":
                return
            self._state = "closed"
            self.request.text.finish()
            self._engine._finish(self.request)
            figures = self.request.statistics
            if not figures.tokens_drafted and figures.note is None:
                figures.note = f"the drafter {self._drafter_name} proposed nothing"
            figures.total_s = time.perf_counter() - self._begin
            if self.request.recorder is not None:
                self.request.recorder.finish(self.request)
