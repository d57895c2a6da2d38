"""Make the Hugging Face goldens beside this file: tiny random models of each kind, and the logits torch gives for them.

Needs torch and transformers; run by hand, `python tests/golden/make_hf.py`, when a model is added. The tests read only
what it leaves in `hf/`: for each model `config.json`, `model.safetensors` and `expected.npz`, and one `tokenizer.json`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoConfig, AutoModelForCausalLM

FOLDER = Path(__file__).parent / "hf"
VOCAB = 96
SHAPE = {
    "vocab_size": VOCAB,
    "hidden_size": 32,
    "intermediate_size": 40,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "rms_norm_eps": 1e-5,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "pad_token_id": 1,
}
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}


@dataclass(frozen=True)
class Golden:
    """One tiny model: its options, how its weights are stored, and which form its config.json takes.

    ``nested`` writes ``rope_parameters`` as transformers 5 does; otherwise ``rope_theta`` and ``rope_scaling`` stand
    apart, as in nearly every published model.
    """

    architecture: str
    dtype: torch.dtype
    options: dict[str, Any] = field(default_factory=dict)
    rope: dict[str, Any] = field(default_factory=dict)
    theta: float = 10000.0
    nested: bool = False


GOLDENS = {
    "llama": Golden("llama", torch.float32),
    "llama-linear-bias-tied": Golden(
        "llama",
        torch.float16,
        {"attention_bias": True, "tie_word_embeddings": True},
        {"rope_type": "linear", "factor": 4.0},
    ),
    "llama-llama3-wide-heads": Golden("llama", torch.bfloat16, {"head_dim": 16}, LLAMA3, 500000.0),
    "llama-yarn": Golden("llama", torch.float16, {"num_key_value_heads": 4}, YARN),
    "mistral-window": Golden("mistral", torch.float16, {"sliding_window": 8}),
    "qwen2-tied": Golden("qwen2", torch.float16, {"tie_word_embeddings": True}, {}, 1000000.0),
    "qwen2-half-windowed": Golden(
        "qwen2", torch.bfloat16, {"use_sliding_window": True, "sliding_window": 6, "max_window_layers": 1}, nested=True
    ),
    "qwen3": Golden("qwen3", torch.float16, {"head_dim": 16, "num_key_value_heads": 1}, {}, 1000000.0, nested=True),
    "qwen3-yarn-tied": Golden(
        "qwen3", torch.bfloat16, {"head_dim": 8, "tie_word_embeddings": True}, YARN | {"attention_factor": 1.25}
    ),
}


def main() -> None:
    """Write every golden anew; the same seeds give the same files."""
    torch.set_num_threads(1)
    write_tokenizer()
    for seed, (name, golden) in enumerate(GOLDENS.items()):
        write(FOLDER / name, golden, seed)


def write(folder: Path, golden: Golden, seed: int) -> None:
    """Make one model, and record the logits of two sequences long enough to leave every window."""
    folder.mkdir(parents=True, exist_ok=True)
    config = AutoConfig.for_model(
        golden.architecture,
        rope_parameters={"rope_type": "default", "rope_theta": golden.theta, **golden.rope},
        **(SHAPE | golden.options),
    )
    config._attn_implementation = "eager"
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(config).eval()
    randomise(model, golden.dtype)
    tied = config.tie_word_embeddings
    tensors = {k: v.to(golden.dtype).contiguous() for k, v in model.state_dict().items()}
    save_file(
        {k: v for k, v in tensors.items() if not (tied and k == "lm_head.weight")},
        folder / "model.safetensors",
        metadata={"format": "pt"},
    )
    (folder / "config.json").write_text(json.dumps(plain_config(config, golden), indent=1) + "\n")
    np.savez_compressed(folder / "expected.npz", **expected(model, seed))


def randomise(model: torch.nn.Module, dtype: torch.dtype) -> None:
    """Weights large enough that a wrong sign, order or position shows, rounded to what will be stored."""
    for name, parameter in model.named_parameters():
        values = torch.randn_like(parameter)
        if "norm" in name:
            values = 1 + 0.3 * values
        elif "bias" in name:
            values = 0.5 * values
        else:
            values = values * (1.5 / parameter.shape[-1] ** 0.5)
        parameter.data = values.to(dtype).to(torch.float32)


def plain_config(config: Any, golden: Golden) -> dict[str, Any]:
    """What config.json holds, in the older form unless the golden asks for the nested one."""
    values = config.to_diff_dict()
    values["architectures"] = [type(config).__name__.replace("Config", "ForCausalLM")]
    values["dtype"] = str(golden.dtype).removeprefix("torch.")
    if not golden.nested:
        rope = values.pop("rope_parameters")
        values["rope_theta"] = rope.pop("rope_theta")
        values["rope_scaling"] = rope if golden.rope else None
        values["torch_dtype"] = values.pop("dtype")
    return values


@torch.no_grad()
def expected(model: torch.nn.Module, seed: int) -> dict[str, np.ndarray]:
    """Token ids and logits of two sequences."""
    random = np.random.default_rng(seed)
    arrays = {}
    for name, length in (("long", 24), ("short", 5)):
        tokens = random.integers(0, VOCAB, length)
        arrays[f"{name}_tokens"] = tokens.astype(np.int32)
        arrays[f"{name}_logits"] = model(torch.tensor(tokens)[None]).logits[0].numpy()
    return arrays


def write_tokenizer() -> None:
    """Write a tokenizer of single letters, enough for the loader to accept the folder."""
    letters = ["<s>", "</s>", *(chr(code) for code in range(33, 33 + VOCAB - 2))]
    tokenizer = Tokenizer(models.BPE(vocab={letter: i for i, letter in enumerate(letters)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<s>", "</s>"])
    FOLDER.mkdir(exist_ok=True)
    tokenizer.save(str(FOLDER / "tokenizer.json"))


if __name__ == "__main__":
    main()
