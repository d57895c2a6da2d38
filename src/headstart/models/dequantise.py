"""The values that stored tensors stand for, as float32: one short function per block layout.

Bit-equal to the ``gguf`` package: every value is the same one or two float32 operations in the same order. It is the
reference that kernels are tested against, and knows nothing of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstart.models.config import Tensor
from headstart.models.kinds import KINDS

__all__ = ["dequantise"]

_Floats = NDArray[np.float32]
_Blocks = np.ndarray[Any, Any]

_BLOCKS_AT_ONCE = 1 << 16  # bounds the temporaries, not the result


def dequantise(tensor: Tensor) -> _Floats:
    """Values of a tensor.

    Parameters
    ----------
    tensor : Tensor
        Of any supported kind.

    Returns
    -------
    ndarray of shape ``tensor.shape``, dtype float32
        A new array.

    Examples
    --------
    >>> half = np.array([1.5, -2.0], "<f2")
    >>> dequantise(Tensor("F16", (2,), half.view(np.uint8)))
    array([ 1.5, -2. ], dtype=float32)
    """
    layout = KINDS[tensor.kind]
    dtype, values_of = _READERS[tensor.kind]
    blocks = tensor.data.view(dtype)
    out = np.empty((len(blocks), layout.values), np.float32)
    for start in range(0, len(blocks), _BLOCKS_AT_ONCE):
        part = slice(start, start + _BLOCKS_AT_ONCE)
        out[part] = values_of(blocks[part]).reshape(-1, layout.values)
    return out.reshape(tensor.shape)


def _column(halves: _Blocks) -> _Floats:
    """Half-precision scales, one a block, as a float32 column."""
    return halves.astype(np.float32)[:, None]


def _nibbles(packed: _Blocks, width: int) -> NDArray[np.uint8]:
    """Runs of ``width`` bytes: first all their low halves, then all their high ones; shape (blocks, values)."""
    runs = packed.reshape(len(packed), -1, 1, width)
    found: NDArray[np.uint8] = np.concatenate([runs & 15, runs >> 4], axis=2)
    return found.reshape(len(packed), -1)


def _fifth_bits(words: _Blocks) -> NDArray[np.uint8]:
    """Bit i of each block's word is the fifth bit of its value i; shape (blocks, 32)."""
    bits = np.unpackbits(np.ascontiguousarray(words)[:, None].view(np.uint8), axis=1, bitorder="little")
    shifted: NDArray[np.uint8] = bits << np.uint8(4)
    return shifted


def _six_bit_scales(packed: _Blocks) -> tuple[_Floats, _Floats]:
    """Eight scales and eight minima in 12 bytes: 4 + 4 whose low six bits count, then 4 of low halves for the rest."""
    first, second, low = packed[:, :4], packed[:, 4:8], packed[:, 8:]
    scales = np.concatenate([first & 63, (low & 15) | (first >> 6 << 4)], axis=1)
    minima = np.concatenate([second & 63, (low >> 4) | (second >> 6 << 4)], axis=1)
    return scales.astype(np.float32), minima.astype(np.float32)


def _bf16(blocks: _Blocks) -> _Floats:
    return (blocks.astype(np.uint32) << 16).view(np.float32)


def _q8_0(blocks: _Blocks) -> _Floats:
    return _column(blocks["d"]) * blocks["q"].astype(np.float32)


def _q4_0(blocks: _Blocks) -> _Floats:
    return _column(blocks["d"]) * (_nibbles(blocks["q"], 16).astype(np.float32) - 8)


def _q4_1(blocks: _Blocks) -> _Floats:
    return _column(blocks["d"]) * _nibbles(blocks["q"], 16).astype(np.float32) + _column(blocks["m"])


def _q5_0(blocks: _Blocks) -> _Floats:
    quants = _nibbles(blocks["q"], 16) | _fifth_bits(blocks["h"])
    return _column(blocks["d"]) * (quants.astype(np.float32) - 16)


def _q5_1(blocks: _Blocks) -> _Floats:
    quants = _nibbles(blocks["q"], 16) | _fifth_bits(blocks["h"])
    return _column(blocks["d"]) * quants.astype(np.float32) + _column(blocks["m"])


def _scaled_groups(blocks: _Blocks, quants: NDArray[np.uint8]) -> _Floats:
    """Eight groups of 32, each with a scale and a minimum of its own: ``(d s) q - (m t)``."""
    scales, minima = _six_bit_scales(blocks["s"])
    scales, minima = _column(blocks["d"]) * scales, _column(blocks["m"]) * minima
    return scales[:, :, None] * quants.reshape(-1, 8, 32).astype(np.float32) - minima[:, :, None]


def _q4_k(blocks: _Blocks) -> _Floats:
    return _scaled_groups(blocks, _nibbles(blocks["q"], 32))


def _q5_k(blocks: _Blocks) -> _Floats:
    groups = np.arange(8, dtype=np.uint8)[:, None]
    high = (blocks["h"][:, None, :] >> groups & np.uint8(1)) << np.uint8(
        4
    )  # bit g of byte i belongs to value i of group g
    return _scaled_groups(blocks, _nibbles(blocks["q"], 32) | high.reshape(len(blocks), -1))


def _q6_k(blocks: _Blocks) -> _Floats:
    low = _nibbles(blocks["q"], 64).reshape(-1, 2, 4, 32)
    shifts = np.array([0, 2, 4, 6], np.uint8)[:, None]
    high = (blocks["h"].reshape(-1, 2, 1, 32) >> shifts & 3) << 4
    quants = (low | high).reshape(-1, 16, 16).astype(np.float32) - 32
    scales = _column(blocks["d"]) * blocks["s"].astype(np.float32)
    return scales[:, :, None] * quants


def _same(blocks: _Blocks) -> _Floats:
    return blocks.astype(np.float32)


_D, _M = ("d", "<f2"), ("m", "<f2")
_READERS: dict[str, tuple[np.dtype[Any], Callable[[_Blocks], _Floats]]] = {
    "F32": (np.dtype("<f4"), _same),
    "F16": (np.dtype("<f2"), _same),
    "BF16": (np.dtype("<u2"), _bf16),
    "Q8_0": (np.dtype([_D, ("q", "i1", 32)]), _q8_0),
    "Q4_0": (np.dtype([_D, ("q", "u1", 16)]), _q4_0),
    "Q4_1": (np.dtype([_D, _M, ("q", "u1", 16)]), _q4_1),
    "Q5_0": (np.dtype([_D, ("h", "<u4"), ("q", "u1", 16)]), _q5_0),
    "Q5_1": (np.dtype([_D, _M, ("h", "<u4"), ("q", "u1", 16)]), _q5_1),
    "Q4_K": (np.dtype([_D, _M, ("s", "u1", 12), ("q", "u1", 128)]), _q4_k),
    "Q5_K": (np.dtype([_D, _M, ("s", "u1", 12), ("h", "u1", 32), ("q", "u1", 128)]), _q5_k),
    "Q6_K": (np.dtype([("q", "u1", 128), ("h", "u1", 64), ("s", "i1", 16), _D]), _q6_k),
}
