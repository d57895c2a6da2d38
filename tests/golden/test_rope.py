"""Rotary scaling equals transformers' (`make_rope.py`), and GGUF's keys mean the same."""

import json
from pathlib import Path

import numpy as np
import pytest

from headstart import models
from headstart.models.fields import Fields
from headstart.models.hf_model import _rope
from headstart.models.rope import make_rope
from support.files import write_gguf
from support.tiny import tiny_weights

CASES = json.loads(Path(__file__).with_name("rope.json").read_text())
GGUF_KEYS = {
    "rope_type": "type",
    "factor": "factor",
    "original_max_position_embeddings": "original_context_length",
    "beta_fast": "yarn_beta_fast",
    "beta_slow": "yarn_beta_slow",
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['scaling']['rope_type']}-{case['head_size']}")
def test_configurations_give_what_transformers_computes(case):
    config = {"rope_theta": case["base"], "max_position_embeddings": case["context"]}
    for key in ("rope_scaling", "rope_parameters"):
        rope = _rope(Fields(config | {key: case["scaling"]}, "test"), case["head_size"])
        assert rope.inverse_frequencies == pytest.approx(case["frequencies"], rel=1e-6)
        assert rope.attention_factor == pytest.approx(case["attention_factor"], rel=1e-12)
        assert not rope.interleaved


def expressible(case):
    """Whether GGUF has keys for all of it."""
    return case["scaling"].keys() <= GGUF_KEYS.keys() and case["scaling"].get("factor")


@pytest.mark.parametrize("case", list(filter(expressible, CASES)), ids=lambda case: case["scaling"]["rope_type"])
def test_gguf_keys_mean_the_same(tmp_path, case):
    scaling = {f"llama.rope.scaling.{GGUF_KEYS[key]}": value for key, value in case["scaling"].items()}
    metadata = {"llama.rope.freq_base": case["base"], "llama.context_length": case["context"], **scaling}
    weights = tiny_weights(heads=1, kv_heads=1, hidden=64, head_size=case["head_size"])
    rope = models.load(write_gguf(weights, tmp_path / "tiny.gguf", metadata=metadata)).config.rope
    assert rope.inverse_frequencies == pytest.approx(case["frequencies"], rel=1e-6)
    assert rope.attention_factor == pytest.approx(case["attention_factor"], rel=1e-6)
    assert rope.interleaved


def test_a_factor_without_a_type_is_linear_in_gguf_and_zero_is_none(tmp_path):
    plain = make_rope(16, 10000.0, Fields({}, "test"), context=512).inverse_frequencies
    for metadata, factor in (
        ({"llama.rope.scaling.factor": 4.0}, 4),
        ({"llama.rope.scale_linear": 2.0}, 2),
        ({"llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": 0.0}, 1),
        ({"llama.rope.scaling.type": "none", "llama.rope.scaling.factor": 4.0}, 1),
    ):
        rope = models.load(write_gguf(tiny_weights(), tmp_path / "tiny.gguf", metadata=metadata)).config.rope
        assert rope.inverse_frequencies == pytest.approx(np.array(plain) / factor, rel=1e-12)
