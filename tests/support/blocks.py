"""Random blocks of GGUF, for matrices: uniform codes, scales and minima of both signs; and what to multiply them with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

FLOAT_KINDS = ["F32", "F16", "BF16"]
SMALL_KINDS = ["Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1"]
K_KINDS = ["Q4_K", "Q5_K", "Q6_K"]
KINDS = FLOAT_KINDS + SMALL_KINDS + K_KINDS

# Of each quantised kind: inputs and bytes of a block.
SIZES = {
    "Q8_0": (32, 34),
    "Q4_0": (32, 18),
    "Q4_1": (32, 20),
    "Q5_0": (32, 22),
    "Q5_1": (32, 24),
    "Q4_K": (256, 144),
    "Q5_K": (256, 176),
    "Q6_K": (256, 210),
}
# Where the half-precision scale, and the minimum if there is one, stand in a block.
HALVES = {
    "Q8_0": [0],
    "Q4_0": [0],
    "Q4_1": [0, 2],
    "Q5_0": [0],
    "Q5_1": [0, 2],
    "Q4_K": [0, 2],
    "Q5_K": [0, 2],
    "Q6_K": [208],
}


def random_raw(kind: str, outputs: int, inputs: int, seed: int = 0) -> Array:
    """The file's bytes of a random matrix, uint8 of shape (bytes,)."""
    rng = np.random.default_rng(seed)
    if kind in FLOAT_KINDS:
        numbers = rng.standard_normal(outputs * inputs).astype(np.float32)
        if kind == "BF16":
            return (numbers.view(np.uint32) >> 16).astype("<u2").view(np.uint8)
        return (numbers.astype(np.float16) if kind == "F16" else numbers).view(np.uint8)
    size, width = SIZES[kind]
    blocks = rng.integers(0, 256, (outputs * inputs // size, width), dtype=np.uint8)
    for at in HALVES[kind]:
        halves = rng.standard_normal(len(blocks)).astype(np.float16)
        blocks[:, at : at + 2] = halves.view(np.uint8).reshape(-1, 2)
    return blocks.ravel()


def random_activations(rows: int, inputs: int, seed: int = 0) -> Array:
    """Normal numbers, float32 of shape (rows, inputs), of which one in fifty towers over its neighbours."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, inputs))
    return np.where(rng.random(x.shape) < 0.02, 40 * x, x).astype(np.float32)
