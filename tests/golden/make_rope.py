"""Make `rope.json`: inverse frequencies and attention factors as transformers computes them, for each kind of scaling.

Needs torch and transformers; run by hand, `python tests/golden/make_rope.py`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
YARN = {"rope_type": "yarn", "factor": 4.0}
SCALINGS: list[dict[str, Any]] = [
    {"rope_type": "linear", "factor": 2.5},
    LLAMA3 | {"original_max_position_embeddings": 512},
    LLAMA3 | {"factor": 32.0, "low_freq_factor": 0.5, "original_max_position_embeddings": 64},
    LLAMA3,
    YARN | {"original_max_position_embeddings": 512},
    YARN,
    YARN | {"original_max_position_embeddings": 8},
    YARN | {"original_max_position_embeddings": 512, "truncate": False},
    YARN | {"original_max_position_embeddings": 512, "beta_fast": 16.0, "beta_slow": 2.0},
    YARN | {"original_max_position_embeddings": 512, "attention_factor": 1.5},
    YARN | {"original_max_position_embeddings": 512, "mscale": 0.7, "mscale_all_dim": 1.3},
    YARN | {"original_max_position_embeddings": 512, "mscale": 0.7},
    YARN | {"original_max_position_embeddings": 512, "factor": 0.5},
    YARN | {"original_max_position_embeddings": 512, "factor": None},
]
SIZES = [(16, 10000.0), (64, 500000.0), (128, 1000000.0)]
CONTEXT = 2048


def case(head_size: int, base: float, scaling: dict[str, Any]) -> dict[str, Any]:
    config = LlamaConfig(
        hidden_size=4 * head_size,
        num_attention_heads=4,
        head_dim=head_size,
        max_position_embeddings=CONTEXT,
        rope_parameters=dict(scaling) | {"rope_theta": base},
    )
    frequencies, factor = ROPE_INIT_FUNCTIONS[scaling["rope_type"]](config, "cpu")
    given = {"head_size": head_size, "base": base, "context": CONTEXT, "scaling": scaling}
    return given | {"frequencies": frequencies.tolist(), "attention_factor": factor}


if __name__ == "__main__":
    cases = [case(size, base, scaling) for size, base in SIZES for scaling in SCALINGS]
    Path(__file__).with_name("rope.json").write_text(json.dumps(cases, separators=(",", ":")) + "\n")
