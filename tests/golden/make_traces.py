"""Write the golden traces: one for each rule, of a toy world, without timings. Run it only when the format changes.

PYTHONPATH=src python tests/golden/make_traces.py
"""

from __future__ import annotations

from pathlib import Path

from headstart.engine import Engine
from headstart.toy import WORLDS

FOLDER = Path(__file__).parent / "traces"
RULES = {
    "greedy": ("text", "greedy", "lookup", 0.0),
    "coupled": ("text", None, "model", 0.8),
    "coupled-lookup": ("text", None, "lookup", 0.8),
    "walk": ("law", "walk", "lookup", 0.8),
    "token": ("law", "token", "model", 0.8),
    "block": ("law", "block", "model", 0.8),
    "multi-step": ("law", "multi-step", "model", 0.8),
    "traversal": ("law", "traversal", "model", 0.8),
}
"""By name of the file: guarantee, verifier, drafter, temperature."""


def make(name: str, path: Path) -> None:
    """Write one trace, its timings left out."""
    guarantee, verifier, drafter, temperature = RULES[name]
    world = WORLDS["six-word"]
    engine = Engine(world.model(), tokenizer=world.tokenizer(), draft_model=world.draft_model(), drafter=drafter)
    engine.generate(
        [0, 1, 2, 0, 1],
        trace=path,
        max_tokens=24,
        temperature=temperature,
        seed=2026,
        draft_length=4,
        guarantee=guarantee,
        verifier=verifier,
    )
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:-1]), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in RULES:
        make(name, FOLDER / f"{name}.jsonl")
