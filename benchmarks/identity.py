"""Is drafted text plain text? Every drafter and draft length against plain decoding, on a file of prompts.

    python benchmarks/identity.py PROMPTS.jsonl --out RESULTS.jsonl [--count 20] [--tokens 48] [--drafters lookup ...]

Drafters: lookup, and draft models of three qualities made from the target itself: perturbed (every matrix with noise added,
then requantised to Q8_0), random (two layers of noise), and the target. Temperature 0 and 0.7 with five seeds. A configuration
counts if at least 100 drafted tokens were accepted and at least 100 rejected over its runs (for the target as its own draft,
which is never rejected, and the random one, which is never accepted, only the other holds). One line a drafter and prompt goes
to the results file; a run that was stopped goes on from there. The last line on stdout is JSON.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from headstart import models
from headstart.backends import load_backend
from headstart.draft import LookupDrafter, ModelDrafter
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
    parser.add_argument("--drafters", nargs="+", choices=DRAFTERS)
    args = parser.parse_args()
    done = {tuple(json.loads(line)["key"]) for line in args.out.open()} if args.out.exists() else set()
    weights = models.load(args.model)
    target = load_backend(weights, threads=args.threads)
    plain = Engine(target, tokenizer=weights.tokenizer, chat_template=weights.chat_template, drafter="none")
    prompts = [plain.encode(text)[-900:] for text in texts(args.prompts, args.count)]
    truth: dict[tuple[int, float, int], list[int]] = {}
    for name in args.drafters or DRAFTERS:
        drafter = DRAFTERS[name](weights, target, args.threads)
        for prompt, ids in enumerate(prompts):
            if (name, prompt) in done:
                continue
            for how in TEMPERATURES:
                if (prompt, *how) not in truth:
                    truth[(prompt, *how)] = answer(plain, ids, how, args.tokens).tokens
            lines = [
                {"length": length, "how": how, **compare(plain, drafter, ids, length, how, truth[(prompt, *how)], args)}
                for length in LENGTHS
                for how in TEMPERATURES
            ]
            with args.out.open("a") as out:
                out.write(json.dumps({"key": (name, prompt), "texts": lines}) + "\n")
            plain.close()
    print(json.dumps(summary(args)))


def texts(path: Path, count: int) -> list[str]:
    """First ``count`` prompts of a file: its ``user``, ``prompt``, or first of ``turns``; spread over the whole file."""
    lines = [json.loads(line) for line in path.open(encoding="utf-8")]
    chosen = lines[:: max(len(lines) // count, 1)][:count]
    return [line.get("user") or line.get("prompt") or line["turns"][0] for line in chosen]


def shortened(weights: Weights) -> Weights:
    """Two layers of noise under the same vocabulary."""
    config = replace(weights.config, layer_count=2, windows=weights.config.windows[:2])
    names = [name for name in weights.tensors if not name[0].isdigit() or int(name.split(".")[0]) < 2]
    small = replace(weights, config=config, tensors={name: weights.tensors[name] for name in names})
    return perturb(small, noise_rate=3.0, seed=2)


def answer(engine: Engine, ids: list[int], how: tuple[float, int], tokens: int, **options: Any) -> Any:
    return engine.generate(ids, max_tokens=tokens, temperature=how[0], seed=how[1], **options)


def compare(
    engine: Engine,
    drafter: Any,
    ids: list[int],
    length: int,
    how: tuple[float, int],
    truth: Sequence[int],
    args: argparse.Namespace,
) -> dict[str, Any]:
    """One drafted text; the prompt is read once for all of its texts."""
    result = answer(engine, ids, how, args.tokens, draft_length=length, drafter=drafter)
    figures = result.statistics
    return {
        "drafted": figures.tokens_drafted,
        "accepted": figures.tokens_accepted,
        "tokens": figures.tokens,
        "different": result.tokens != truth,
    }


def itself(weights: Weights, target: Any, threads: int) -> Any:
    return ModelDrafter(load_backend(weights, threads=threads), target.vocab_size)


def perturbed(weights: Weights, target: Any, threads: int) -> Any:
    noisy = perturb(weights, noise_rate=NOISE_RATE, seed=1)
    return ModelDrafter(load_backend(noisy, threads=threads), target.vocab_size)


def random(weights: Weights, target: Any, threads: int) -> Any:
    return ModelDrafter(load_backend(shortened(weights), threads=threads), target.vocab_size)


DRAFTERS = {"lookup": lambda *_: LookupDrafter(), "target": itself, "perturbed": perturbed, "random": random}


def summary(args: argparse.Namespace) -> dict[str, Any]:
    """Figures by drafter, of configurations: a drafter, a draft length, a temperature and a seed, over all prompts."""
    by_drafter: dict[str, Any] = {}
    sums: dict[str, dict[Any, Counter[str]]] = {}
    for line in map(json.loads, args.out.open()):
        for text in line["texts"]:
            own = sums.setdefault(line["key"][0], {}).setdefault((text.pop("length"), *text.pop("how")), Counter())
            own.update({"texts": 1, **text})
    for name, configurations in sums.items():
        rows = list(configurations.values())
        rates = [row["accepted"] / row["drafted"] for row in rows if row["drafted"]]
        by_drafter[name] = {
            "configurations": len(rows),
            "texts": sum(row["texts"] for row in rows),
            "different": sum(row["different"] for row in rows),
            "tokens": sum(row["tokens"] for row in rows),
            "acceptance_rate": [round(float(f(rates)), 3) for f in (min, np.median, max)],
            "least_accepted": min(row["accepted"] for row in rows),
            "least_rejected": min(row["drafted"] - row["accepted"] for row in rows),
        }
    return {
        "machine": platform.processor() or platform.machine(),
        "command": " ".join(sys.argv),
        "drafters": by_drafter,
    }


if __name__ == "__main__":
    main()
