"""What tensors a model must have, and of what shape: the check that both file readers end with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headstart.errors import CorruptModelError, UnsupportedModelError
from headstart.models.config import ModelConfig, Tensor

__all__ = ["ARCHITECTURES", "MAX_HEAD_SIZE", "check_architecture", "check_config", "check_tensors", "expected_shapes"]

ARCHITECTURES = ("llama", "mistral", "qwen2", "qwen3")
"""Supported architectures."""

MAX_HEAD_SIZE = 1 << 16
"""Far beyond any model; bounds what is computed before the tensors are looked at."""

_REQUIRED_EXTRAS = {"qwen2": ("q_bias", "k_bias", "v_bias"), "qwen3": ("q_norm", "k_norm")}
_OPTIONAL_EXTRAS = ("q_bias", "k_bias", "v_bias", "o_bias")
_VECTOR_KINDS = ("F32", "F16", "BF16")


def check_architecture(name: str, source: str) -> str:
    """Return ``name`` if it is supported, else refuse it by name."""
    if name not in ARCHITECTURES:
        raise UnsupportedModelError(
            f"{source}: architecture {name!r} is not supported; supported are {', '.join(ARCHITECTURES)}."
        )
    return name


def check_config(config: ModelConfig, source: str) -> None:
    """Refuse a shape that contradicts itself."""
    if config.head_count % config.kv_head_count:
        raise CorruptModelError(
            f"{source} is damaged: {config.head_count} heads cannot share {config.kv_head_count} key/value heads."
        )
    if config.head_size % 2:
        raise CorruptModelError(f"{source} is damaged: a head size of {config.head_size} is odd.")
    if not 0 < config.norm_epsilon < 1:
        raise CorruptModelError(f"{source} is damaged: a norm epsilon of {config.norm_epsilon:g} makes no sense.")


def expected_shapes(config: ModelConfig, extras: Iterable[str] = ()) -> dict[str, tuple[int, ...]]:
    """Canonical names and shapes, ``head`` left out, ``extras`` (q_bias, q_norm, ...) in every layer."""
    hidden, mlp = config.hidden_size, config.intermediate_size
    queries, keys = config.head_count * config.head_size, config.kv_head_count * config.head_size
    layer: dict[str, tuple[int, ...]] = {
        "attn_norm": (hidden,),
        "q": (queries, hidden),
        "k": (keys, hidden),
        "v": (keys, hidden),
        "o": (hidden, queries),
        "mlp_norm": (hidden,),
        "gate": (mlp, hidden),
        "up": (mlp, hidden),
        "down": (hidden, mlp),
    }
    sizes = {"q_bias": queries, "k_bias": keys, "v_bias": keys, "o_bias": hidden}
    sizes |= {"q_norm": config.head_size, "k_norm": config.head_size}
    layer |= {extra: (sizes[extra],) for extra in extras}
    shapes: dict[str, tuple[int, ...]] = {"embed": (config.vocab_size, hidden), "final_norm": (hidden,)}
    for index in range(config.layer_count):
        shapes |= {f"{index}.{name}": shape for name, shape in layer.items()}
    return shapes


def check_tensors(
    config: ModelConfig, tensors: Mapping[str, Tensor], source: str, *, required: Iterable[str] = ()
) -> None:
    """Every tensor the architecture needs is there, in the right shape, and no other.

    ``required`` names extras (q_bias, ...) that the file says it has.

    Raises
    ------
    CorruptModelError
        One is missing, or its shape does not follow from the configuration.
    UnsupportedModelError
        There is one that this architecture has no use for, so that the model must be of another kind.
    """
    shapes = expected_shapes(config, [*_extras(config, tensors), *required])
    if "head" in tensors:
        shapes["head"] = shapes["embed"]
    for name, shape in shapes.items():
        tensor = tensors.get(name)
        if tensor is None:
            raise CorruptModelError(f"{source} is incomplete: it has no tensor for {name!r}.")
        if tensor.shape != shape:
            raise CorruptModelError(f"{source} is damaged: {name!r} has shape {tensor.shape} instead of {shape}.")
        if len(shape) == 1 and tensor.kind not in _VECTOR_KINDS:
            raise UnsupportedModelError(f"{source}: {name!r} is stored as {tensor.kind}; vectors must be floats.")
    for name in tensors.keys() - shapes.keys():
        raise UnsupportedModelError(f"{source}: tensor {name!r} is unknown for {config.architecture}.")


def _extras(config: ModelConfig, tensors: Mapping[str, Tensor]) -> list[str]:
    """Extras of this model's layers: the biases that its first layer has, and what its architecture demands."""
    present = [extra for extra in _OPTIONAL_EXTRAS if f"0.{extra}" in tensors]
    return [*present, *_REQUIRED_EXTRAS.get(config.architecture, ())]
