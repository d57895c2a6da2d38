"""The same tiny model, written as GGUF and as a Hugging Face folder, is read back as it was."""

import dataclasses
import json

import numpy as np
import pytest

from headstart import models
from headstart.errors import CorruptModelError, ModelNotFoundError, UnsupportedModelError
from headstart.models.kinds import KINDS
from headstart.models.layout import ARCHITECTURES
from headstart.models.safetensors import read_safetensors
from support.files import _interleaved, write_gguf, write_hf, write_safetensors
from support.tiny import plain_rope, random_tensor, tiny_weights

VARIANTS = {
    "plain": {},
    "untied": {"tied": False},
    "windowed": {"window": 8},
    "wide heads": {"head_size": 32, "heads": 4, "kv_heads": 1},
}


def assert_same(found, expected, *, interleaved):
    assert found.tensors.keys() == expected.tensors.keys()
    for name, tensor in _interleaved(expected, interleaved).items():
        assert (found.tensors[name].kind, found.tensors[name].shape) == (tensor.kind, tensor.shape), name
        assert np.array_equal(found.tensors[name].data, tensor.data), name
    assert found.tokenizer.fingerprint == expected.tokenizer.fingerprint
    assert (found.tokenizer.eos_ids, found.tokenizer.bos_id) == ({0, 2}, 0)
    assert found.chat_template == expected.chat_template
    assert found.config.rope.interleaved == interleaved


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_gguf(tmp_path, architecture, variant):
    weights = tiny_weights(architecture, **VARIANTS[variant])
    found = models.load(write_gguf(weights, tmp_path / "tiny.gguf"))
    interleaved = architecture in ("llama", "mistral")
    assert_same(found, weights, interleaved=interleaved)
    name = "llama" if architecture == "mistral" else architecture
    rope = dataclasses.replace(weights.config.rope, interleaved=interleaved)
    expected = dataclasses.replace(weights.config, architecture=name, rope=rope)
    assert found.config == dataclasses.replace(expected, norm_epsilon=found.config.norm_epsilon)
    assert found.config.norm_epsilon == pytest.approx(1e-5, rel=1e-6)
    assert found.name == "tiny"


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("kind", ["F32", "F16", "BF16"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_hugging_face_folder(tmp_path, architecture, kind, shards):
    weights = tiny_weights(architecture, kind=kind, biases=architecture == "llama", tied=shards == 1)
    found = models.load(write_hf(weights, tmp_path / "tiny", shards=shards))
    assert_same(found, weights, interleaved=False)
    rope = dataclasses.replace(weights.config.rope, interleaved=False)
    assert found.config == dataclasses.replace(weights.config, rope=rope)
    assert found.name == "tiny"


@pytest.mark.parametrize("kind", KINDS)
def test_every_tensor_type_of_gguf(tmp_path, kind):
    weights = tiny_weights(kind=kind, hidden=256, layers=1)
    assert_same(models.load(write_gguf(weights, tmp_path / "tiny.gguf")), weights, interleaved=True)


def test_windows_of_some_layers(tmp_path):
    weights = tiny_weights("qwen2", layers=3, window=(None, 8, None))
    assert models.load(write_gguf(weights, tmp_path / "tiny.gguf")).config.windows == (None, 8, None)
    options = {"use_sliding_window": True, "sliding_window": 8}
    for more, windows in (
        ({"max_window_layers": 1}, (None, 8, 8)),
        ({}, (None, None, None)),
        ({"layer_types": ["full_attention", "sliding_attention", "full_attention"]}, (None, 8, None)),
        ({"sliding_window": None, "max_window_layers": 0}, (None, None, None)),
    ):
        folder = write_hf(weights, tmp_path / "tiny", config=options | more)
        assert models.load(folder).config.windows == windows


def test_a_mistral_window_is_4096_unless_the_configuration_says_otherwise(tmp_path):
    folder = write_hf(tiny_weights("mistral"), tmp_path / "tiny")
    assert models.load(folder).config.windows == (None, None)
    config = json.loads((folder / "config.json").read_text())
    del config["sliding_window"]
    (folder / "config.json").write_text(json.dumps(config))
    assert models.load(folder).config.windows == (4096, 4096)


def test_old_checkpoints_may_store_frequencies_and_a_tied_head(tmp_path):
    weights = tiny_weights()
    folder = write_hf(weights, tmp_path / "tiny", config={"tie_word_embeddings": True})
    extra = random_tensor("F32", (8,), spread=1, rng=np.random.default_rng(0))
    file = read_safetensors(folder / "model.safetensors")
    tensors = {name: file.tensor(name) for name in file.entries}
    tensors |= {"model.layers.0.self_attn.rotary_emb.inv_freq": extra, "lm_head.weight": tensors["model.norm.weight"]}
    write_safetensors(tensors, folder / "model.safetensors")
    assert_same(models.load(folder), weights, interleaved=False)


def test_sliced_rope_of_gguf_is_folded_in(tmp_path):
    rope = dataclasses.replace(plain_rope(16), inverse_frequencies=tuple(0.5 ** np.arange(8)), attention_factor=1.25)
    found = models.load(write_gguf(tiny_weights(rope=rope), tmp_path / "tiny.gguf")).config.rope
    assert found.attention_factor == 1.25
    assert found.inverse_frequencies == pytest.approx(rope.inverse_frequencies, rel=1e-6)


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ({"general.architecture": "gemma2"}, "architecture 'gemma2' is not supported; supported are llama"),
        ({"llama.expert_count": 8}, "mixtures of experts"),
        ({"llama.rope.scaling.type": "longrope"}, "RoPE scaling 'longrope'"),
        ({"llama.rope.dimension_count": 8}, "rotating only a part"),
        ({"llama.attention.value_length": 8}, "another head size"),
        ({"llama.attention.head_count": [4, 2]}, "differs between layers"),
        ({"tokenizer.ggml.model": "bert"}, "tokenizer is of kind 'bert'"),
        ({"tokenizer.ggml.pre": "tekken"}, "pre-tokenizer is 'tekken'"),
        ({"tokenizer.ggml.pre": None}, "pre-tokenizer is not named; supported are gpt-2"),
    ],
)
def test_gguf_of_other_kinds_is_refused_by_name(tmp_path, metadata, words):
    path = write_gguf(tiny_weights(), tmp_path / "tiny.gguf", metadata=metadata)
    with pytest.raises(UnsupportedModelError, match=words) as caught:
        models.load(path)
    assert str(path) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ({"llama.block_count": 3}, "has no tensor for '2.attn_norm'"),
        ({"llama.block_count": 0}, "block_count is 0, but must be a whole number from 1"),
        ({"llama.block_count": 4_000_000_000}, "must be a whole number from 1 to"),
        ({"llama.block_count": "two"}, "block_count is 'two'"),
        ({"llama.block_count": None}, "does not say block_count"),
        ({"llama.embedding_length": 32}, "has shape"),
        ({"llama.attention.head_count": 3}, "3 heads cannot share 2"),
        ({"llama.attention.layer_norm_rms_epsilon": 0.0}, "epsilon of 0"),
        ({"llama.attention.layer_norm_rms_epsilon": float("nan")}, "is nan, but must be a number from 0"),
        ({"llama.rope.freq_base": float("inf")}, "is inf, but must be a number from 1"),
        ({"tokenizer.ggml.merges": ["no such"]}, "merges do not fit its tokens"),
        ({"tokenizer.ggml.merges": ["unsplit"]}, "merges do not fit its tokens"),
        ({"tokenizer.ggml.token_type": [1, 2, 3]}, "token_type must hold 300 numbers"),
        ({"tokenizer.ggml.eos_token_id": 300}, "eos_token_id is 300, but must be a whole number from 0 to 299"),
        ({"tokenizer.ggml.tokens": ["x"] * 301}, "301 tokens, but the model has 300 rows"),
        ({"general.alignment": 48}, "must be a power of two"),
    ],
)
def test_gguf_that_contradicts_itself_is_corrupt(tmp_path, metadata, words):
    path = write_gguf(tiny_weights(), tmp_path / "tiny.gguf", metadata=metadata)
    with pytest.raises(CorruptModelError, match=words) as caught:
        models.load(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("config", "error", "words"),
    [
        ({"model_type": "gemma2"}, UnsupportedModelError, "architecture 'gemma2'"),
        ({"quantization_config": {"quant_method": "gptq"}}, UnsupportedModelError, "quantised with gptq"),
        ({"hidden_act": "gelu"}, UnsupportedModelError, "activation 'gelu'"),
        ({"mlp_bias": True}, UnsupportedModelError, "biases in the feed-forward"),
        ({"rope_scaling": {"rope_type": "dynamic", "factor": 2.0}}, UnsupportedModelError, "'dynamic'"),
        ({"rope_parameters": {"full_attention": {}}}, UnsupportedModelError, "differ between layers"),
        ({"partial_rotary_factor": 0.5}, UnsupportedModelError, "only a part"),
        ({"rope_scaling": {"rope_type": "linear"}}, CorruptModelError, "does not say factor"),
        ({"num_hidden_layers": 3}, CorruptModelError, "no tensor for '2.attn_norm'"),
        ({"vocab_size": 310}, CorruptModelError, r"'embed' has shape \(300, 64\) instead of \(310, 64\)"),
        ({"hidden_size": "64"}, CorruptModelError, "hidden_size is '64'"),
        ({"attention_bias": True}, CorruptModelError, "no tensor for '0.q_bias'"),
        ({"tie_word_embeddings": False}, CorruptModelError, "lm_head is missing"),
    ],
)
def test_folders_that_cannot_be_used(tmp_path, config, error, words):
    folder = write_hf(tiny_weights(), tmp_path / "tiny", config=config)
    with pytest.raises(error, match=words) as caught:
        models.load(folder)
    assert str(folder) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def remove(*names):
    return lambda folder: [(folder / name).unlink() for name in names]


def replace(name, text):
    return lambda folder: (folder / name).write_text(text)


@pytest.mark.parametrize(
    ("damage", "error", "words"),
    [
        (remove("config.json"), ModelNotFoundError, "has no config.json"),
        (remove("model.safetensors"), ModelNotFoundError, "has no weights"),
        (remove("tokenizer.json"), ModelNotFoundError, "tokenizer.json cannot be opened"),
        (replace("config.json", "{"), CorruptModelError, "config.json is damaged: it is not valid JSON"),
        (replace("config.json", "[" * 100_000), CorruptModelError, "not valid JSON"),
        (replace("config.json", "[]"), CorruptModelError, "does not hold an object"),
        (replace("tokenizer.json", "{}"), CorruptModelError, "tokenizer.json is damaged"),
        (replace("model.safetensors", ""), CorruptModelError, "is empty"),
        (replace("model.safetensors", "short"), CorruptModelError, "is truncated or is not"),
        (
            replace("model.safetensors.index.json", '{"weight_map": {"a": "../b"}}'),
            CorruptModelError,
            "not a file name",
        ),
        (
            replace("model.safetensors.index.json", '{"weight_map": {"a": "b"}}'),
            ModelNotFoundError,
            "b cannot be opened",
        ),
        (
            replace("model.safetensors.index.json", '{"weight_map": {"a": "model.safetensors"}}'),
            CorruptModelError,
            "no tensor a",
        ),
        (replace("model.safetensors.index.json", "{}"), CorruptModelError, "names no weights"),
    ],
)
def test_damaged_folders(tmp_path, damage, error, words):
    folder = write_hf(tiny_weights(), tmp_path / "tiny")
    damage(folder)
    with pytest.raises(error, match=words) as caught:
        models.load(folder)
    assert str(folder) in str(caught.value)


def test_folders_with_other_weights_say_which(tmp_path):
    folder = write_hf(tiny_weights(), tmp_path / "tiny")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ModelNotFoundError, match=r"only \.bin files"):
        models.load(folder)


def test_paths_that_lead_nowhere(tmp_path):
    with pytest.raises(ModelNotFoundError, match=r"neither a file, nor a folder, nor in the catalog \(smollm2"):
        models.load(tmp_path / "absent.gguf")
    with pytest.raises(ModelNotFoundError, match=r"has no config\.json"):
        models.load(tmp_path)


@pytest.mark.parametrize(
    ("content", "error", "words"),
    [
        (b"", CorruptModelError, "is empty"),
        (b"PK\x03\x04 a zip", CorruptModelError, "not a GGUF file"),
        (b"GGUF\x00\x00\x00\x03" + bytes(16), UnsupportedModelError, "big-endian"),
        (b"GGUF\x01\x00\x00\x00" + bytes(16), UnsupportedModelError, "version 1"),
        (b"GGUF\x03\x00\x00\x00" + b"\xff" * 16, CorruptModelError, "truncated or damaged"),
    ],
)
def test_files_that_are_not_gguf(tmp_path, content, error, words):
    (tmp_path / "odd.gguf").write_bytes(content)
    with pytest.raises(error, match=words):
        models.load(tmp_path / "odd.gguf")


def test_unknown_tensor_types_and_names_are_refused_by_name(tmp_path):
    path = write_gguf(tiny_weights(kind="Q8_0"), tmp_path / "tiny.gguf")
    raw = path.read_bytes()
    entry = raw.index(b"blk.0.attn_q.weight") + len(b"blk.0.attn_q.weight") + 4 + 16
    path.write_bytes(raw[:entry] + (23).to_bytes(4, "little") + raw[entry + 4 :])
    with pytest.raises(UnsupportedModelError, match=r"blk\.0\.attn_q\.weight is stored as IQ4_XS"):
        models.load(path)
    path.write_bytes(raw.replace(b"blk.0.attn_q.weight", b"blk.0.attn_z.weight"))
    with pytest.raises((UnsupportedModelError, CorruptModelError), match=r"attn_z|'0\.q'"):
        models.load(path)
