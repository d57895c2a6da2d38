"""Live runs for the lesson: one at a time, short, and every event small enough to be shown at once.

Knows nothing of HTTP: a run is a generator of (event, data) pairs, and closing it stops the engine after the pass under way.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headstart.errors import HeadstartError, InputError
from headstart.lesson.measure import pass_times

if TYPE_CHECKING:
    from headstart.engine import Engine

__all__ = ["MAX_PROMPT", "MAX_SECONDS", "MAX_TOKENS", "Live", "Order"]

MAX_PROMPT = 2000
"""Characters of a prompt."""
MAX_TOKENS = 256
MAX_SECONDS = 60.0
"""Seconds that one answer or one measurement may take."""

Event = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Order:
    """What the reader asked for, checked.

    Parameters
    ----------
    prompt : str
    options : mapping
        Fields of ``headstart.options.Options``.
    compare : bool
        Whether the plain answer is made too.
    """

    prompt: str
    options: Mapping[str, Any]
    compare: bool

    @classmethod
    def of(cls, body: Any) -> Order:
        """Read an order from JSON.

        Raises
        ------
        InputError
            For anything that is not allowed; one sentence.
        """
        if not isinstance(body, dict):
            raise InputError("the order is not a JSON object; send prompt, max_tokens and the options of a request")
        options = {key: value for key, value in body.items() if key in OPTIONS and value is not None}
        unknown = sorted(set(body) - set(OPTIONS) - {"prompt", "compare"})
        if unknown:
            raise InputError(f"option {unknown[0]!r} is unknown here; the options are {', '.join(OPTIONS)}")
        prompt = body.get("prompt")
        if not isinstance(prompt, str) or not prompt.strip() or len(prompt) > MAX_PROMPT:
            raise InputError(f"the prompt must be a text of 1 to {MAX_PROMPT} characters")
        length = options.setdefault("max_tokens", MAX_TOKENS)
        if not isinstance(length, int) or isinstance(length, bool) or not 1 <= length <= MAX_TOKENS:
            raise InputError(f"max_tokens is {length!r}; here it is a whole number from 1 to {MAX_TOKENS}")
        return cls(prompt, options, bool(body.get("compare", False)))


OPTIONS = ("max_tokens", "temperature", "top_k", "seed", "drafter", "draft_length", "guarantee", "verifier", "raw")


class Live:
    """An engine behind the lesson, loaded when it is first wanted.

    Parameters
    ----------
    load : callable
        Makes the engine.
    max_seconds : float
        What one answer may take.
    """

    def __init__(self, load: Callable[[], Engine], *, max_seconds: float = MAX_SECONDS) -> None:
        self._load, self._max_seconds = load, max_seconds
        self._engine: Engine | None = None
        self._busy = threading.Lock()

    def run(self, body: Any) -> Generator[Event]:
        """Answer a prompt, drafted and, if wanted, plainly; ends with the traces of both."""
        return self._alone(lambda: self._answers(body))

    def measure(self) -> Generator[Event]:
        """Time passes over one row, two rows and so on."""
        return self._alone(self._points)

    def _alone(self, work: Callable[[], Iterator[Event]]) -> Generator[Event]:
        if not self._busy.acquire(blocking=False):
            yield "error", {"code": "busy"}
            return
        try:
            yield from work()
            yield "done", {}
        except _TooSlowError:
            yield "error", {"code": "slow"}
        except HeadstartError as error:
            yield "error", {"code": "refused", "message": str(error)}
        finally:
            self._busy.release()

    def _answers(self, body: Any) -> Iterator[Event]:
        order = Order.of(body)
        if self._engine is None:
            yield "loading", {}
        engine = self._loaded()
        yield "start", {"model": engine.name}
        with tempfile.TemporaryDirectory(prefix="headstart-lesson-") as folder:
            file = Path(folder) / "drafted.jsonl"
            seed = yield from self._answer(engine, order.prompt, "drafted", file, order.options)
            if order.compare:
                plain = {**order.options, "drafter": "none", "seed": seed}
                plain.pop("verifier", None)
                yield from self._answer(engine, order.prompt, "plain", file, plain)

    def _answer(
        self, engine: Engine, prompt: str, lane: str, file: Path, options: Mapping[str, Any]
    ) -> Generator[Event, None, int]:
        end = time.monotonic() + self._max_seconds
        with engine.stream(prompt, trace=file, **options) as stream:
            for piece in stream:
                yield "piece", {"lane": lane, "text": piece.text, "tokens": len(piece.tokens), "origin": piece.origin}
                if time.monotonic() > end:
                    raise _TooSlowError
        yield "trace", {"lane": lane, "lines": file.read_text(encoding="utf-8")}
        return stream.result.seed

    def _points(self) -> Iterator[Event]:
        if self._engine is None:
            yield "loading", {}
        end = time.monotonic() + self._max_seconds
        for points in pass_times(self._loaded().model):
            yield "points", {"points": [asdict(point) for point in points]}
            if time.monotonic() > end:
                raise _TooSlowError

    def _loaded(self) -> Engine:
        if self._engine is None:
            self._engine = self._load()
        return self._engine


class _TooSlowError(Exception):
    """The time is up."""
