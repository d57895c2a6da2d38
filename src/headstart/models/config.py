"""What a backend needs to know of a model: its shape, and its tensors as they lie in the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ModelConfig", "Rope", "Tensor", "Weights"]


@dataclass(frozen=True)
class Rope:
    """Rotary position embedding, all scaling already worked out.

    Parameters
    ----------
    inverse_frequencies : tuple of float, length ``rotated_size / 2``
        Angle per position of each pair, float64; linear, llama3 and yarn scaling are folded in.
    attention_factor : float
        Factor on cosine and sine (yarn); 1.0 otherwise.
    interleaved : bool
        True: pairs are neighbours (2i, 2i+1), GGUF's llama layout. False: pairs are (i, i + half), Hugging Face's.
    """

    inverse_frequencies: tuple[float, ...]
    attention_factor: float = 1.0
    interleaved: bool = False


@dataclass(frozen=True)
class ModelConfig:
    """Shape of a decoder-only transformer (llama, mistral, qwen2, qwen3).

    ``windows`` gives each layer's sliding window in tokens, a query seeing itself and ``window - 1`` keys before it, or
    None for full attention. Attention scores are scaled by ``1 / sqrt(head_size)``.
    """

    architecture: str
    vocab_size: int
    hidden_size: int
    intermediate_size: int
    layer_count: int
    head_count: int
    kv_head_count: int
    head_size: int
    context_length: int
    norm_epsilon: float
    rope: Rope
    windows: tuple[int | None, ...]


@dataclass(frozen=True, eq=False)
class Tensor:
    """One weight as it lies in its file.

    Parameters
    ----------
    kind : str
        F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K or Q6_K (GGUF's names and block layouts).
    shape : tuple of int
        (outputs, inputs) of a matrix, (length,) of a vector; row-major, so a row's blocks stand together.
    data : ndarray of shape (n_bytes,), dtype uint8
        The raw bytes, usually a view into the mapped file. Its length was checked against kind and shape.
    """

    kind: str
    shape: tuple[int, ...]
    data: NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Weights:
    """A loaded model.

    Parameters
    ----------
    config : ModelConfig
    tensors : mapping of str to Tensor
        ``embed`` (vocab, hidden), ``final_norm`` (hidden,), ``head`` (vocab, hidden; absent where tied to ``embed``), and for each
        layer i: ``{i}.attn_norm``, ``{i}.q``, ``{i}.k``, ``{i}.v``, ``{i}.o``, ``{i}.mlp_norm``, ``{i}.gate``, ``{i}.up``,
        ``{i}.down``; where the model has them ``{i}.q_bias``, ``{i}.k_bias``, ``{i}.v_bias``, ``{i}.o_bias``, ``{i}.q_norm``, ``{i}.k_norm``.
    tokenizer : headstart.models.tokenizer.Tokenizer
    chat_template : str or None
    name : str
        What to call it: the catalog name, or the file's stem.
    """

    config: ModelConfig
    tensors: Mapping[str, Tensor]
    tokenizer: Any
    chat_template: str | None
    name: str
