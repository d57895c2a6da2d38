"""Models of real shapes with random weights in any format: what a pass costs does not depend on what weights say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from headstart.errors import InputError
from headstart.models.config import ModelConfig, Rope, Tensor, Weights
from headstart.models.kinds import KINDS, byte_count
from headstart.models.layout import expected_shapes

__all__ = ["CONTEXT", "SHAPES", "Shape", "synthetic"]

CONTEXT = 8192
# Where the half-precision numbers of a block stand; all other bytes are codes or small scales, and may be anything.
_HALVES: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {"Q8_0": (0,), "Q4_0": (0,), "Q4_1": (0, 2), "Q5_0": (0,), "Q5_1": (0, 2)}
    | {"Q4_K": (0, 2), "Q5_K": (0, 2), "Q6_K": (208,)}
)


@dataclass(frozen=True)
class Shape:
    """A model's numbers; ``layers`` may be fewer than the model has, to fit memory."""

    hidden: int
    mlp: int
    layers: int
    heads: int
    kv_heads: int
    head_size: int
    vocab: int
    tied: bool


SHAPES: Mapping[str, Shape] = MappingProxyType(
    {
        "smollm2-135m": Shape(576, 1536, 30, 9, 3, 64, 49152, True),
        "qwen2.5-0.5b": Shape(896, 4864, 24, 14, 2, 64, 151936, True),
        "llama-3.2-1b": Shape(2048, 8192, 16, 32, 8, 64, 128256, True),
        "llama-3.1-8b, 4 of 32 layers": Shape(4096, 14336, 4, 32, 8, 128, 128256, False),
    }
)


def synthetic(name: str, kind: str) -> Weights:
    """A random model of one of ``SHAPES``, every matrix stored as ``kind``; it has no tokenizer.

    Raises
    ------
    InputError
        The shape's rows are not whole blocks of that kind.
    """
    shape = SHAPES[name]
    config = _config(shape)
    names = expected_shapes(config, ())
    if not shape.tied:
        names = names | {"head": (shape.vocab, shape.hidden)}
    rng = np.random.default_rng(0)
    tensors = {tensor: _random(kind if len(size) == 2 else "F32", size, rng) for tensor, size in names.items()}
    return Weights(config, tensors, None, None, f"{name} {kind}")


def _config(shape: Shape) -> ModelConfig:
    half = shape.head_size // 2
    rope = Rope(tuple(10000.0 ** (-pair / half) for pair in range(half)))
    return ModelConfig(
        architecture="llama",
        vocab_size=shape.vocab,
        hidden_size=shape.hidden,
        intermediate_size=shape.mlp,
        layer_count=shape.layers,
        head_count=shape.heads,
        kv_head_count=shape.kv_heads,
        head_size=shape.head_size,
        context_length=CONTEXT,
        norm_epsilon=1e-5,
        rope=rope,
        windows=(None,) * shape.layers,
    )


def _random(kind: str, shape: tuple[int, ...], rng: np.random.Generator) -> Tensor:
    """Random codes with scales small enough that nothing overflows."""
    size = byte_count(kind, shape)
    if size is None:
        raise InputError(f"rows of {shape[-1]} values are not whole blocks of {kind}; choose another format")
    if kind in ("F32", "F16", "BF16"):
        return Tensor(kind, shape, _random_floats(kind, size, rng))
    blocks = np.frombuffer(rng.bytes(size), np.uint8).copy().reshape(-1, KINDS[kind].size_bytes)
    for at in _HALVES[kind]:
        blocks[:, at : at + 2] = np.array([1e-4], "<f2").view(np.uint8)
    return Tensor(kind, shape, blocks.reshape(-1))


def _random_floats(kind: str, size: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Numbers between 2^-7 and 2^-5 in size: random bits below a fixed exponent."""
    if kind == "F32":
        words: NDArray[np.uint32] = np.frombuffer(rng.bytes(size), np.uint32) & np.uint32(0x80FFFFFF)
        words |= np.uint32(0x3C000000)
        return words.view(np.uint8)
    mask, exponent = (0x83FF, 0x2000) if kind == "F16" else (0x80FF, 0x3C00)
    halves: NDArray[np.uint16] = np.frombuffer(rng.bytes(size), np.uint16) & np.uint16(mask) | np.uint16(exponent)
    return halves.view(np.uint8)
