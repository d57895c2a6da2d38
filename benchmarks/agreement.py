"""How far Headstart's next-token laws are from Hugging Face's, in float32, on real text.

Dequantises a llama GGUF file with the `gguf` package into a torch LlamaForCausalLM, which shares no code with ours,
and compares both precisions of a backend with it: mean KL, argmax agreement, the logit gap of every flip. Needs torch,
transformers and gguf. The last line of output is JSON.

    python benchmarks/agreement.py MODEL.gguf                          the text beside this file
    python benchmarks/agreement.py MODEL.gguf --prompts FILE.jsonl     the first of each line's `turns`
    python benchmarks/agreement.py MODEL.gguf --write-golden tests/golden/default.npz
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
from numpy.typing import NDArray
from transformers import LlamaConfig, LlamaForCausalLM

from headstart.backends import load_backend
from headstart.models import load
from headstart.protocols import Batch, Model

CHUNK = 250
"""Longest sequence compared, in tokens."""

GOLDEN = {"top": 32, "every": 5, "length": 200}


@dataclass(frozen=True)
class Difference:
    """One position: KL of theirs from ours, largest logit difference, and how far our best lies below theirs.

    The last is 0 without a flip; both their logits and their probabilities are asked.
    """

    kl: float
    logit: float
    flip_logit: float
    flip_probability: float


def main() -> None:
    """Compare, print each precision's summary, and everything as one line of JSON."""
    options = parse()
    torch.set_num_threads(options.threads)
    weights = load(options.model)
    theirs = hugging_face(options.model)
    if options.write_golden:
        write_golden(options.write_golden, theirs, next(sequences(None, weights.tokenizer, GOLDEN["length"])))
        return
    texts = [
        (tokens, logits_of(theirs, tokens))
        for tokens in sequences(options.prompts, weights.tokenizer, options.positions)
    ]
    result: dict[str, Any] = {"machine": platform.machine(), "command": " ".join(sys.argv), "model": weights.name}
    for precision in ("float32", "auto"):
        model = load_backend(weights, backend=options.backend, threads=options.threads, precision=precision)
        differences = [d for tokens, expected in texts for d in compare(model, tokens, expected)]
        result[precision] = {"numerics_id": model.numerics_id} | summary(differences)
        print(json.dumps(result[precision], indent=1))
    print(json.dumps(result))


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--prompts", type=Path)
    parser.add_argument("--positions", type=int, default=500)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--backend", default="native")
    parser.add_argument("--write-golden", type=Path)
    return parser.parse_args()


def sequences(prompts: Path | None, tokenizer: Any, positions: int) -> Iterator[list[int]]:
    """Token lists of at most ``CHUNK``, ``positions`` tokens altogether."""
    texts = [Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")]
    if prompts:
        texts = [json.loads(line)["turns"][0] for line in prompts.read_text(encoding="utf-8").splitlines()]
    for text in texts:
        tokens = tokenizer.encode(text)
        for start in range(0, len(tokens), CHUNK):
            chunk = tokens[start : start + min(CHUNK, positions)]
            positions -= len(chunk)
            if chunk:
                yield chunk


def hugging_face(path: Path) -> LlamaForCausalLM:
    """The file's values in a torch model, float32."""
    reader = gguf.GGUFReader(path)
    llama = {key.removeprefix("llama."): f.contents() for key, f in reader.fields.items() if key.startswith("llama.")}
    heads, kv_heads = llama["attention.head_count"], llama["attention.head_count_kv"]
    tensors = {t.name: torch.from_numpy(gguf.dequantize(t.data, t.tensor_type).copy()) for t in reader.tensors}
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, llama["block_count"])
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tensors["token_embd.weight"]),
            hidden_size=llama["embedding_length"],
            intermediate_size=llama["feed_forward_length"],
            num_hidden_layers=llama["block_count"],
            num_attention_heads=heads,
            num_key_value_heads=kv_heads,
            rms_norm_eps=llama["attention.layer_norm_rms_epsilon"],
            max_position_embeddings=llama["context_length"],
            rope_parameters={"rope_type": "default", "rope_theta": llama["rope.freq_base"]},
            tie_word_embeddings="output.weight" not in tensors,
            attn_implementation="eager",
        )
    ).eval()
    state = {}
    for name in model.state_dict():
        tensor = tensors.get(f"{names.get_name(name.removesuffix('.weight'))}.weight")
        tensor = tensors["token_embd.weight"] if tensor is None else tensor
        if "q_proj" in name or "k_proj" in name:
            tensor = halves(tensor, heads if "q_proj" in name else kv_heads)
        state[name] = tensor
    model.load_state_dict(state)
    return model


def halves(tensor: torch.Tensor, heads: int) -> torch.Tensor:
    """Undo GGUF's order of a head's rows, neighbours in a pair, to Hugging Face's, a pair's rows half a head apart."""
    return tensor.reshape(heads, -1, 2, tensor.shape[-1]).swapaxes(1, 2).reshape(tensor.shape)


@torch.no_grad()
def logits_of(model: LlamaForCausalLM, tokens: list[int]) -> NDArray[np.float32]:
    """Logits after each token, shape (tokens, vocab)."""
    logits: NDArray[np.float32] = model(torch.tensor([tokens])).logits[0].numpy()
    return logits


def compare(model: Model, tokens: list[int], expected: NDArray[np.float32]) -> Iterator[Difference]:
    """Differences at every position of one sequence."""
    sequence = model.open()
    rows = model.forward(Batch.chain(sequence, tokens, wanted="all"))
    for row, theirs in enumerate(expected):
        ours = rows.logits(row)
        log_p, log_q = log_softmax(theirs), log_softmax(ours)
        p, best = np.exp(log_p), rows.argmax(row)
        yield Difference(
            kl=float(np.sum(p * (log_p - log_q))),
            logit=float(np.abs(theirs - ours).max()),
            flip_logit=float(theirs.max() - theirs[best]),
            flip_probability=float(p.max() - p[best]),
        )
    model.close(sequence)


def log_softmax(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    """Log probabilities in float64."""
    shifted = logits.astype(np.float64) - float(logits.max())
    return shifted - np.log(np.exp(shifted).sum())


def summary(differences: list[Difference]) -> dict[str, Any]:
    """The figures of one precision; a flip is a position where our argmax has a smaller logit in theirs."""
    flips = [d for d in differences if d.flip_logit > 0]
    return {
        "positions": len(differences),
        "kl_mean": float(np.mean([d.kl for d in differences])),
        "kl_max": max(d.kl for d in differences),
        "argmax_equal_rate": 1 - len(flips) / len(differences),
        "flip_probability_gap_max": max((d.flip_probability for d in flips), default=0.0),
        "flip_logit_gap_max": max((d.flip_logit for d in flips), default=0.0),
        "logit_difference_max": max(d.logit for d in differences),
    }


def write_golden(path: Path, theirs: LlamaForCausalLM, tokens: list[int]) -> None:
    """Save the top of the laws at every few positions of our own text, with the log of each law's whole sum."""
    rows = np.arange(GOLDEN["every"] - 1, len(tokens), GOLDEN["every"])
    logits = logits_of(theirs, tokens)[rows]
    ids = np.argsort(-logits, axis=1, kind="stable")[:, : GOLDEN["top"]].astype(np.int32)
    wide = logits.astype(np.float64)
    np.savez_compressed(
        path,
        tokens=np.array(tokens, np.int32),
        rows=rows.astype(np.int32),
        ids=ids,
        logits=np.take_along_axis(logits, ids, axis=1),
        log_sum=np.log(np.exp(wide).sum(axis=1)),
    )


if __name__ == "__main__":
    main()
