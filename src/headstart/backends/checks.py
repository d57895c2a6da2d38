"""What every backend refuses in the same words: batches, paths and lengths that make no sense.

Knows nothing of how a model is computed or where its cache lies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from headstart.errors import InputError
from headstart.protocols import Batch

__all__ = ["check_batch", "check_context", "check_fork", "check_keep", "check_taps", "is_whole"]


def check_context(context: int | None, limit: int) -> int:
    """The context to use: the model's own limit by default, and never more."""
    if context is not None and not (is_whole(context) and 1 <= context <= limit):
        raise InputError(f"context is {context!r}; this model allows 1 to {limit} tokens")
    return limit if context is None else context


def is_whole(value: object) -> bool:
    """Whether a value is a whole number, which True and False are not."""
    return isinstance(value, int) and not isinstance(value, bool)


def check_fork(sequence: int, length: int | None, kept: int) -> int:
    """How many tokens to copy: all by default."""
    if length is not None and not 0 <= length <= kept:
        raise InputError(f"cannot fork {length} tokens of sequence {sequence}; it holds {kept}")
    return kept if length is None else length


def check_taps(taps: Sequence[int], layer_count: int) -> None:
    """Layers whose input (or, for ``layer_count``, whose predecessor's output) may be tapped."""
    if any(not 0 <= tap <= layer_count for tap in taps):
        raise InputError(f"taps are {list(taps)}; this model has 0 to {layer_count}")


def check_batch(batch: Batch, lengths: Mapping[int, int], *, vocab_size: int, context: int) -> None:
    """Refuse a batch that does not describe forests below kept texts.

    Parameters
    ----------
    batch : Batch
    lengths : mapping of int to int
        Kept tokens of each open sequence.
    vocab_size, context : int
        Token ids lie in 0..vocab_size - 1, positions in 0..context - 1.
    """
    if len({len(a) for a in (batch.sequences, batch.tokens, batch.parents, batch.wanted)}) != 1:
        raise InputError("a batch's sequences, tokens, parents and wanted must have the same length")
    _check_sequences(batch, lengths)
    bad = batch.tokens[(batch.tokens < 0) | (batch.tokens >= vocab_size)]
    if len(bad):
        raise InputError(f"token id {bad[0]} is not in the vocabulary, which has ids 0 to {vocab_size - 1}")
    _check_positions(batch, lengths, context)


def _check_sequences(batch: Batch, lengths: Mapping[int, int]) -> None:
    runs = [sequence for sequence, _ in groupby(batch.sequences.tolist())]
    for sequence in runs:
        if sequence not in lengths:
            raise InputError(f"there is no sequence {sequence}; the open ones are {sorted(lengths)}")
    if len(set(runs)) != len(runs):
        raise InputError("rows of one sequence must stand together in a batch")


def _check_positions(batch: Batch, lengths: Mapping[int, int], context: int) -> None:
    positions: list[int] = []
    for row, (sequence, parent) in enumerate(zip(batch.sequences.tolist(), batch.parents.tolist(), strict=True)):
        if not -1 <= parent < row or (parent >= 0 and batch.sequences[parent] != sequence):
            raise InputError(f"row {row} follows row {parent}; it must be an earlier row of the same sequence, or -1")
        positions.append(lengths[sequence] if parent < 0 else positions[parent] + 1)
        if positions[row] >= context:
            raise InputError(f"sequence {sequence} would grow past the context of {context} tokens")


def check_keep(sequence: int, rows: Sequence[int], parents: Mapping[int, int]) -> None:
    """Refuse rows that are no path; ``parents`` holds the sequence's pending rows."""
    previous = -1
    for row in rows:
        if row not in parents:
            raise InputError(f"row {row} is not pending for sequence {sequence}; its pending rows are {list(parents)}")
        if parents[row] != previous:
            raise InputError(f"rows {list(rows)} are no path: row {row} follows row {parents[row]}, not {previous}")
        previous = row
