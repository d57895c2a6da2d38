"""The whole engine: drafting against plain decoding, interleaved in one run, on a file of prompts with categories.

    python benchmarks/engine.py PROMPTS.jsonl [--drafter lookup] [--rounds 5] [--tokens 128] [--threads 2]

Every round answers each prompt twice, plainly and drafted, in alternating order, with cold caches. Reported per category:
the median over rounds of (plain seconds / drafted seconds) summed over the category, with the smallest and largest
round, and tokens a second of both. Prefill is left out: drafting does not change it. Texts must be equal. The last line on stdout is JSON.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from headstart.engine import Engine


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("prompts", type=Path)
    parser.add_argument("--model", default="smollm2-135m-instruct")
    parser.add_argument("--drafter", default="lookup")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--temperature", type=float, default=0.0)
    args = parser.parse_args()
    engine = Engine(args.model, threads=args.threads)
    prompts = [json.loads(line) for line in args.prompts.open(encoding="utf-8")]
    seconds: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0] * args.rounds)
    tokens: dict[str, int] = defaultdict(int)
    passes: dict[str, int] = defaultdict(int)
    run(engine, prompts[0], "none", args)
    for number in range(args.rounds):
        for prompt in prompts:
            order = ("none", args.drafter) if number % 2 else (args.drafter, "none")
            results = {drafter: run(engine, prompt, drafter, args) for drafter in order}
            if results["none"].tokens != results[args.drafter].tokens:
                raise SystemExit(f"{prompt['id']}: the drafted text differs")
            for group in (prompt["category"], "all"):
                for drafter, result in results.items():
                    figures = result.statistics
                    seconds[group, drafter][number] += figures.draft_s + figures.pass_s + figures.verify_s
                if number == 0:
                    tokens[group] += len(results["none"].tokens)
                    passes[group] += results[args.drafter].statistics.rounds
    report(args, seconds, tokens, passes)


def run(engine: Engine, prompt: dict[str, Any], drafter: str, args: argparse.Namespace) -> Any:
    """One answer from cold caches."""
    engine.close()
    return engine.generate(
        prompt["user"], max_tokens=args.tokens, drafter=drafter, temperature=args.temperature, seed=1
    )


def report(args: argparse.Namespace, seconds: Any, tokens: Any, passes: Any) -> None:
    """Print a line a category, and all of it as JSON."""
    out: dict[str, Any] = {}
    for group, count in tokens.items():
        plain, drafted = seconds[group, "none"], seconds[group, args.drafter]
        ratios = [a / b for a, b in zip(plain, drafted, strict=True)]
        out[group] = {
            "ratio": [round(f(ratios), 3) for f in (min, statistics.median, max)],
            "plain_tokens_per_s": round(count / statistics.median(plain), 1),
            "drafted_tokens_per_s": round(count / statistics.median(drafted), 1),
            "tokens_per_pass": round(count / passes[group], 3),
        }
        print(f"{group:10} {out[group]}")
    command = " ".join(sys.argv)
    print(json.dumps({"machine": platform.processor() or platform.machine(), "command": command, "categories": out}))


if __name__ == "__main__":
    main()
