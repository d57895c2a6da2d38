"""Records what the lesson shows where no engine is at hand: ``python -m headstart.lesson.record [NAME ...]``.

Every file is a real run of the engine on the machine that recorded it. ``law`` drafts with a blurred copy of the target,
because only a sampled draft shows coins and residuals at work.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from headstart.engine import DEFAULT_MODEL, Engine
from headstart.lesson.measure import pass_times
from headstart.lesson.site import FOLDER

__all__ = ["RUNS", "Run", "main", "record"]

TRACES = FOLDER / "traces"
REPEATS = 5


@dataclass(frozen=True)
class Run:
    """One recorded run: what was asked, and whether the plain answer is recorded beside it."""

    prompt: str
    options: Mapping[str, Any]
    compare: bool = True


RUNS: Mapping[str, Run] = MappingProxyType(
    {
        "copy": Run(
            "Copy this text word for word:\n\nSpeculative sampling lets a small model run ahead and guess. The big model "
            "only checks the guesses. The final text is the same, letter for letter.",
            {"max_tokens": 64},
        ),
        "code": Run("Write a Python function that counts how often each word occurs in a text.", {"max_tokens": 96}),
        "chat": Run("Why is the sky blue?", {"max_tokens": 72}),
        "law": Run(
            "The best thing about the sea is that",
            {
                "max_tokens": 40,
                "temperature": 0.9,
                "top_k": 8,
                "seed": 7,
                "guarantee": "law",
                "verifier": "token",
                "drafter": "model",
                "draft_length": 4,
                "raw": True,
            },
            compare=False,
        ),
    }
)


def record(engine: Engine, name: str) -> None:
    """Record one run and its plain twin, in turns; of each the run of median time is kept.

    Runs of one name differ in nothing but their timings: the rest of a trace is the same to the byte.
    """
    run = RUNS[name]
    lanes = {name: run.options} | ({f"{name}-plain": {**run.options, "drafter": "none"}} if run.compare else {})
    with tempfile.TemporaryDirectory(prefix="headstart-lesson-") as folder:
        files: dict[str, list[Path]] = {lane: [] for lane in lanes}
        tokens = set()
        for repeat in range(REPEATS):
            for lane, options in lanes.items():
                files[lane].append(Path(folder) / f"{lane}-{repeat}.jsonl")
                tokens.add(engine.generate(run.prompt, trace=files[lane][-1], **options).tokens)
        assert len(tokens) == 1, "all these texts must be the same"
        for lane, recorded in files.items():
            middle = sorted(recorded, key=_seconds)[REPEATS // 2]
            shutil.copyfile(middle, TRACES / f"{lane}.jsonl")
            print(f"{lane}: {1000 * _seconds(middle):.0f} ms")


def _seconds(file: Path) -> float:
    """Time of all rounds of a trace."""
    timings = json.loads(file.read_text(encoding="utf-8").splitlines()[-1])
    return float(sum(sum(phases.values()) for phases in timings["rounds"]))


def _blurred() -> Any:
    """A draft model: the target with noise on its weights."""
    from headstart.backends import load_backend
    from headstart.models import load
    from headstart.models.quantise import perturb

    return load_backend(perturb(load(DEFAULT_MODEL), noise_rate=0.12, seed=1, kind="Q4_0"))


def _curve(engine: Engine) -> None:
    *_, points = pass_times(engine.model, sweeps=25)
    seen = {
        "model": engine.name,
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, {engine.model.numerics_id}",
        "points": [asdict(point) for point in points],
    }
    (TRACES / "passes.json").write_text(json.dumps(seen) + "\n", encoding="utf-8")


def main(names: Sequence[str]) -> None:
    """Record the runs named, or all; ``passes`` is the curve of pass times."""
    wanted = list(names) or [*RUNS, "passes"]
    engine = Engine(draft_model=_blurred(), drafter="lookup") if "law" in wanted else Engine()
    for name in wanted:
        if name == "passes":
            _curve(engine)
        else:
            record(engine, name)


if __name__ == "__main__":
    main(sys.argv[1:])
