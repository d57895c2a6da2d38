"""Tiny models of every architecture against the logits that Hugging Face's own code gave for them (make_hf.py)."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headstart.backends import load_backend
from headstart.models import Weights, load
from headstart.protocols import Batch
from support.tiny import plain_rope

HERE = Path(__file__).parent / "hf"
NAMES = sorted(folder.name for folder in HERE.iterdir() if folder.is_dir())
BACKENDS = ["reference", "native"]
ROUNDING = 4e-5
"""Float32 against float32 in another order of sums: at most 1.4e-5 was seen, on logits of spread 1.6."""

Logits = np.ndarray[Any, Any]


@pytest.fixture
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The model as users have it: config, weights and tokenizer in one folder."""
    name = request.getfixturevalue("name")
    for file in (HERE / name / "config.json", HERE / name / "model.safetensors", HERE / "tokenizer.json"):
        shutil.copy(file, tmp_path)
    return tmp_path


def logits(weights: Weights, backend: str, tokens: list[int], precision: Any = "float32") -> Logits:
    model = load_backend(weights, backend=backend, precision=precision, threads=1)
    rows = model.forward(Batch.chain(model.open(), tokens, wanted="all"))
    return np.stack([rows.logits(row) for row in range(len(tokens))])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", NAMES)
def test_logits_are_hugging_faces(name: str, folder: Path, backend: str) -> None:
    weights, golden = load(folder), np.load(HERE / name / "expected.npz")
    for text in ("long", "short"):
        ours = logits(weights, backend, golden[f"{text}_tokens"].tolist())
        assert np.abs(ours - golden[f"{text}_logits"]).max() < ROUNDING


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", NAMES)
def test_auto_precision_stays_near(name: str, folder: Path, backend: str) -> None:
    """These weights are floats, so only keys and values are rounded, to half precision."""
    golden = np.load(HERE / name / "expected.npz")
    difference = np.abs(logits(load(folder), backend, golden["long_tokens"].tolist(), "auto") - golden["long_logits"])
    assert ROUNDING < difference.max() < 2e-2


def without_windows(weights: Weights) -> Weights:
    return replace(weights, config=replace(weights.config, windows=(None,) * weights.config.layer_count))


def without_scaling(weights: Weights) -> Weights:
    base = 500000.0 if "llama3" in weights.name else 10000.0
    rope = plain_rope(weights.config.head_size, interleaved=False, base=base)
    return replace(weights, config=replace(weights.config, rope=rope))


def without(*endings: str) -> Any:
    """Leave out the tensors of these names, which a loader could forget."""

    def change(weights: Weights) -> Weights:
        return replace(weights, tensors={k: v for k, v in weights.tensors.items() if not k.endswith(endings)})

    return change


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("mistral-window", without_windows),
        ("qwen2-half-windowed", without_windows),
        ("llama-linear-bias-tied", without_scaling),
        ("llama-llama3-wide-heads", without_scaling),
        ("llama-yarn", without_scaling),
        ("qwen3-yarn-tied", without_scaling),
        ("llama-linear-bias-tied", without("o_bias")),
        ("qwen2-tied", without("k_bias")),
        ("qwen3", without("k_norm")),
        ("llama", without("head")),
    ],
)
def test_the_goldens_would_show_what_is_forgotten(name: str, folder: Path, change: Any) -> None:
    weights, golden = load(folder), np.load(HERE / name / "expected.npz")
    changed = change(replace(weights, name=name))
    assert np.abs(logits(changed, "reference", golden["long_tokens"].tolist()) - golden["long_logits"]).max() > 0.01
