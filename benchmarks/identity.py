"""Is drafted text plain text? Every drafter and draft length against plain decoding, on a file of prompts.

    python benchmarks/identity.py PROMPTS.jsonl --out RESULTS.jsonl [--prompts 20] [--tokens 48]

Drafters: lookup, and draft models of three qualities made from the target itself: perturbed (every matrix with noise added,
then requantised to Q8_0), random (two layers of noise), and the target. Temperature 0 and 0.7 with five seeds. A configuration
counts if at least 100 drafted tokens were accepted and at least 100 rejected over its runs (for the target as its own draft,
which is never rejected, and the random one, which is never accepted, only the other holds). One line a configuration goes
to the results file; a run that was stopped goes on from there. The last line on stdout is JSON.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from headstart import models
from headstart.backends import load_backend
from headstart.engine import Engine
from headstart.models.config import Weights
from headstart.models.quantise import perturb

TEMPERATURES = [(0.0, 0), *((0.7, seed) for seed in range(1, 6))]
LENGTHS = range(1, 9)
NOISE_RATE = 0.07


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("prompts", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--model", default="smollm2-135m-instruct")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--tokens", type=int, default=48)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    done = {tuple(json.loads(line)["key"]) for line in args.out.open()} if args.out.exists() else set()
    weights = models.load(args.model)
    target = load_backend(weights, threads=args.threads)
    plain = Engine(target, tokenizer=weights.tokenizer, chat_template=weights.chat_template, drafter="none")
    prompts = [plain.encode(text)[-900:] for text in texts(args.prompts, args.count)]
    truth = {
        (prompt, *how): plain.generate(tokens, max_tokens=args.tokens, temperature=how[0], seed=how[1]).tokens
        for prompt, tokens in enumerate(prompts)
        for how in TEMPERATURES
    }
    plain.close()
    for name, drafter in drafters(weights, target, args.threads):
        for length in LENGTHS:
            for how in TEMPERATURES:
                key = (name, length, *how)
                if key not in done:
                    line = run(plain, drafter, prompts, length, how, args.tokens, truth)
                    with args.out.open("a") as out:
                        out.write(json.dumps({"key": key, **line}) + "\n")
    print(json.dumps(summary(args)))


def texts(path: Path, count: int) -> list[str]:
    """First ``count`` prompts of a file: its ``user``, ``prompt``, or first of ``turns``; spread over the whole file."""
    lines = [json.loads(line) for line in path.open(encoding="utf-8")]
    chosen = lines[:: max(len(lines) // count, 1)][:count]
    return [line.get("user") or line.get("prompt") or line["turns"][0] for line in chosen]


def drafters(weights: Weights, target: Any, threads: int) -> Any:
    """Each drafter by name, made when its turn comes."""
    from headstart.draft import LookupDrafter, ModelDrafter

    yield "lookup", LookupDrafter()
    yield "target", ModelDrafter(load_backend(weights, threads=threads), target.vocab_size)
    noisy = perturb(weights, noise_rate=NOISE_RATE, seed=1)
    yield "perturbed", ModelDrafter(load_backend(noisy, threads=threads), target.vocab_size)
    yield "random", ModelDrafter(load_backend(shortened(weights), threads=threads), target.vocab_size)


def shortened(weights: Weights) -> Weights:
    """Two layers of noise under the same vocabulary."""
    config = replace(weights.config, layer_count=2, windows=weights.config.windows[:2])
    names = [name for name in weights.tensors if not name[0].isdigit() or int(name.split(".")[0]) < 2]
    small = replace(weights, config=config, tensors={name: weights.tensors[name] for name in names})
    return perturb(small, noise_rate=3.0, seed=2)


def run(
    engine: Engine, drafter: Any, prompts: list[list[int]], length: int, how: tuple[float, int], tokens: int, truth: Any
) -> dict[str, Any]:
    """One configuration over all prompts."""
    drafted = accepted = made = different = 0
    for prompt, ids in enumerate(prompts):
        result = engine.generate(
            ids, max_tokens=tokens, temperature=how[0], seed=how[1], draft_length=length, drafter=drafter
        )
        figures = result.statistics
        drafted, accepted, made = (
            drafted + figures.tokens_drafted,
            accepted + figures.tokens_accepted,
            made + figures.tokens,
        )
        different += result.tokens != truth[(prompt, *how)]
        engine.close()
    return {"drafted": drafted, "accepted": accepted, "tokens": made, "different": different, "prompts": len(prompts)}


def summary(args: argparse.Namespace) -> dict[str, Any]:
    """Figures by drafter over all lengths, temperatures and seeds."""
    lines = [json.loads(line) for line in args.out.open()]
    by_drafter: dict[str, Any] = {}
    for name in dict.fromkeys(line["key"][0] for line in lines):
        own = [line for line in lines if line["key"][0] == name]
        rates = [line["accepted"] / line["drafted"] for line in own if line["drafted"]]
        rejected = [line["drafted"] - line["accepted"] for line in own]
        by_drafter[name] = {
            "configurations": len(own),
            "texts": sum(line["prompts"] for line in own),
            "different": sum(line["different"] for line in own),
            "tokens": sum(line["tokens"] for line in own),
            "acceptance_rate": [round(f(rates), 3) for f in (min, np.median, max)],
            "least_accepted": min(line["accepted"] for line in own),
            "least_rejected": min(rejected),
        }
    return {
        "machine": platform.processor() or platform.machine(),
        "command": " ".join(sys.argv),
        "drafters": by_drafter,
    }


if __name__ == "__main__":
    main()
