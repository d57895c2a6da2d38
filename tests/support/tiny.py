"""Tiny random models of every architecture, in memory and as files, with a byte-level tokenizer of about 300 tokens."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain, islice
from typing import Any

import numpy as np

from headstart.models import ModelConfig, Rope, Tensor, Weights
from headstart.models.fields import Fields
from headstart.models.kinds import KINDS, byte_count
from headstart.models.layout import expected_shapes
from headstart.models.rope import make_rope
from headstart.models.tokenizer import Tokenizer
from headstart.models.vocabulary import gguf_tokenizer

SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
CHAT_TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
_COMMON_PAIRS = ["Ġ t", "h e", "i n", "Ġ a", "r e", "Ġt he", "o n", "Ġ s", "e r", "a t", "Ġ w", "Ġ o", "i s", "in g"]

# per kind: offsets of half-precision scale and minimum in a block, spread of the quants, minimum in units of the scale
_BLOCKS: dict[str, tuple[int, int | None, float, float]] = {
    "Q8_0": (0, None, 74.0, 0.0),
    "Q4_0": (0, None, 4.6, 0.0),
    "Q4_1": (0, 2, 4.6, -7.5),
    "Q5_0": (0, None, 9.2, 0.0),
    "Q5_1": (0, 2, 9.2, -15.5),
    "Q4_K": (0, 2, 4.6 * 32, 7.5),
    "Q5_K": (0, 2, 9.2 * 32, 15.5),
    "Q6_K": (208, None, 18.5 * 74, 0.0),
}


def tiny_weights(
    architecture: str = "llama",
    *,
    layers: int = 2,
    hidden: int = 64,
    vocab: int = 300,
    heads: int = 4,
    kv_heads: int = 2,
    head_size: int | None = None,
    mlp: int | None = None,
    kind: str = "F32",
    window: int | Sequence[int | None] | None = None,
    seed: int = 0,
    biases: bool = False,
    qk_norm: bool = False,
    rope: Rope | None = None,
    tied: bool = True,
    context: int = 512,
) -> Weights:
    """A random model whose next-token laws are neither flat nor certain.

    ``kind`` is the type of every matrix (K-quants need ``hidden`` and ``mlp`` divisible by 256); vectors are F32.
    qwen2 always has biases and qwen3 always q/k norms. By default ``mlp`` is twice ``hidden``, and llama and mistral
    rotate neighbouring pairs, as GGUF lays them out.
    """
    size = head_size or hidden // heads
    config = ModelConfig(
        architecture=architecture,
        vocab_size=vocab,
        hidden_size=hidden,
        intermediate_size=mlp or 2 * hidden,
        layer_count=layers,
        head_count=heads,
        kv_head_count=kv_heads,
        head_size=size,
        context_length=context,
        norm_epsilon=1e-5,
        rope=rope or plain_rope(size, interleaved=architecture in ("llama", "mistral")),
        windows=tuple(window) if isinstance(window, Sequence) else (window,) * layers,
    )
    extras = ["q_bias", "k_bias", "v_bias"] if biases or architecture == "qwen2" else []
    extras += ["q_norm", "k_norm"] if qk_norm or architecture == "qwen3" else []
    rng = np.random.default_rng(seed)
    shapes = expected_shapes(config, extras) | ({} if tied else {"head": (vocab, hidden)})
    tensors = {name: _random_tensor(name, shape, kind, rng) for name, shape in shapes.items()}
    return Weights(config, tensors, tiny_tokenizer(vocab), CHAT_TEMPLATE, f"tiny-{architecture}")


def plain_rope(head_size: int, *, interleaved: bool = True, base: float = 10000.0) -> Rope:
    """Unscaled rotary embedding."""
    return make_rope(head_size, base, Fields({}, "tiny"), context=512, interleaved=interleaved)


def tiny_tokenizer(vocab: int = 300) -> Tokenizer:
    """Byte-level tokenizer of exactly ``vocab`` tokens (259 to 68139): 3 special, 256 bytes, then merges."""
    return gguf_tokenizer(tiny_vocabulary(vocab), vocab_size=vocab, source="tiny")


def tiny_vocabulary(vocab: int = 300) -> dict[str, Any]:
    """The same as GGUF metadata."""
    letters = [chr(code) for code in _byte_letters()]
    pairs = [f"{a} {b}" for a in "abcdefghijklmnopqrstuvwxyz" for b in "0123456789"]
    longer = (f"{a[::2]} {b[::2]}" for a in pairs for b in pairs)
    merges = list(islice(chain(_COMMON_PAIRS, pairs, longer), vocab - len(SPECIALS) - len(letters)))
    tokens = SPECIALS + letters + [merge.replace(" ", "") for merge in merges]
    if len(tokens) != vocab:
        raise ValueError(f"a tiny vocabulary has 259 to 68139 tokens, not {vocab}")
    found = {
        "model": "gpt2",
        "pre": "gpt-2",
        "tokens": tokens,
        "token_type": np.array([3] * len(SPECIALS) + [1] * (vocab - len(SPECIALS)), np.int32),
        "merges": merges,
        "bos_token_id": 0,
        "eos_token_id": 2,
        "add_bos_token": False,
    }
    return {f"tokenizer.ggml.{key}": value for key, value in found.items()}


def _byte_letters() -> list[int]:
    """Code points that stand for bytes 0 to 255 in GPT-2's alphabet."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    hidden = [byte for byte in range(256) if byte not in printable]
    return [byte if byte in printable else 256 + hidden.index(byte) for byte in range(256)]


def _random_tensor(name: str, shape: tuple[int, ...], kind: str, rng: np.random.Generator) -> Tensor:
    part = name.rpartition(".")[2]
    if len(shape) == 1:
        values = 0.3 * rng.standard_normal(shape) if part.endswith("_bias") else 1 + 0.1 * rng.standard_normal(shape)
        return Tensor("F32", shape, values.astype("<f4").view(np.uint8))
    spread = 2 / math.sqrt(shape[1]) if part in ("embed", "head") else 1 / math.sqrt(shape[1])
    return random_tensor(kind, shape, spread=spread, rng=rng)


def random_tensor(kind: str, shape: tuple[int, ...], *, spread: float, rng: np.random.Generator) -> Tensor:
    """A random tensor of any kind; ``spread`` is about the standard deviation of its values."""
    if kind in ("F32", "F16", "BF16"):
        return Tensor(kind, shape, _float_bytes(kind, spread * rng.standard_normal(shape)))
    size = byte_count(kind, shape)
    if size is None:
        raise ValueError(f"rows of {shape[-1]} values are not whole blocks of {kind}")
    blocks = rng.integers(0, 256, (size // KINDS[kind].size_bytes, KINDS[kind].size_bytes), np.uint8)
    scale_at, minimum_at, quant_spread, minimum = _BLOCKS[kind]
    scales = spread / quant_spread * rng.uniform(0.7, 1.3, (len(blocks), 1))
    blocks[:, scale_at : scale_at + 2] = scales.astype("<f2").view(np.uint8)
    if minimum_at is not None:
        blocks[:, minimum_at : minimum_at + 2] = (minimum * scales).astype("<f2").view(np.uint8)
    return Tensor(kind, shape, blocks.reshape(-1))


def _float_bytes(kind: str, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if kind == "BF16":  # truncation is rounding enough for random numbers
        return (values.astype("<f4").view("<u4") >> 16).astype("<u2").reshape(-1).view(np.uint8)
    return values.astype("<f4" if kind == "F32" else "<f2").reshape(-1).view(np.uint8)
