"""Computing a trace's laws again from the model that it names: is p the model's own? Knows nothing of how drafts were made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np

from headstart.errors import HeadstartError, RefusedError, TraceError
from headstart.law import Law
from headstart.protocols import Batch, Model
from headstart.request import row_law
from headstart.trace.read import StoredLaw, Trace, draft_of, laws_of
from headstart.trace.shaping import sampling_of
from headstart.tree import Draft

__all__ = ["load_traced", "recompute"]

COMPUTED_WITH: tuple[tuple[str, Literal["auto", "float32"]], ...] = (
    ("native", "auto"),
    ("native", "float32"),
    ("reference", "auto"),
    ("reference", "float32"),
)
CHUNK = 256
"""Rows of one pass over the prompt."""


def load_traced(trace: Trace, source: str | Path, *, threads: int | None = None) -> tuple[Model, Any]:
    """Load the model that a trace was made with, and its tokenizer.

    Raises
    ------
    TraceError
        If it is another model.
    RefusedError
        If this machine computes with other numerics than the trace's, so that its laws cannot be bit-equal.
    """
    from headstart.backends import load_backend
    from headstart.models import load
    from headstart.models.fingerprint import fingerprint

    header, weights = trace.header, load(source)
    with _header_read():
        name, wanted, numerics_id = header["model"]["name"], header["model"]["fingerprint"], str(header["numerics_id"])
    if (found := fingerprint(weights)) != wanted:
        raise TraceError(
            f"the trace was made with {name} (fingerprint {str(wanted)[:16]}), and {source} is another model ({found[:16]})"
        )
    found_ids = []
    for backend, precision in COMPUTED_WITH:
        if backend == "reference" and not numerics_id.startswith("reference"):
            break
        model = load_backend(weights, backend=backend, threads=threads, precision=precision)
        if model.numerics_id == numerics_id:
            return model, weights.tokenizer
        found_ids.append(model.numerics_id)
    raise RefusedError(
        f"the trace was made with {numerics_id} and this machine computes with {found_ids[0]}; laws are "
        "bit-equal only within one, so check it where it was made, or force its instruction set by HEADSTART_ISA"
    )


def recompute(trace: Trace, model: Model, tokenizer: Any = None) -> int:
    """Compute every law of a trace again.

    Parameters
    ----------
    trace : Trace
    model : Model
    tokenizer : headstart.models.tokenizer.Tokenizer, optional
        Needed only where a grammar shaped the laws.

    Returns
    -------
    int
        How many laws were compared; all were equal to the bit.

    Raises
    ------
    TraceError
        Naming the first round with a law that is not the model's.
    RefusedError
        If the laws were shaped by code, which a trace only names.
    """
    with _header_read():
        sampling = sampling_of(trace.header["sampling"], tokenizer=tokenizer, vocab_size=model.vocab_size)
    tokens = list(trace.header["prompt"])
    prompt_length, compared = len(tokens), 0
    sequence = model.open()
    try:
        _read_prompt(model, sequence, tokens[:-1])
        for record in trace.rounds:
            draft = draft_of(record, model.vocab_size)
            rows = model.forward(_batch(sequence, tokens[-1], draft))
            for node, stored in laws_of(record["laws"], model.vocab_size).items():
                history = [*tokens, *(draft.tokens[n] for n in draft.path(node))]
                with _header_read():
                    law = row_law(sampling, rows, node + 1, history, prompt_length, model.vocab_size)
                _compare(record["round"], node, stored, law)
                compared += 1
            path = record["verdict"]["path"][: len(record["committed"]) - 1]
            model.keep(sequence, [0, *(node + 1 for node in path)])
            tokens += record["committed"]
    finally:
        model.close(sequence)
    return compared


@contextmanager
def _header_read() -> Iterator[None]:
    """What the header says of model and sampling is used first here; where it is malformed, the trace is."""
    try:
        yield
    except HeadstartError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise TraceError(f"the header is malformed: {type(error).__name__}: {error}") from None


def _read_prompt(model: Model, sequence: int, tokens: Sequence[int]) -> None:
    for begin in range(0, len(tokens), CHUNK):
        part = tokens[begin : begin + CHUNK]
        model.forward(Batch.chain(sequence, part, wanted="none"))
        model.keep(sequence, range(len(part)))


def _batch(sequence: int, last: int, draft: Draft) -> Batch:
    """The round's pass: the last committed token, then the draft's nodes."""
    count = len(draft) + 1
    return Batch(
        np.full(count, sequence, np.int32),
        np.array([last, *draft.tokens], np.int32),
        np.array([-1, *(parent + 1 for parent in draft.parents)], np.int32),
        np.ones(count, np.bool_),
    )


def _compare(number: int, node: int, stored: StoredLaw, law: Law) -> None:
    """Every stored weight is the law's own, and none that was left out is above the floor."""
    where = f"round {number} (line {number + 2}) does not follow: the law after node {node}"
    dense, known = _dense(law), _dense(stored.law)
    ids = np.arange(law.size) if stored.law.ids is None else stored.law.ids
    wrong = ids[dense[ids] != known[ids]]
    if len(wrong):
        token = int(wrong[0])
        raise TraceError(f"{where} gives token {token} {float(known[token])!r}, the model {float(dense[token])!r}")
    dense[ids] = 0.0
    if dense.max() > (stored.floor or 0.0):
        raise TraceError(
            f"{where} leaves out token {int(dense.argmax())}, to which the model gives {float(dense.max())!r}"
        )


def _dense(law: Law) -> np.ndarray[Any, np.dtype[np.float64]]:
    dense = np.zeros(law.size)
    dense[slice(len(law.weights)) if law.ids is None else law.ids] = law.weights
    return dense
