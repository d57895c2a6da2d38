"""What chapters 9 and 11 of the lesson show as measured: speed against acceptance, and rows whose bits change.

Points are whole answers of the engine at fixed draft lengths, each beside a plain answer of the same sweep: by lookup on
three tasks, by a draft model as large as the target, and from a script that is right with a known chance. Rows compare one
row with five: through a matrix library, and through the engine. The last line of output is JSON; it is also the file.

    python benchmarks/lesson_points.py                  written beside the lesson's traces
    python benchmarks/lesson_points.py --sweeps 9 --out FILE
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
from collections.abc import Iterator, Sequence
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
class Point:
    """One drafter on one task at one length, over all sweeps."""

    drafter: Any
    task: str
    length: int
    gains: list[float]
    result: Result | None = None

    def as_dict(self, plain_pass: float) -> dict[str, Any]:
        """Acceptance is of guesses that were looked at: those accepted, and each round's first rejected one, if any."""
        assert self.result is not None
        seen = self.result.statistics
        missed = seen.rounds - self.result.origins.count("bonus")
        return {
            "drafter": self.drafter if isinstance(self.drafter, str) else self.drafter.name,
            "task": self.task,
            "length": self.length,
            "alpha": round(seen.tokens_accepted / (seen.tokens_accepted + missed), 3),
            "tokens": round(seen.tokens / seen.rounds, 3),
            "cost": round(seen.draft_s / max(seen.tokens_drafted, 1) / plain_pass, 4),
            "speedup": round(statistics.median(self.gains), 3),
            "spread": [round(float(x), 3) for x in np.quantile(self.gains, (0.25, 0.75))],
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
        "rows": {"library": library_rows(), "engine": engine_rows(engine)},
    }
    line = json.dumps(seen)
    options.out.write_text(line + "\n", encoding="utf-8")
    print(line)


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sweeps", type=int, default=5)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--out", type=Path, default=TRACES / "points.json")
    return parser.parse_args()


def blurred(threads: int | None) -> Model:
    """A draft model that costs as much as the target: the target with noise on its weights."""
    return load_backend(perturb(load(DEFAULT_MODEL), noise_rate=0.12, seed=1, kind="Q4_0"), threads=threads)


def passes(model: Model, sweeps: int) -> list[float]:
    """Cost of a pass over 1, 2, ... rows, in passes over one row."""
    *_, times = pass_times(model, widths=range(1, max(LENGTHS) + 2), sweeps=max(sweeps, 9))
    print([round(1000 * time.seconds, 2) for time in times])
    return [round(time.seconds / times[0].seconds, 3) for time in times]


def points(engine: Engine, sweeps: int) -> list[dict[str, Any]]:
    """All points; every sweep goes over all of them, so that a busy moment meets them alike."""
    answers = {task: answer(engine, task, "none", 0) for task in TASKS}
    every = [Point(*kind, length, []) for kind in drafters(engine, answers) for length in LENGTHS]
    plain_passes = []
    for _ in range(sweeps):
        for task in TASKS:
            for point in (point for point in every if point.task == task):
                plain = answer(engine, task, "none", 0)
                point.result = answer(engine, task, point.drafter, point.length)
                assert point.result.tokens == plain.tokens
                point.gains.append(rate(point.result) / rate(plain))
                plain_passes.append(1 / rate(plain))
    found = [point.as_dict(statistics.median(plain_passes)) for point in every]
    print("\n".join(map(str, found)))
    return found


def drafters(engine: Engine, answers: dict[str, Result]) -> Iterator[tuple[Any, str]]:
    """Who guesses, and on which task."""
    for task in TASKS:
        yield "lookup", task
    yield "model", "code"
    for chance in CHANCES:
        yield Script(answers["code"].tokens, chance, engine.model.vocab_size), "code"


def answer(engine: Engine, task: str, drafter: Any, length: int) -> Result:
    """One answer at temperature 0, as the lesson records it."""
    run = RUNS[task]
    return engine.generate(run.prompt, drafter=drafter, draft_length=length, **run.options)


def rate(result: Result) -> float:
    """Tokens a second once the prompt is read."""
    assert result.statistics.tokens_per_s is not None
    return result.statistics.tokens_per_s


def library_rows(count: int = 1500) -> dict[str, Any]:
    """One row against five through a matrix library: rows of unit size whose bits change, how far, how many winners."""
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((256, 4096), dtype=np.float32) / 16
    rows = rng.standard_normal((count, 256), dtype=np.float32)
    alone = np.stack([row @ matrix for row in rows])
    together = np.concatenate([rows[at : at + WIDTH] @ matrix for at in range(0, count, WIDTH)])
    return compared(alone, together) | {"library": f"NumPy {np.__version__}", "shape": list(matrix.shape)}


def engine_rows(engine: Engine, count: int = 300) -> dict[str, Any]:
    """The same through the whole model: logits of every position of a text, read one by one and five at a time."""
    text = engine.encode(RUNS["copy"].prompt) + list(answer(engine, "chat", "none", 0).tokens)
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
