"""The default model's next-token laws against Hugging Face's in float32, recorded by benchmarks/agreement.py.

`default.npz` holds, at every fifth of 200 positions of our own text, the 32 largest logits and the log of the whole
law's sum. KL is taken over those 32 tokens and the rest as one outcome, a lower bound on the whole law's.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from headstart.backends import load_backend
from headstart.models import load
from headstart.protocols import Batch

GOLDEN = np.load(Path(__file__).with_name("default.npz"))
BACKENDS = ["native"]


def laws(backend: str, precision: Literal["auto", "float32"]) -> np.ndarray[Any, Any]:
    """Our logits at the golden's rows, shape (rows, vocab)."""
    model = load_backend(load("smollm2-135m-instruct"), backend=backend, precision=precision, threads=2)
    rows = model.forward(Batch.chain(model.open(), GOLDEN["tokens"].tolist(), wanted="all"))
    return np.stack([rows.logits(row) for row in GOLDEN["rows"].tolist()])


def coarse(logits: np.ndarray[Any, Any], log_sum: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Probabilities of the 32 tokens, then of all others together."""
    top = np.exp(logits.astype(np.float64) - log_sum[:, None])
    return np.concatenate([top, 1 - top.sum(axis=1, keepdims=True)], axis=1)


def mean_kl(ours: np.ndarray[Any, Any]) -> float:
    wide = ours.astype(np.float64)
    largest = wide.max(axis=1, keepdims=True)
    log_sum = np.log(np.exp(wide - largest).sum(axis=1)) + largest[:, 0]
    p = coarse(GOLDEN["logits"], GOLDEN["log_sum"])
    q = coarse(np.take_along_axis(ours, GOLDEN["ids"], axis=1), log_sum)
    return float((p * np.log(p / q)).sum(axis=1).mean())


def flip_gaps(ours: np.ndarray[Any, Any]) -> list[float]:
    """How far below their best our best lies, in their probabilities, wherever the two differ."""
    p = coarse(GOLDEN["logits"], GOLDEN["log_sum"])
    gaps = []
    for row, best in enumerate(ours.argmax(axis=1)):
        at = np.flatnonzero(GOLDEN["ids"][row] == best)
        assert len(at), f"row {row}: our best token {best} is not among their 32 best"
        gaps.append(float(p[row, 0] - p[row, at[0]]))
    return [gap for gap in gaps if gap > 0]


@pytest.mark.parametrize("backend", BACKENDS)
def test_float32_has_their_laws(backend: str) -> None:
    """Within float32 rounding of thirty layers: the largest logit difference seen was 7e-5."""
    ours = laws(backend, "float32")
    assert np.abs(np.take_along_axis(ours, GOLDEN["ids"], axis=1) - GOLDEN["logits"]).max() < 3e-4
    assert mean_kl(ours) < 1e-9
    assert flip_gaps(ours) == []


@pytest.mark.parametrize("backend", BACKENDS)
def test_int8_activations_stay_near_their_laws(backend: str) -> None:
    ours = laws(backend, "auto")
    gaps = flip_gaps(ours)
    assert 0 < mean_kl(ours) < 2e-3
    assert len(gaps) <= 0.08 * len(ours)
    assert max(gaps, default=0) < 0.1
