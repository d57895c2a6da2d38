"""Make ``docs/zoo.md``: which toy world exposes which bug. Run from the repository's root."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from headstart.engine import Engine
from headstart.result import Result
from headstart.toy import WORLDS, World
from headstart.verify.broken import ZOO, Bug, distance

SMALL = ("two-word", "three-word", "break-it", "thirds", "grammar", "markov")
WIDE = ("two-word", "three-word", "markov", "ending", "six-word", "memory")
SEEDS = range(10)

HEAD = """# The bug zoo

Known ways of getting speculation wrong, as working parts in `headstart.verify.broken`. None can be chosen as a verifier.
Made by `tests/power/make_zoo.py`; a test holds this page to what the code gives.

## Wrong rules, and coins that are looked at twice

Total variation between what the bug writes and what the target does, computed exactly by running it down every branch
in the toy worlds of `headstart.toy`; a dot where a world cannot show it. A test that used the two-word world alone
would pass {blind} of these {count}.
"""

MIDDLE = """
## Faults of what surrounds the rule

Texts out of {count}, one for each seed, that are not plain decoding's (24 tokens, temperature 1, drafts of 4, guarantee
`text`). The same runs without a bug differ in none.
"""

TAIL = """
## What is wrong in each

"""


def generate(world: World, seed: int, bug: Bug | None, *, plain: bool = False, **options: object) -> Result:
    """One text of a world, written by an engine with a bug in it, or by a sound one."""
    model = world.model() if bug is None or bug.model is None else bug.model(world.model())
    engine = Engine(model, tokenizer=world.tokenizer(), draft_model=world.draft_model())
    named = {"max_tokens": 24, "temperature": 1.0, "draft_length": 4, "raw": True, **options}
    with engine.stream([0], seed=seed, drafter="none" if plain else "model", **named) as stream:
        if bug is not None:
            bug.spoil(stream.request)
        for _ in stream:
            pass
        return stream.result


def differing(world: World, bug: Bug, *, sound: bool = False) -> int:
    """How many texts of a world are not plain decoding's: those of a bug, or of a sound engine with its options."""
    count = 0
    for seed in SEEDS:
        plain = generate(world, seed, None, plain=True, **bug.options)
        drafted = generate(world, seed, None if sound else bug, **bug.options)
        count += (drafted.tokens, drafted.text, drafted.finish_reason) != (
            plain.tokens,
            plain.text,
            plain.finish_reason,
        )
    return count


def can_ask(world: World, bug: Bug) -> bool:
    """Whether the bug's stop string is made of the world's words."""
    return all(word in world.words for word in str(bug.options.get("stop", "")).split())


def table(head: Sequence[str], rows: Iterator[Sequence[str]]) -> str:
    lines = [head, ["---"] + ["--:"] * (len(head) - 1), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def page() -> str:
    exact = [bug for bug in ZOO.values() if bug.kind != "engine"]
    found = {bug.name: [float(distance(bug, WORLDS[name])) for name in SMALL] for bug in exact}
    laws = ([f"{bug.name} ({bug.kind})", *(f"{x:.4f}" if x > 1e-9 else "." for x in found[bug.name])] for bug in exact)
    faults = [bug for bug in ZOO.values() if bug.kind == "engine"]
    texts = (
        [bug.name, *(str(differing(WORLDS[n], bug) or ".") if can_ask(WORLDS[n], bug) else "" for n in WIDE)]
        for bug in faults
    )
    blind = sum(row[0] < 1e-9 for row in found.values())
    return (
        HEAD.format(blind=blind, count=len(exact))
        + "\n"
        + table(["bug", *SMALL], laws)
        + MIDDLE.format(count=len(SEEDS))
        + "\n"
        + table(["bug", *WIDE], texts)
        + TAIL
        + "".join(f"- **{bug.name}**: {bug.wrong} ({bug.source})\n" for bug in ZOO.values())
    )


if __name__ == "__main__":
    Path("docs/zoo.md").write_text(page(), encoding="utf-8")
