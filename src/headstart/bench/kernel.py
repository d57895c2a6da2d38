"""``headstart bench kernel``: the memory's bandwidth, then what a pass costs: by rows, by context, by format, by shape.

All cells of a comparison are timed in one interleaved run, each as the median of its rounds, and the bandwidth with
them, since on a shared machine it comes and goes. A pass is one of verification: every row asks for logits. Knows
nothing of drafting.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from headstart import _native
from headstart.backends.machine import check_threads
from headstart.bench.subjects import Llama, Native, Subject
from headstart.bench.synthetic import CONTEXT, SHAPES, synthetic
from headstart.errors import InputError
from headstart.models import load
from headstart.models.config import Weights
from headstart.models.kinds import KINDS
from headstart.pictures import check_picture

__all__ = ["Cell", "KernelOptions", "Report", "bandwidth", "machine", "main", "run"]

PEERS = ("llama.cpp",)
PAUSE_S = 0.03  # lets the threads of the subject before fall asleep
WARM_S = 0.01  # the clock takes some passes to rise after a pause


@dataclass(frozen=True)
class KernelOptions:
    """What to measure.

    ``formats`` and ``shapes`` name the synthetic models, timed at the first context only; ``peer_formats`` are formats
    to which the peer requantises the same file, next to the file as it is ("").
    """

    model: str = "smollm2-135m-instruct"
    threads: int | None = None
    rows: tuple[int, ...] = tuple(range(1, 17))
    contexts: tuple[int, ...] = (200, 1000, 4000)
    prefill: int = 512
    rounds: int = 15
    formats: tuple[str, ...] = tuple(KINDS)
    shapes: tuple[str, ...] = tuple(SHAPES)
    peer: str | None = None
    peer_formats: tuple[str, ...] = ("", "Q4_0")
    peer_python: str | None = None

    def __post_init__(self) -> None:
        if self.peer not in (None, *PEERS):
            raise InputError(f"peer is {self.peer!r}; choose one of {', '.join(PEERS)}")
        if self.rounds < 1 or self.prefill < 1 or not self.rows or min(self.rows) < 1 or min(self.contexts) < 1:
            raise InputError("rounds, prefill, rows and contexts must all be at least 1")
        for name, chosen, allowed in (("format", self.formats, KINDS), ("shape", self.shapes, SHAPES)):
            if unknown := [each for each in chosen if each not in allowed]:
                raise InputError(f"{name} is {unknown[0]!r}; choose from {'; '.join(allowed)}")


@dataclass(frozen=True)
class Cell:
    """One thing to time: a pass of ``rows`` rows after ``context`` tokens, or (rows 0) a prompt of ``context`` tokens."""

    subject: str
    context: int
    rows: int


@dataclass
class Report:
    """Seconds by cell, and what is known of subjects and machine."""

    options: KernelOptions
    seconds: dict[Cell, list[float]] = field(default_factory=dict)
    bandwidths: dict[str, list[float]] = field(default_factory=dict)  # gigabytes a second while a subject was timed
    weight_bytes: dict[str, int] = field(default_factory=dict)
    cache_bytes_per_token: float = 0.0
    about_peer: Mapping[str, Any] | None = None

    def ms(self, subject: str, context: int, rows: int) -> float:
        """Median milliseconds of a cell."""
        return round(1000 * median(self.seconds[Cell(subject, context, rows)]), 4)

    def bandwidth_gb_s(self, subject: str = "headstart") -> float:
        """Median of the readings among the cells of ``subject``."""
        return median(self.bandwidths[subject])

    def bandwidth_quartiles(self, subject: str) -> list[float]:
        """Of the same readings."""
        return _quartiles(self.bandwidths[subject], 1)

    def curve(self, subject: str, context: int) -> dict[str, float]:
        """Milliseconds by number of rows."""
        return {str(cell.rows): self.ms(*_key(cell)) for cell in self._cells(subject, context)}

    def spread(self, subject: str, context: int) -> dict[str, list[float]]:
        """Quartiles in milliseconds by number of rows."""
        cells = self._cells(subject, context)
        return {str(cell.rows): _quartiles(self.seconds[cell], 1000) for cell in cells}

    def _cells(self, subject: str, context: int) -> list[Cell]:
        return [c for c in self.seconds if (c.subject, c.context) == (subject, context) and c.rows > 0]


def main(
    options: KernelOptions, *, as_json: bool = False, plot: Path | None = None, say: Callable[[str], None] = print
) -> None:
    """Measure, print tables (not with ``as_json``) and, on the last line, one JSON object; draw the curve into ``plot``."""
    from headstart.bench.kernel_report import as_object, draw, tables

    if plot is not None:
        check_picture(plot)
    report = run(options, say=(lambda _: None) if as_json else say)
    if not as_json:
        for line in tables(report):
            say(line)
    if plot is not None:
        draw(report, plot)
    say(json.dumps(as_object(report)))


def run(options: KernelOptions, *, say: Callable[[str], None] = lambda _: None) -> Report:
    """Measure everything that the options ask for.

    Raises
    ------
    InputError
        A value is not allowed, or the peer is not installed.
    """
    threads = check_threads(options.threads)
    weights = load(options.model)
    _check_lengths(options, weights)
    report = Report(options)
    say(f"memory: {bandwidth(threads):.1f} GB/s read by {threads} threads at the start")
    say(f"timing {options.model}{f' against {options.peer}' if options.peer else ''}, {options.rounds} rounds")
    _time_file(weights, options, threads, report)
    for name, synthetic_weights in _synthetic_models(options):
        say(f"timing {name}")
        _time_synthetic(name, synthetic_weights(), options, threads, report)
    return report


def _check_lengths(options: KernelOptions, weights: Weights) -> None:
    """Refuse more tokens than the models hold; synthetic ones are timed at the first context only."""
    models = {f"the model {options.model!r}": (weights.config.context_length, max(options.contexts))}
    if options.formats or options.shapes:
        models["a synthetic model"] = (CONTEXT, options.contexts[0])
    for name, (limit, context) in models.items():
        asked = max(options.prefill, context + max(options.rows))
        if asked > limit:
            raise InputError(f"contexts with rows, or prefill, ask for {asked} tokens; {name} holds {limit}")


def bandwidth(threads: int) -> float:
    """Gigabytes a second that this machine reads from memory, the best of three times."""
    size = 512 << 20
    return size / min(_native.time_reading(size, threads, 3)) / 1e9


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "processor": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "isa": _native.chosen_isa(),
        "system": platform.platform(),
        "load_average": [round(x, 2) for x in os.getloadavg()],
        "command": " ".join(sys.argv),
    }


def _time_file(weights: Weights, options: KernelOptions, threads: int, report: Report) -> None:
    """The model itself and the peer on the same file, interleaved."""
    room = max(options.contexts) + max(*options.rows, options.prefill) + 1
    own = Native(weights, threads=threads, context=room)
    subjects: dict[str, Subject] = {"headstart": own}
    if options.peer:
        for kind in options.peer_formats:
            name = f"llama.cpp {kind}".strip()
            llama = Llama(_path(options.model), kind=kind, threads=threads, python=options.peer_python)
            report.about_peer = llama.about
            subjects[name] = llama
    config = weights.config
    report.weight_bytes["headstart"] = _bytes_read(weights, own)
    report.cache_bytes_per_token = 4 * config.layer_count * config.kv_head_count * config.head_size
    cells = [Cell(s, context, rows) for context in options.contexts for rows in options.rows for s in subjects]
    cells += [Cell(s, options.prefill, 0) for s in subjects]
    _time(subjects, cells, options.rounds, threads, report)


def _path(model: str) -> Path:
    from headstart.models.store import find, installed

    entry = find(model)
    path = installed(entry.name) if entry else Path(model).expanduser()
    if path is None or not path.is_file():
        raise InputError(f"the peer reads GGUF files and {model!r} is none; give --model FILE.gguf")
    return path


def _synthetic_models(options: KernelOptions) -> list[tuple[str, Callable[[], Weights]]]:
    """Every format in the first shape that allows it, and every shape in 4 bits."""
    wanted: dict[str, Callable[[], Weights]] = {}
    for kind in options.formats:
        shape = "llama-3.2-1b" if kind.endswith("_K") else "smollm2-135m"
        wanted[f"{shape} {kind}"] = lambda shape=shape, kind=kind: synthetic(shape, kind)  # type: ignore[misc]
    for shape in options.shapes:
        wanted[f"{shape} Q4_0"] = lambda shape=shape: synthetic(shape, "Q4_0")  # type: ignore[misc]
    return list(wanted.items())


def _time_synthetic(name: str, weights: Weights, options: KernelOptions, threads: int, report: Report) -> None:
    own = Native(weights, threads=threads, context=options.contexts[0] + max(*options.rows, options.prefill) + 1)
    report.weight_bytes[name] = _bytes_read(weights, own)
    cells = [Cell(name, options.contexts[0], rows) for rows in options.rows if rows in (1, 2, 4, 8, 16)]
    _time({name: own}, [*cells, Cell(name, options.prefill, 0)], min(options.rounds, 7), threads, report)


def _bytes_read(weights: Weights, own: Native) -> int:
    """Bytes of weights that a pass reads: an embedding that is not the head too gives only its rows' lines."""
    return own.model.weight_bytes - (weights.tensors["embed"].data.nbytes if "head" in weights.tensors else 0)


def _time(subjects: Mapping[str, Subject], cells: Sequence[Cell], rounds: int, threads: int, report: Report) -> None:
    """Every cell once a round, after uncounted ones of its own; the bandwidth before the cells of each context."""
    bandwidths = report.bandwidths.setdefault(cells[0].subject, [])
    try:
        for cell in cells:  # caches are filled here
            _seconds(subjects[cell.subject], cell)
        for _ in range(rounds):
            context = -1
            for cell in cells:
                if cell.context != context:
                    bandwidths.append(bandwidth(threads))
                    context = cell.context
                if len(subjects) > 1:
                    time.sleep(PAUSE_S)
                _warm_up(subjects[cell.subject], cell)
                report.seconds.setdefault(cell, []).append(_seconds(subjects[cell.subject], cell))
    finally:
        for subject in subjects.values():
            subject.close()


def _warm_up(subject: Subject, cell: Cell) -> None:
    start = time.perf_counter()
    while time.perf_counter() - start < WARM_S:
        _seconds(subject, cell)


def _seconds(subject: Subject, cell: Cell) -> float:
    if cell.rows == 0:
        return subject.time_prefill(cell.context)
    return subject.time_pass(cell.context, cell.rows)


def _key(cell: Cell) -> tuple[str, int, int]:
    return cell.subject, cell.context, cell.rows


def _quartiles(values: Sequence[float], scale: float) -> list[float]:
    low, _, high = quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3
    return [round(scale * low, 4), round(scale * high, 4)]
