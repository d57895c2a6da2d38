"""From a Hugging Face folder to a model's configuration and tensors. It does not know tokenizers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headstart.errors import CorruptModelError, ModelNotFoundError, UnsupportedModelError
from headstart.models.config import ModelConfig, Rope, Tensor
from headstart.models.fields import Fields
from headstart.models.layout import MAX_HEAD_SIZE, check_architecture, check_config, check_tensors
from headstart.models.rope import make_rope, scaling_type
from headstart.models.safetensors import read_safetensors

__all__ = ["hf_config", "hf_tensors", "read_json"]

_INDEX = "model.safetensors.index.json"
_SINGLE = "model.safetensors"

_TOP = {"model.embed_tokens.weight": "embed", "model.norm.weight": "final_norm", "lm_head.weight": "head"}
_LAYER = {
    "input_layernorm.weight": "attn_norm",
    "self_attn.q_proj.weight": "q",
    "self_attn.k_proj.weight": "k",
    "self_attn.v_proj.weight": "v",
    "self_attn.o_proj.weight": "o",
    "post_attention_layernorm.weight": "mlp_norm",
    "mlp.gate_proj.weight": "gate",
    "mlp.up_proj.weight": "up",
    "mlp.down_proj.weight": "down",
    "self_attn.q_proj.bias": "q_bias",
    "self_attn.k_proj.bias": "k_bias",
    "self_attn.v_proj.bias": "v_bias",
    "self_attn.o_proj.bias": "o_bias",
    "self_attn.q_norm.weight": "q_norm",
    "self_attn.k_norm.weight": "k_norm",
}
_IGNORED_ENDING = "rotary_emb.inv_freq"  # old checkpoints store what follows from the configuration

# what transformers assumes where config.json is silent
_KV_HEADS = {"mistral": 8, "qwen2": 32, "qwen3": 32}
_HEAD_SIZE = {"qwen3": 128}
_WINDOW = 4096
_FULL_LAYERS = 28


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file.

    Raises
    ------
    ModelNotFoundError, CorruptModelError
    """
    try:
        found = json.loads(path.read_bytes())
    except OSError as error:
        raise ModelNotFoundError(f"{path} cannot be opened: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        raise CorruptModelError(f"{path} is damaged: it is not valid JSON.") from error
    if not isinstance(found, dict):
        raise CorruptModelError(f"{path} is damaged: it does not hold an object.")
    return found


def hf_config(folder: Path) -> ModelConfig:
    """Shape of the model, checked; refused by name where it is not one of ours.

    Raises
    ------
    ModelNotFoundError, UnsupportedModelError, CorruptModelError
    """
    fields = Fields(read_json(folder / "config.json"), str(folder / "config.json"))
    name = check_architecture(fields.text("model_type"), fields.source)
    _refuse_variants(fields)
    heads, hidden = fields.integer("num_attention_heads", low=1), fields.integer("hidden_size", low=1)
    size = fields.integer("head_dim", _HEAD_SIZE.get(name, hidden // heads), low=1, high=MAX_HEAD_SIZE)
    layers = fields.integer("num_hidden_layers", low=1, high=10_000)
    config = ModelConfig(
        architecture=name,
        vocab_size=fields.integer("vocab_size", low=1),
        hidden_size=hidden,
        intermediate_size=fields.integer("intermediate_size", low=1),
        layer_count=layers,
        head_count=heads,
        kv_head_count=fields.integer("num_key_value_heads", _KV_HEADS.get(name, heads), low=1),
        head_size=size,
        context_length=fields.integer("max_position_embeddings", low=1),
        norm_epsilon=fields.number("rms_norm_eps", 1e-6),
        rope=_rope(fields, size),
        windows=_windows(fields, name, layers),
    )
    check_config(config, fields.source)
    return config


def hf_tensors(folder: Path, config: ModelConfig) -> dict[str, Tensor]:
    """All tensors by canonical name, from one file or from shards, checked against the configuration."""
    fields = Fields(read_json(folder / "config.json"), str(folder / "config.json"))
    tied = fields.flag("tie_word_embeddings", False)
    tensors: dict[str, Tensor] = {}
    for path, wanted in _files(folder).items():
        file = read_safetensors(path)
        for name in file.entries if wanted is None else wanted:
            if name not in file.entries:
                raise CorruptModelError(f"{path} is incomplete: it has no tensor {name}, though the index says so.")
            if not name.endswith(_IGNORED_ENDING) and not (tied and name == "lm_head.weight"):
                tensors[_canonical(name)] = file.tensor(name)
    if not tied and "head" not in tensors:
        raise CorruptModelError(
            f"{folder} is incomplete: its head is not tied to the embedding, but lm_head is missing."
        )
    biases = ("q_bias", "k_bias", "v_bias") if fields.flag("attention_bias", False) else ()
    check_tensors(config, tensors, str(folder), required=biases)
    return tensors


def _refuse_variants(fields: Fields) -> None:
    """What these architectures may also be, but here are not."""
    if fields.has("quantization_config"):
        method = fields.section("quantization_config").text("quant_method", "an unnamed method")
        raise UnsupportedModelError(
            f"{fields.source}: weights quantised with {method} are not supported; take the unquantised model or a GGUF file."
        )
    if fields.text("hidden_act", "silu") != "silu":
        raise UnsupportedModelError(
            f"{fields.source}: activation {fields.text('hidden_act')!r} is not supported; silu is."
        )
    if fields.flag("mlp_bias", False):
        raise UnsupportedModelError(f"{fields.source}: biases in the feed-forward layers are not supported.")


def _rope(fields: Fields, head_size: int) -> Rope:
    """Either ``rope_parameters``, or ``rope_scaling`` with ``rope_theta`` beside it."""
    nested = fields.section("rope_parameters")
    given = dict((nested if nested.values else fields.section("rope_scaling")).values)
    if any(isinstance(value, Mapping) for value in given.values()):
        raise UnsupportedModelError(f"{fields.source}: rotary embeddings that differ between layers are not supported.")
    scaling = Fields(given, fields.source)
    for part in (fields, scaling):
        if part.number("partial_rotary_factor", 1.0) != 1.0:
            raise UnsupportedModelError(f"{fields.source}: rotating only a part of each head is not supported.")
    context = fields.integer("max_position_embeddings", low=1)
    if fields.has("original_max_position_embeddings"):
        given["original_max_position_embeddings"] = fields.integer("original_max_position_embeddings", low=1)
    if scaling_type(scaling) == "yarn" and not scaling.has("factor"):
        given["factor"] = context / scaling.integer("original_max_position_embeddings", context, low=1)
    base = scaling.number("rope_theta", fields.number("rope_theta", 10000.0), low=1.0 + 1e-6)
    return make_rope(head_size, base, scaling, context=context)


def _windows(fields: Fields, name: str, layers: int) -> tuple[int | None, ...]:
    if name == "llama" or (name != "mistral" and not fields.flag("use_sliding_window", False)):
        return (None,) * layers
    if "sliding_window" in fields.values and not fields.has("sliding_window"):
        return (None,) * layers
    window = fields.integer("sliding_window", _WINDOW, low=1)
    if name == "mistral":
        return (window,) * layers
    kinds = fields.values.get("layer_types")
    if kinds is None:
        first = fields.integer("max_window_layers", _FULL_LAYERS)
        return tuple(window if index >= first else None for index in range(layers))
    by_kind = {"sliding_attention": window, "full_attention": None}
    if not isinstance(kinds, list) or len(kinds) != layers or not all(kind in by_kind for kind in kinds):
        raise UnsupportedModelError(f"{fields.source}: layer_types must name {', '.join(by_kind)} for each layer.")
    return tuple(by_kind[kind] for kind in kinds)


def _canonical(name: str) -> str:
    """Canonical name; one that is not known stays as it is and is refused later."""
    if name in _TOP:
        return _TOP[name]
    rest = name.removeprefix("model.layers.")
    index, _, part = rest.partition(".")
    if rest != name and index.isdecimal() and part in _LAYER:
        return f"{int(index)}.{_LAYER[part]}"
    return name


def _files(folder: Path) -> dict[Path, list[str] | None]:
    """Weight files, with the tensors to take from each; None takes all."""
    if (folder / _INDEX).exists():
        return _shards(folder)
    if (folder / _SINGLE).exists():
        return {folder / _SINGLE: None}
    others = sorted({path.suffix for path in folder.iterdir()} & {".bin", ".pt", ".pth", ".gguf", ".safetensors"})
    found = f"only {', '.join(others)} files" if others else "no weights"
    raise ModelNotFoundError(
        f"{folder} has {found}; a Hugging Face folder must have {_SINGLE} or {_INDEX}, and a .gguf file is given by its own path."
    )


def _shards(folder: Path) -> dict[Path, list[str] | None]:
    index = folder / _INDEX
    places = Fields(read_json(index), str(index)).section("weight_map").values
    shards: dict[Path, list[str] | None] = {}
    for name, file_name in places.items():
        if not isinstance(file_name, str) or Path(file_name).name != file_name:
            raise CorruptModelError(f"{index} is damaged: it places {name} in {file_name!r}, which is not a file name.")
        wanted = shards.setdefault(folder / file_name, [])
        if wanted is not None:
            wanted.append(name)
    if not shards:
        raise CorruptModelError(f"{index} is damaged: it names no weights.")
    return shards
