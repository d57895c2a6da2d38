"""What chapters 9 and 11 of the lesson show as measured: speed against acceptance, and rows whose bits change.

Points are whole answers of the engine at fixed draft lengths, and plain ones: by lookup on three tasks, by a draft model as
large as the target, and from a script that is right with a known chance. Every sweep goes over all of them. The same answer
takes the same rounds in every sweep, so each round counts with its fastest time, drafted and plain alike: what else the
machine did meanwhile drops out. Rows compare one row with five: through a matrix library, and through the engine. The last
line of output is JSON; it is also the file.

    python benchmarks/lesson_points.py                  written beside the lesson's traces
    python benchmarks/lesson_points.py --sweeps 20 --out FILE
"""

from __future__ import annotations

import argparse
import json
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headstart.backends import load_backend
from headstart.engine import DEFAULT_MODEL, Engine
from headstart.lesson.measure import pass_times
from headstart.lesson.record import RUNS, TRACES
from headstart.models import load
from headstart.models.quantise import perturb
from headstart.protocols import Batch, Model, Needs
from headstart.result import Result
from headstart.tree import Draft

LENGTHS = (1, 2, 4, 6, 8, 10)
CHANCES = (0.3, 0.5, 0.7, 0.8, 0.9, 1.0)
TASKS = ("copy", "code", "chat")
WIDTH = 5


class Script:
    """Knows the answer and proposes it, each token right with a chance of its own throw."""

    name = "script"
    needs = Needs()

    def __init__(self, answer: Sequence[int], chance: float, vocab_size: int) -> None:
        self.answer, self.chance, self.vocab_size = list(answer), chance, vocab_size
        self._throws = np.random.default_rng(0)

    def start(self, request: Any) -> None:
        """Throw the same coins in every answer."""
        self._throws = np.random.default_rng(0)

    def propose(self, request: Any, budget: int) -> Draft:
        """Propose what comes next, spoilt where the throw says so."""
        at = len(request.tokens) - request.prompt_length
        right = self._throws.random(budget) < self.chance
        tokens = self.answer[at : at + budget]
        return Draft.chain([t if ok else (t + 1) % self.vocab_size for t, ok in zip(tokens, right, strict=False)])

    def observe(self, request: Any, tokens: Sequence[int], rows: Any) -> None:
        """Nothing to learn."""

    def fork(self, request: Any, copy: Any) -> None:
        """Nothing to copy."""

    def close(self, request: Any) -> None:
        """Nothing to close."""


@dataclass
class Timed:
    """One answer over all sweeps: its result, and the fastest time of each round."""

    task: str
    drafter: Any
    length: int
    result: Result | None = None
    fastest: list[float] | None = None

    def sweep(self, engine: Engine) -> None:
        """Answer once more, at temperature 0, as the lesson records it."""
        run = RUNS[self.task]
        times = []
        with engine.stream(run.prompt, drafter=self.drafter, draft_length=self.length, **run.options) as stream:
            stream.start()
            seen, before = stream.request.statistics, 0.0
            while not stream.done:
                stream.advance()
                after = seen.draft_s + seen.pass_s + seen.verify_s
                times.append(after - before)
                before = after
        assert self.result is None or self.result.tokens == stream.result.tokens
        self.result = stream.result
        self.fastest = [min(pair) for pair in zip(times, self.fastest or times, strict=True)]

    @property
    def seconds(self) -> float:
        """Time of the whole answer after its prompt."""
        return sum(self.fastest or [])

    def as_dict(self, plain: Timed) -> dict[str, Any]:
        """Acceptance is of guesses that were looked at: those accepted, and each round's first rejected one, if any."""
        assert self.result is not None
        assert plain.result is not None
        assert self.result.tokens == plain.result.tokens
        seen = self.result.statistics
        missed = seen.rounds - self.result.origins.count("bonus")
        return {
            "drafter": self.drafter if isinstance(self.drafter, str) else self.drafter.name,
            "task": self.task,
            "length": self.length,
            "alpha": round(seen.tokens_accepted / (seen.tokens_accepted + missed), 3),
            "tokens": round(seen.tokens / seen.rounds, 3),
            "speedup": round(plain.seconds / self.seconds, 3),
        }


def main() -> None:
    """Measure everything, print each part, write the file."""
    options = parse()
    engine = Engine(threads=options.threads, draft_model=blurred(options.threads), drafter="lookup")
    seen = {
        "model": engine.name,
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, {engine.model.numerics_id}",
        "sweeps": options.sweeps,
        "passes": passes(engine.model, options.sweeps),
        "points": points(engine, options.sweeps),
        "rows": {"numpy": numpy_rows(), "engine": engine_rows(engine)},
    }
    line = json.dumps(seen)
    options.out.write_text(line + "\n", encoding="utf-8")
    print(line)


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sweeps", type=int, default=8)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--out", type=Path, default=TRACES / "points.json")
    return parser.parse_args()


def blurred(threads: int | None) -> Model:
    """A draft model that costs as much as the target: the target with noise on its weights."""
    return load_backend(perturb(load(DEFAULT_MODEL), noise_rate=0.12, seed=1, kind="Q4_0"), threads=threads)


def passes(model: Model, sweeps: int) -> list[float]:
    """Cost of a pass over 1, 2, ... rows, in passes over one row: the fastest of the sweeps, as for the points.

    A pass over more rows does all that one over fewer does, so a width counts at most as much as any wider one.
    """
    widths = range(1, max(LENGTHS) + 2)
    seen = [[time.seconds for time in next(pass_times(model, widths=widths, sweeps=1))] for _ in range(10 * sweeps)]
    fastest = [min(times) for times in zip(*seen, strict=True)]
    fastest = [min(fastest[rows:]) for rows in range(len(fastest))]
    print([round(1000 * seconds, 2) for seconds in fastest])
    return [round(seconds / fastest[0], 3) for seconds in fastest]


def points(engine: Engine, sweeps: int) -> list[dict[str, Any]]:
    """All points of the lesson's plot."""
    plain = {task: Timed(task, "none", 0) for task in TASKS}
    for one in plain.values():
        one.sweep(engine)
    every = [Timed(task, drafter, length) for task, drafter in drafters(engine, plain) for length in LENGTHS]
    for number in range(sweeps):
        for one in [*every, *plain.values()]:
            one.sweep(engine)
        print(f"sweep {number + 1} of {sweeps}", flush=True)
    found = [one.as_dict(plain[one.task]) for one in every]
    print("\n".join(map(str, found)))
    return found


def drafters(engine: Engine, plain: Mapping[str, Timed]) -> Iterator[tuple[str, Any]]:
    """On which task who guesses."""
    for task in TASKS:
        yield task, "lookup"
    yield "code", "model"
    answer = plain["code"].result
    assert answer is not None
    for chance in CHANCES:
        yield "code", Script(answer.tokens, chance, engine.model.vocab_size)


def numpy_rows(count: int = 1500) -> dict[str, Any]:
    """One row against five through NumPy: rows of unit size whose bits change, how far, how many winners."""
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((256, 4096), dtype=np.float32) / 16
    rows = rng.standard_normal((count, 256), dtype=np.float32)
    alone = np.stack([row @ matrix for row in rows])
    together = np.concatenate([rows[at : at + WIDTH] @ matrix for at in range(0, count, WIDTH)])
    return compared(alone, together) | {"library": f"NumPy {np.__version__}", "shape": list(matrix.shape)}


def engine_rows(engine: Engine, count: int = 300) -> dict[str, Any]:
    """The same through the whole model: logits of every position of a text, read one by one and five at a time."""
    text = engine.encode(RUNS["copy"].prompt)
    tokens = (text * (count // len(text) + 1))[:count]
    alone, together = (logits(engine.model, tokens, width) for width in (1, WIDTH))
    return compared(alone, together)


def logits(model: Model, tokens: Sequence[int], width: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Logits after every token, ``width`` tokens a pass."""
    sequence, seen = model.open(), []
    for at in range(0, len(tokens), width):
        chunk = tokens[at : at + width]
        rows = model.forward(Batch.chain(sequence, chunk, wanted="all"))
        seen += [np.array(rows.logits(row)) for row in range(len(chunk))]
        model.keep(sequence, range(len(chunk)))
    model.close(sequence)
    return np.stack(seen)


def compared(alone: np.ndarray[Any, Any], together: np.ndarray[Any, Any]) -> dict[str, Any]:
    """How many rows differ in any bit, by how much at most, and in how many another entry is the largest."""
    return {
        "rows": len(alone),
        "differ": int((alone.view(np.uint32) != together.view(np.uint32)).any(axis=1).sum()),
        "largest": float(f"{np.abs(alone - together).max():.2g}"),
        "flips": int((alone.argmax(axis=1) != together.argmax(axis=1)).sum()),
    }


if __name__ == "__main__":
    main()
