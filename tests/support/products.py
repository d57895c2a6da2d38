"""The twin of the packed weight matrices in NumPy: the arithmetic that ``cpp/kernels/tile.h`` states, bit for bit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize
from numpy.typing import NDArray

from support.blocks import FLOAT_KINDS, HALVES, K_KINDS

Array = NDArray[Any]


def values(kind: str, raw: Array, outputs: int, inputs: int) -> Array:
    """The file's values, float32 of shape (outputs, inputs), by the gguf package."""
    return np.asarray(dequantize(raw.reshape(outputs, -1), GGMLQuantizationType[kind])).reshape(outputs, inputs)


def fused(a: Array, b: Array, c: Array) -> Array:
    """a * b + c in float32 with one rounding: float64 rounded to odd, then to float32."""
    product = a.astype(np.float64) * b.astype(np.float64)  # exact
    c = c.astype(np.float64)
    total = product + c
    part = total - product
    error = (product - (total - part)) + (c - part)
    even = (total.view(np.int64) & 1) == 0
    toward = np.where(error > 0, np.inf, -np.inf)
    return np.where((error != 0) & even, np.nextafter(total, toward), total).astype(np.float32)


def affine(kind: str, raw: Array, outputs: int, inputs: int) -> tuple[Array, Array, Array]:
    """Codes (outputs, runs, run), and scale and minimum (outputs, runs) of each run of inputs with one scale."""
    size, width = GGML_QUANT_SIZES[GGMLQuantizationType[kind]]
    blocks = raw.reshape(-1, width)

    def with_scales(first: float, second: float) -> Array:
        changed = blocks.copy()
        for at, value in zip(HALVES[kind], (first, second), strict=False):
            changed[:, at : at + 2] = np.array([value], np.float16).view(np.uint8)
        return values(kind, changed.ravel(), outputs, inputs).astype(np.float64)

    run = 16 if kind == "Q6_K" else 32
    shape = (outputs, inputs // run, run)
    runs_a_block = size // run
    halves = [
        np.repeat(
            blocks[:, at : at + 2].copy().view(np.float16).astype(np.float32).reshape(outputs, -1), runs_a_block, axis=1
        )
        for at in HALVES[kind]
    ]
    scale, minimum = halves[0], halves[1] if len(halves) > 1 else np.zeros_like(halves[0])
    if kind in K_KINDS:
        sub_scale, sub_minimum = sub_scales(kind, blocks)
        scale = scale * sub_scale.reshape(scale.shape)
        minimum = -(minimum * sub_minimum.reshape(scale.shape))
    unit = with_scales(1.0, 0.0).reshape(shape)
    if kind in K_KINDS:
        sub = sub_scale.reshape(outputs, -1, 1)
        codes = np.divide(unit, sub, out=np.zeros(shape), where=sub != 0)
    else:
        codes = unit
    return codes, scale, minimum


def sub_scales(kind: str, blocks: Array) -> tuple[Array, Array]:
    """The integer scale and minimum of every run of a K-quant, float32."""
    if kind == "Q6_K":
        scales = blocks[:, 192:208].view(np.int8).astype(np.float32)
        return scales, np.zeros_like(scales)
    packed = blocks[:, 4:16].astype(np.int64)
    low, minimum, rest = packed[:, :4], packed[:, 4:8], packed[:, 8:]
    scales = np.concatenate([low & 63, (rest & 15) | (low >> 6) << 4], axis=1)
    minima = np.concatenate([minimum & 63, rest >> 4 | (minimum >> 6) << 4], axis=1)
    return scales.astype(np.float32), minima.astype(np.float32)


def quantised(blocks: Array) -> tuple[Array, Array]:
    """int8 codes (rows, blocks, 32) and float32 scales (rows, blocks) of finite activations, float32 (rows, blocks, 32)."""
    largest = np.abs(blocks).max(axis=2)
    largest[largest < 2.0**-100] = 0
    with np.errstate(divide="ignore"):
        inverse = np.where(largest > 0, np.float32(127) / largest, np.float32(0)).astype(np.float32)
    return np.rint(blocks * inverse[:, :, None]).astype(np.int64), largest / np.float32(127)


def steps(x: Array) -> Iterator[tuple[Array, Array, Array]]:
    """Codes, scales and which blocks have them (rows, blocks): of all, then of those where one number towers over the rest."""
    blocks = x.reshape(len(x), x.shape[1] // 32, 32)
    codes, scale = quantised(blocks)
    squares = (codes**2).sum(axis=2)
    yield codes, scale, np.ones(scale.shape, bool)
    rest = fused(-scale[:, :, None], codes.astype(np.float32), blocks)
    yield *quantised(rest), (squares > 0) & (20 * squares < 32 * 127**2)


def product(kind: str, raw: Array, outputs: int, inputs: int, x: Array) -> Array:
    """The twin: the arithmetic that ``cpp/kernels/tile.h`` states, float32 of shape (rows, outputs)."""
    if kind in FLOAT_KINDS:
        weights = values(kind, raw, outputs, inputs)
        sums = np.zeros((2, len(x), outputs), np.float32)
        for k in range(inputs):
            sums[k % 2] = fused(x[:, k, None], weights[None, :, k], sums[k % 2])
        return sums[0] + sums[1]
    weight_codes, scale, minimum = affine(kind, raw, outputs, inputs)
    run = weight_codes.shape[2]
    out = np.zeros((len(x), outputs), np.float32)
    both = list(steps(x))
    for block in range(inputs // 32):
        for codes, x_scale, has in both:
            block_scale, more = x_scale[:, block, None], out
            for part, x_codes in enumerate(codes[:, block].reshape(len(x), 32 // run, run).swapaxes(0, 1)):
                i = block * (32 // run) + part
                whole = (x_codes.astype(np.float64) @ weight_codes[:, i].T).astype(np.float32)  # integers, exact
                more = fused(whole, scale[None, :, i] * block_scale, more)
                if len(HALVES[kind]) > 1:
                    scaled_sum = block_scale * x_codes.sum(axis=1, dtype=np.int64)[:, None].astype(np.float32)
                    more = fused(np.broadcast_to(minimum[None, :, i], more.shape), scaled_sum, more)
            out = np.where(has[:, block, None], more, out)
    return out
