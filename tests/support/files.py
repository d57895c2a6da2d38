"""Writes the tiny models of ``tiny.py`` to disk, as GGUF through the ``gguf`` package and as Hugging Face folders."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np

from headstart.models import Tensor, Weights
from headstart.models.gguf_model import _LAYER as GGUF_LAYER
from headstart.models.hf_model import _LAYER as HF_LAYER
from headstart.models.kinds import KINDS
from support.tiny import plain_rope, tiny_vocabulary

_GGUF_TOP = {"embed": "token_embd.weight", "final_norm": "output_norm.weight", "head": "output.weight"}
_HF_TOP = {"embed": "model.embed_tokens.weight", "final_norm": "model.norm.weight", "head": "lm_head.weight"}
_NUMBERS = {
    "vocab_size": "vocab_size",
    "hidden_size": "hidden_size",
    "intermediate_size": "intermediate_size",
    "layer_count": "num_hidden_layers",
    "head_count": "num_attention_heads",
    "kv_head_count": "num_key_value_heads",
    "head_size": "head_dim",
    "context_length": "max_position_embeddings",
    "norm_epsilon": "rms_norm_eps",
}


def write_gguf(weights: Weights, path: Path, *, metadata: Mapping[str, Any] | None = None) -> Path:
    """A GGUF file; ``metadata`` is added to or replaces what follows from the weights, None removes a key."""
    config = weights.config
    architecture = "llama" if config.architecture == "mistral" else config.architecture
    writer = gguf.GGUFWriter(path, architecture)
    for key, value in (_gguf_metadata(weights, architecture) | dict(metadata or {})).items():
        if value is not None:
            _add(writer, key, value)
    for name, tensor in _interleaved(weights, architecture == "llama").items():
        writer.add_tensor(_gguf_name(name), _as_stored(tensor), raw_dtype=gguf.GGMLQuantizationType[tensor.kind])
    divisors = np.array(plain_rope(config.head_size).inverse_frequencies) / config.rope.inverse_frequencies
    if np.any(divisors != 1):
        writer.add_tensor("rope_freqs.weight", divisors.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def write_hf(weights: Weights, folder: Path, *, config: Mapping[str, Any] | None = None, shards: int = 1) -> Path:
    """A Hugging Face folder with F32, F16 or BF16 weights; ``config`` is added to config.json."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(_hf_config(weights) | dict(config or {})))
    (folder / "tokenizer.json").write_text(weights.tokenizer._backend.to_str())
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"bos_token": "<|endoftext|>", "eos_token": "<|im_end|>", "chat_template": weights.chat_template})
    )
    tensors = {_hf_name(name): tensor for name, tensor in _interleaved(weights, False).items()}
    if shards == 1:
        write_safetensors(tensors, folder / "model.safetensors")
        return folder
    places = {name: f"model-{index % shards + 1:05}-of-{shards:05}.safetensors" for index, name in enumerate(tensors)}
    for file_name in set(places.values()):
        write_safetensors({n: t for n, t in tensors.items() if places[n] == file_name}, folder / file_name)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))
    return folder


def write_safetensors(tensors: Mapping[str, Tensor], path: Path) -> None:
    """The format by hand, since the package needs torch for BF16."""
    header, end = {}, 0
    for name, tensor in tensors.items():
        header[name] = {"dtype": tensor.kind, "shape": tensor.shape, "data_offsets": [end, end + len(tensor.data)]}
        end += len(tensor.data)
    raw = json.dumps(header).encode()
    raw += b" " * (-len(raw) % 8)
    path.write_bytes(len(raw).to_bytes(8, "little") + raw + b"".join(t.data.tobytes() for t in tensors.values()))


def _gguf_metadata(weights: Weights, architecture: str) -> dict[str, Any]:
    config = weights.config
    shape = {
        "block_count": config.layer_count,
        "context_length": config.context_length,
        "embedding_length": config.hidden_size,
        "feed_forward_length": config.intermediate_size,
        "attention.head_count": config.head_count,
        "attention.head_count_kv": config.kv_head_count,
        "attention.key_length": config.head_size,
        "attention.value_length": config.head_size,
        "attention.layer_norm_rms_epsilon": config.norm_epsilon,
        "rope.dimension_count": config.head_size,
        "rope.freq_base": 10000.0,
        "rope.scaling.attn_factor": config.rope.attention_factor,
    }
    window = max((window or 0 for window in config.windows), default=0)
    if window:
        shape["attention.sliding_window"] = window
        shape["attention.sliding_window_pattern"] = [bool(each) for each in config.windows]
    named = {f"{architecture}.{key}": value for key, value in shape.items()}
    return named | tiny_vocabulary(config.vocab_size) | {"tokenizer.chat_template": weights.chat_template}


def _add(writer: gguf.GGUFWriter, key: str, value: Any) -> None:
    kinds = {bool: writer.add_bool, int: writer.add_uint32, float: writer.add_float32, str: writer.add_string}
    if isinstance(value, list | np.ndarray):
        writer.add_array(key, list(value) if isinstance(value, list) else value.tolist())
    else:
        kinds[type(value)](key, value)


def _hf_config(weights: Weights) -> dict[str, Any]:
    """Its rotary embedding is the plain one; give another through ``config``."""
    config = weights.config
    found = {theirs: getattr(config, ours) for ours, theirs in _NUMBERS.items()}
    found |= {"model_type": config.architecture, "tie_word_embeddings": "head" not in weights.tensors}
    found |= {"attention_bias": config.architecture == "llama" and "0.q_bias" in weights.tensors}
    return found | {"rope_theta": 10000.0, "sliding_window": config.windows[0], "eos_token_id": 2}


def _gguf_name(name: str) -> str:
    index, _, part = name.partition(".")
    inverse = {ours: theirs for theirs, ours in GGUF_LAYER.items()}
    return f"blk.{index}.{inverse[part]}" if part else _GGUF_TOP[name]


def _hf_name(name: str) -> str:
    index, _, part = name.partition(".")
    inverse = {ours: theirs for theirs, ours in HF_LAYER.items()}
    return f"model.layers.{index}.{inverse[part]}" if part else _HF_TOP[name]


def _as_stored(tensor: Tensor) -> np.ndarray[Any, Any]:
    """As the writer wants it: floats in their shape, blocks as rows of bytes."""
    if tensor.kind in ("F32", "F16"):
        return tensor.data.view("<f4" if tensor.kind == "F32" else "<f2").reshape(tensor.shape)
    return tensor.data.reshape(*tensor.shape[:-1], -1)


def _interleaved(weights: Weights, interleaved: bool) -> dict[str, Tensor]:
    """All tensors, with the rows of q and k reordered if the rotated pairs are to lie differently."""
    if weights.config.rope.interleaved == interleaved:
        return dict(weights.tensors)
    parts = ("q", "k", "q_bias", "k_bias")
    return {
        name: _reordered(tensor, weights.config.head_size, interleaved) if name.partition(".")[2] in parts else tensor
        for name, tensor in weights.tensors.items()
    }


def _reordered(tensor: Tensor, head_size: int, interleaved: bool) -> Tensor:
    row_bytes = len(tensor.data) // tensor.shape[0]
    split = (2, head_size // 2) if interleaved else (head_size // 2, 2)
    rows = tensor.data.reshape(-1, *split, row_bytes).swapaxes(1, 2)
    return Tensor(tensor.kind, tensor.shape, np.ascontiguousarray(rows).reshape(-1))


assert set(GGUF_LAYER.values()) == set(HF_LAYER.values()), "both formats store the same parts of a layer"
assert all(kind in gguf.GGMLQuantizationType.__members__ for kind in KINDS), "the writer knows every kind"
