"""From a GGUF header to a model's configuration and tensors. It does not know tokenizers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstart.errors import CorruptModelError, UnsupportedModelError
from headstart.models.config import ModelConfig, Rope, Tensor
from headstart.models.fields import Fields
from headstart.models.gguf import GgufFile
from headstart.models.layout import MAX_HEAD_SIZE, check_architecture, check_config, check_tensors
from headstart.models.rope import make_rope

__all__ = ["gguf_config", "gguf_tensors"]

_TOP = {"token_embd.weight": "embed", "output_norm.weight": "final_norm", "output.weight": "head"}
_LAYER = {
    "attn_norm.weight": "attn_norm",
    "attn_q.weight": "q",
    "attn_k.weight": "k",
    "attn_v.weight": "v",
    "attn_output.weight": "o",
    "ffn_norm.weight": "mlp_norm",
    "ffn_gate.weight": "gate",
    "ffn_up.weight": "up",
    "ffn_down.weight": "down",
    "attn_q.bias": "q_bias",
    "attn_k.bias": "k_bias",
    "attn_v.bias": "v_bias",
    "attn_output.bias": "o_bias",
    "attn_q_norm.weight": "q_norm",
    "attn_k_norm.weight": "k_norm",
}
_ROPE_DIVISORS = "rope_freqs.weight"
_HALF_SPLIT = ("qwen2", "qwen3")


def gguf_config(file: GgufFile) -> ModelConfig:
    """Shape of the model, checked; refused by name where it is not one of ours.

    Raises
    ------
    UnsupportedModelError, CorruptModelError
    """
    source = str(file.path)
    name = check_architecture(Fields(file.metadata, source).text("general.architecture"), source)
    fields = Fields(_under(file.metadata, name), source)
    if fields.integer("expert_count", 0):
        raise UnsupportedModelError(f"{source}: mixtures of experts are not supported.")
    heads = _uniform(fields, "attention.head_count")
    hidden = fields.integer("embedding_length", low=1)
    size = fields.integer("attention.key_length", hidden // heads, low=1, high=MAX_HEAD_SIZE)
    layers = fields.integer("block_count", low=1, high=len(file.entries))
    config = ModelConfig(
        architecture=name,
        vocab_size=_vocabulary_rows(file),
        hidden_size=hidden,
        intermediate_size=_uniform(fields, "feed_forward_length"),
        layer_count=layers,
        head_count=heads,
        kv_head_count=_uniform(fields, "attention.head_count_kv", heads),
        head_size=size,
        context_length=fields.integer("context_length", low=1),
        norm_epsilon=fields.number("attention.layer_norm_rms_epsilon"),
        rope=_rope(file, fields, size, interleaved=name not in _HALF_SPLIT),
        windows=_windows(fields, layers),
    )
    if fields.integer("attention.value_length", size) != size:
        raise UnsupportedModelError(f"{source}: values of another head size than keys are not supported.")
    check_config(config, source)
    return config


def gguf_tensors(file: GgufFile, config: ModelConfig) -> dict[str, Tensor]:
    """All tensors by canonical name, checked against the configuration."""
    tensors = {}
    for name in file.entries:
        if name != _ROPE_DIVISORS:
            tensors[_canonical(name)] = file.tensor(name)
    check_tensors(config, tensors, str(file.path))
    return tensors


def _canonical(name: str) -> str:
    """Canonical name; one that is not known stays as it is and is refused later."""
    if name in _TOP:
        return _TOP[name]
    prefix, _, rest = name.partition(".")
    index, _, part = rest.partition(".")
    if prefix == "blk" and part in _LAYER and index.isdecimal():
        return f"{int(index)}.{_LAYER[part]}"
    return name


def _under(metadata: Mapping[str, Any], architecture: str) -> dict[str, Any]:
    """Metadata of one architecture, its prefix removed."""
    prefix = architecture + "."
    return {key[len(prefix) :]: value for key, value in metadata.items() if key.startswith(prefix)}


def _uniform(fields: Fields, key: str, default: int | None = None) -> int:
    """A number that GGUF may also give layer by layer; it must then be the same in all."""
    value = fields.values.get(key)
    if isinstance(value, np.ndarray) and value.size:
        if np.any(value != value[0]):
            raise UnsupportedModelError(f"{fields.source}: {key} differs between layers, which is not supported.")
        fields = Fields({key: value[0]}, fields.source)
    return fields.integer(key, default, low=1)


def _vocabulary_rows(file: GgufFile) -> int:
    entry = file.entries.get("token_embd.weight")
    if entry is None or len(entry.shape) != 2:
        raise CorruptModelError(f"{file.path} is incomplete: it has no embedding matrix (token_embd.weight).")
    return entry.shape[0]


def _windows(fields: Fields, layers: int) -> tuple[int | None, ...]:
    window = fields.integer("attention.sliding_window", 0)
    if not window:
        return (None,) * layers
    pattern = fields.values.get("attention.sliding_window_pattern")
    if pattern is None:
        return (window,) * layers
    if not isinstance(pattern, np.ndarray) or pattern.shape != (layers,) or pattern.dtype != np.bool_:
        raise UnsupportedModelError(f"{fields.source}: this pattern of sliding windows is not supported.")
    return tuple(window if slides else None for slides in pattern.tolist())


def _rope(file: GgufFile, fields: Fields, head_size: int, *, interleaved: bool) -> Rope:
    if fields.integer("rope.dimension_count", head_size) != head_size:
        raise UnsupportedModelError(f"{fields.source}: rotating only a part of each head is not supported.")
    if fields.number("rope.scaling.yarn_log_multiplier", 0.0) or fields.has("rope.scaling.yarn_ext_factor"):
        raise UnsupportedModelError(f"{fields.source}: this variant of yarn scaling is not supported.")
    rope = make_rope(
        head_size,
        fields.number("rope.freq_base", 10000.0, low=1.0 + 1e-6),
        _scaling(fields),
        context=fields.integer("context_length", low=1),
        interleaved=interleaved,
        divisors=_divisors(file, head_size),
    )
    return replace(rope, attention_factor=rope.attention_factor * fields.number("rope.scaling.attn_factor", 1.0))


def _scaling(fields: Fields) -> Fields:
    """GGUF's scaling keys in Hugging Face's words. A factor without a type means linear; a factor of 0 means none."""
    factor = fields.number("rope.scaling.factor", fields.number("rope.scale_linear", 0.0))
    kind = fields.text("rope.scaling.type", "linear")
    if kind == "linear" and not factor:
        kind = "none"
    found: dict[str, Any] = {"rope_type": kind, "factor": factor}
    for ours, theirs in {
        "original_max_position_embeddings": "original_context_length",
        "beta_fast": "yarn_beta_fast",
        "beta_slow": "yarn_beta_slow",
    }.items():
        found[ours] = fields.values.get(f"rope.scaling.{theirs}")
    return Fields(found, fields.source)


def _divisors(file: GgufFile, head_size: int) -> NDArray[np.float64] | None:
    if _ROPE_DIVISORS not in file.entries:
        return None
    tensor = file.tensor(_ROPE_DIVISORS)
    if tensor.kind != "F32" or tensor.shape != (head_size // 2,):
        raise CorruptModelError(f"{file.path} is damaged: {_ROPE_DIVISORS} is {tensor.kind} of shape {tensor.shape}.")
    values = np.frombuffer(tensor.data.tobytes(), "<f4").astype(np.float64)
    if not np.all(np.isfinite(values) & (values > 0)):
        raise CorruptModelError(f"{file.path} is damaged: {_ROPE_DIVISORS} holds values that are not positive.")
    return values
