"""Stores float32 values in block formats, and makes coarser or noisier copies of a model, as draft models to test with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstart.errors import InputError
from headstart.models.config import Tensor, Weights
from headstart.models.dequantise import dequantise
from headstart.models.kinds import byte_count

__all__ = ["perturb", "quantise", "requantise"]

_Floats = NDArray[np.float32]


def quantise(values: _Floats, kind: str) -> Tensor:
    """Store values as F32, F16, BF16, Q8_0, Q4_0 or Q4_1, rounding as GGUF's reference does.

    Parameters
    ----------
    values : ndarray of shape (outputs, inputs) or (length,), dtype float32
    kind : str

    Returns
    -------
    Tensor

    Raises
    ------
    InputError
        Another kind, or rows that are not whole blocks.

    Examples
    --------
    >>> dequantise(quantise(np.arange(-16, 16, dtype=np.float32), "Q4_0"))[:3]
    array([-16., -14., -14.], dtype=float32)
    """
    if kind not in _WRITERS:
        raise InputError(f"Values cannot be stored as {kind}; possible are {', '.join(_WRITERS)}.")
    if byte_count(kind, values.shape) is None:
        raise InputError(f"Rows of {values.shape[-1]} values are not whole blocks of {kind}.")
    raw = _WRITERS[kind](values.astype(np.float32, copy=False))
    return Tensor(kind, values.shape, np.ascontiguousarray(raw).reshape(-1).view(np.uint8))


def requantise(weights: Weights, kind: str) -> Weights:
    """A copy of a model with every matrix stored as ``kind``."""
    return _with_matrices(weights, lambda tensor: quantise(dequantise(tensor), kind))


def perturb(weights: Weights, *, noise_rate: float, seed: int, kind: str = "Q8_0") -> Weights:
    """A copy of a model with noise in every matrix, of ``noise_rate`` times the matrix's own standard deviation."""
    rng = np.random.default_rng(seed)

    def noisy(tensor: Tensor) -> Tensor:
        values = dequantise(tensor)
        noise = rng.standard_normal(values.shape, np.float32)
        return quantise(values + np.float32(noise_rate * values.std()) * noise, kind)

    return _with_matrices(weights, noisy)


def _with_matrices(weights: Weights, change: Callable[[Tensor], Tensor]) -> Weights:
    changed = {name: change(t) if len(t.shape) == 2 else t for name, t in weights.tensors.items()}
    return replace(weights, tensors=changed)


def _rounded(values: _Floats) -> _Floats:
    """Nearest whole number, halves away from zero."""
    rounded: _Floats = np.copysign(np.floor(np.abs(values) + np.float32(0.5)), values)
    return rounded


def _inverse(scales: _Floats) -> _Floats:
    """``1 / scale``, and 0 where the scale is 0."""
    inverse: _Floats = np.divide(np.float32(1), scales, out=np.zeros_like(scales), where=scales != 0)
    return inverse


def _pack(scales: list[_Floats], quants: NDArray[Any]) -> NDArray[np.uint8]:
    """Half-precision scales in front of each block's bytes."""
    heads = [scale.astype("<f2").view(np.uint8) for scale in scales]
    return np.concatenate([*heads, quants.view(np.uint8)], axis=1)


def _nibbles(quants: _Floats) -> NDArray[np.uint8]:
    """Value i in the low half of byte i, value i + 16 in its high half; quants beyond 15 are held there."""
    whole = np.minimum(quants, 15).astype(np.uint8)
    packed: NDArray[np.uint8] = whole[:, :16] | whole[:, 16:] << np.uint8(4)
    return packed


def _bf16(values: _Floats) -> NDArray[Any]:
    """Round to even; infinities stay, and no finite value of a model is a NaN."""
    bits = values.view("<u4").astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype("<u2")


def _q8_0(values: _Floats) -> NDArray[Any]:
    blocks = values.reshape(-1, 32)
    scales = np.abs(blocks).max(axis=1, keepdims=True) / np.float32(127)
    return _pack([scales], _rounded(blocks * _inverse(scales)).astype(np.int8))


def _q4_0(values: _Floats) -> NDArray[Any]:
    blocks = values.reshape(-1, 32)
    furthest = np.abs(blocks).argmax(axis=1)[:, None]
    scales = np.take_along_axis(blocks, furthest, axis=1) / np.float32(-8)
    return _pack([scales], _nibbles(np.trunc(blocks * _inverse(scales) + np.float32(8.5))))


def _q4_1(values: _Floats) -> NDArray[Any]:
    blocks = values.reshape(-1, 32)
    lowest = blocks.min(axis=1, keepdims=True)
    scales = (blocks.max(axis=1, keepdims=True) - lowest) / np.float32(15)
    return _pack([scales, lowest], _nibbles(np.trunc((blocks - lowest) * _inverse(scales) + np.float32(0.5))))


_WRITERS: dict[str, Callable[[_Floats], NDArray[Any]]] = {
    "F32": lambda values: values.astype("<f4"),
    "F16": lambda values: values.astype("<f2"),
    "BF16": _bf16,
    "Q8_0": _q8_0,
    "Q4_0": _q4_0,
    "Q4_1": _q4_1,
}
