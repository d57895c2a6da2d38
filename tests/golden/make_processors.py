"""Makes processors.npz: what Hugging Face's own logits processors give on random rows. Needs torch and transformers."""

from pathlib import Path

import numpy as np
import torch
from transformers.generation import logits_process as hf

VOCAB, ROWS, PROMPT, LENGTH = 80, 6, 5, 12

PIPELINES = {
    "temperature": lambda: [hf.TemperatureLogitsWarper(0.7)],
    "top_k": lambda: [hf.TopKLogitsWarper(7)],
    "top_p": lambda: [hf.TopPLogitsWarper(0.8)],
    "min_p": lambda: [hf.MinPLogitsWarper(0.1)],
    "typical_p": lambda: [hf.TypicalLogitsWarper(0.6)],
    "repetition": lambda: [hf.RepetitionPenaltyLogitsProcessor(1.3)],
    "bias": lambda: [hf.SequenceBiasLogitsProcessor({(3,): 2.5, (9,): -4.0})],
    "banned": lambda: [hf.SuppressTokensLogitsProcessor([1, 5, 8], device="cpu")],
    "min_tokens": lambda: [hf.MinNewTokensLengthLogitsProcessor(PROMPT, LENGTH - PROMPT + 1, [2, 4], device="cpu")],
    "all": lambda: [
        hf.RepetitionPenaltyLogitsProcessor(1.2),
        hf.SequenceBiasLogitsProcessor({(3,): 2.5, (9,): -4.0}),
        hf.SuppressTokensLogitsProcessor([1, 5, 8], device="cpu"),
        hf.TemperatureLogitsWarper(0.9),
        hf.TopKLogitsWarper(30),
        hf.TopPLogitsWarper(0.9),
        hf.MinPLogitsWarper(0.02),
        hf.TypicalLogitsWarper(0.9),
    ],
}


def main() -> None:
    rng = np.random.default_rng(7)
    logits = rng.normal(0, 2.5, (ROWS, VOCAB)).astype(np.float32)
    history = rng.integers(0, VOCAB, (ROWS, LENGTH))
    out = {"logits": logits, "history": history, "prompt_length": np.array(PROMPT)}
    for name, make in PIPELINES.items():
        scores = torch.tensor(logits)
        for processor in make():
            scores = processor(torch.tensor(history), scores)
        out[name] = torch.softmax(scores.double(), -1).numpy()
    np.savez_compressed(Path(__file__).with_name("processors.npz"), **out)


if __name__ == "__main__":
    main()
