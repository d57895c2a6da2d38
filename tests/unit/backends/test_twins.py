"""The native backend against its NumPy twin: the same equations, sums in another order.

In float32 that is rounding and no more. Under ``auto`` the two round activations at the same places, so a last-bit
difference can move a number to the neighbouring step: rare, and then as large as a step. Most rows still agree closely,
far more closely than with the twin that does not round.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest

from headstart.backends import load_backend
from headstart.models import Weights
from headstart.protocols import Batch
from support.passes import TINY
from support.tiny import tiny_weights

QUANTISED = [name for name, shape in TINY.items() if shape.get("kind", "F32").startswith("Q")]


def computed(
    name: str, backend: str, precision: Literal["auto", "float32"] = "float32", length: int = 40
) -> dict[str, np.ndarray[Any, Any]]:
    """Logits and the states after each layer, one line a row, in units of their own spread."""
    weights: Weights = tiny_weights(context=640, **TINY[name])
    model = load_backend(weights, backend=backend, precision=precision, threads=2)
    tokens = np.random.default_rng(5).integers(0, 300, length).tolist()
    rows = model.forward(Batch.chain(model.open(), tokens, wanted="all"), taps=(1, 2))
    found = {"logits": np.stack([rows.logits(row) for row in range(length)])}
    for tap in (1, 2):
        found[f"state {tap}"] = np.stack([rows.hidden(tap, row) for row in range(length)])
    return {what: values / values.std() for what, values in found.items()}


@pytest.mark.parametrize("name", list(TINY))
def test_float32_is_the_same_but_for_rounding(name: str) -> None:
    ours, twin = computed(name, "native"), computed(name, "reference")
    for what in ours:
        assert np.abs(ours[what] - twin[what]).max() < 1e-4, what


def test_float32_is_the_same_beyond_one_chunk_of_keys() -> None:
    ours, twin = (computed("llama", backend, length=300)["logits"] for backend in ("native", "reference"))
    assert np.abs(ours - twin)[250:].max() < 1e-4


@pytest.mark.parametrize("name", QUANTISED)
def test_auto_rounds_where_its_twin_does(name: str) -> None:
    ours, twin, smooth = (computed(name, *how) for how in (("native", "auto"), ("reference", "auto"), ("reference",)))
    steps = np.abs(ours["state 1"] - twin["state 1"]).max(axis=1)
    rounding = np.abs(ours["state 1"] - smooth["state 1"]).max(axis=1)
    assert np.median(steps) < 0.1 * np.median(rounding)
    assert np.abs(ours["logits"] - twin["logits"]).max() < 0.2
