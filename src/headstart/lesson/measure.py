"""How long a pass takes over one row, two rows and so on, measured on this machine.

Sweeps over all widths are repeated and medians taken, so that a change of clock or a busy moment meets every width alike.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from headstart.protocols import Batch, Model

__all__ = ["WIDTHS", "PassTime", "pass_times"]

WIDTHS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16)


@dataclass(frozen=True)
class PassTime:
    """Median seconds of a pass over ``rows`` rows, all of whose logits are wanted."""

    rows: int
    seconds: float


def pass_times(
    model: Model, *, widths: Sequence[int] = WIDTHS, sweeps: int = 9, kept: int = 128
) -> Iterator[list[PassTime]]:
    """Measure, and yield what is known after every sweep.

    Parameters
    ----------
    model : Model
    widths : sequence of int
        Rows of a pass.
    sweeps : int
        How often every width is timed.
    kept : int
        Tokens kept before them, as in the middle of an answer.

    Yields
    ------
    list of PassTime
        One for each width, in their order.
    """
    sequence = model.open()
    try:
        prompt = [1 + i % (model.vocab_size - 1) for i in range(kept)]
        model.forward(Batch.chain(sequence, prompt, wanted="none"))
        model.keep(sequence, range(kept))
        seconds: dict[int, list[float]] = {rows: [] for rows in widths}
        for _ in range(sweeps):
            for rows in widths:
                seconds[rows].append(_timed(model, Batch.chain(sequence, prompt[:rows], wanted="all")))
            yield [PassTime(rows, statistics.median(times)) for rows, times in seconds.items()]
    finally:
        model.close(sequence)


def _timed(model: Model, batch: Batch) -> float:
    begin = time.perf_counter()
    rows = model.forward(batch)
    for row in range(len(batch.tokens)):
        rows.argmax(row)
    return time.perf_counter() - begin
