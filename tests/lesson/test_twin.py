"""The page's own arithmetic is the engine's: every decision, every figure, and traces that the page writes itself."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headstart import theory
from headstart.engine import Engine
from headstart.law import Law
from headstart.lesson.site import FOLDER
from headstart.theory.evidence import Evidence, Seen
from headstart.toy import WORLDS
from headstart.trace import check

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(
    NODE is None, reason="node runs the page's arithmetic outside a browser; install nodejs"
)

GOLDEN = sorted((Path(__file__).parents[1] / "golden").rglob("*.jsonl"))
RECORDED = sorted((FOLDER / "traces").glob("*.jsonl"))
TOY_OPTIONS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "coupled": {"temperature": 1.0},
    "walk": {"temperature": 1.0, "guarantee": "law", "drafter": "lookup"},
    "token": {"temperature": 1.0, "guarantee": "law", "verifier": "token"},
    "block": {"temperature": 1.0, "guarantee": "law", "verifier": "block"},
}


def twin(command: str, given: Any) -> Any:
    """What the page's modules make of an input."""
    assert NODE is not None
    script = Path(__file__).parent / "twin.mjs"
    done = subprocess.run(
        [NODE, str(script), str(FOLDER / "js"), command], input=json.dumps(given), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def verdicts(file: Path) -> dict[int, dict[str, Any]]:
    """What the engine decided, by round."""
    records = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return {record["round"]: record["verdict"] for record in records if record["type"] == "round"}


def differing(files: list[Path]) -> tuple[int, list[tuple[str, int]]]:
    """How many decisions the twin made, and which differ."""
    engine = {str(file): verdicts(file) for file in files}
    decided = twin("decide", [str(file) for file in files])
    wrong = [(file, number) for file, number, verdict in decided if engine[file][number] != verdict]
    return len(decided), wrong


def test_the_twin_makes_every_decision_of_the_recorded_runs() -> None:
    count, wrong = differing(RECORDED)
    rounds = sum(len(verdicts(file)) for file in RECORDED)
    assert count == rounds > 100
    assert wrong == []


def test_the_twin_makes_every_decision_of_the_golden_traces_it_knows() -> None:
    count, wrong = differing(GOLDEN)
    assert count > 0
    assert wrong == []


@pytest.mark.parametrize("rule", TOY_OPTIONS)
def test_the_twin_makes_every_decision_in_toy_worlds(rule: str, tmp_path: Path) -> None:
    files = []
    for name in ("two-word", "three-word", "markov", "six-word"):
        world = WORLDS[name]
        engine = Engine(world.model(), tokenizer=world.tokenizer(), draft_model=world.draft_model())
        for seed in (1, 2**60 + 7):
            files.append(tmp_path / f"{name}-{seed}.jsonl")
            options = {"max_tokens": 40, "draft_length": 4, "raw": True, "seed": seed, **TOY_OPTIONS[rule]}
            engine.generate(world.words[0], trace=files[-1], **options)
    count, wrong = differing(files)
    assert count > 50
    assert wrong == []


def test_a_decision_that_was_tampered_with_is_noticed(tmp_path: Path) -> None:
    """The comparison can fail: one weight of p moved from a token to another turns a verdict."""
    lines = (FOLDER / "traces" / "law.jsonl").read_text(encoding="utf-8").splitlines()
    for at, line in enumerate(lines):
        record = json.loads(line)
        if record["type"] == "round" and record["verdict"]["path"]:
            record["laws"]["-1"]["weights"] = [0.0] * len(record["laws"]["-1"]["weights"])
            lines[at] = json.dumps(record)
    file = tmp_path / "tampered.jsonl"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert differing([file])[1]


def test_every_recorded_run_is_what_it_says() -> None:
    """Of the plain and the drafted answer each, the engine's own checker finds every decision to follow."""
    for file in RECORDED:
        assert check(file).rounds > 0
    for file in RECORDED:
        if file.name.endswith("-plain.jsonl"):
            drafted = file.with_name(file.name.replace("-plain", ""))
            texts = [json.loads(path.read_text(encoding="utf-8").splitlines()[-2])["text"] for path in (file, drafted)]
            assert texts[0] == texts[1]


@pytest.mark.parametrize("rule", ["token", "block", "coupled"])
def test_traces_that_the_page_writes_are_traces_of_the_engine(rule: str, tmp_path: Path) -> None:
    """The sandbox's export passes the engine's checker: same rules, same coins, same bits."""
    worlds = [([0.5, 0.3, 0.2], [0.3, 0.2, 0.5]), ([0.1, 0.4, 0.5], [0.5, 0.4, 0.1]), ([1, 0, 0], [0, 0.5, 0.5])]
    knobs = [
        {"p": p, "q": q, "rule": rule, "seed": seed, "gamma": gamma, "count": 50}
        for p, q in worlds
        for seed, gamma in ((1, 4), (99, 2), (2**40, 0))
    ]
    for lines in twin("write", knobs):
        file = tmp_path / "page.jsonl"
        file.write_text(lines, encoding="utf-8")
        assert check(file).tokens == 50


def test_the_page_writes_what_the_engine_writes(tmp_path: Path) -> None:
    """One toy answer from both, record by record, apart from names."""
    world = WORLDS["three-word"]
    engine = Engine(world.model(), tokenizer=world.tokenizer(), draft_model=world.draft_model())
    file = tmp_path / "engine.jsonl"
    options: dict[str, Any] = {"temperature": 1.0, "guarantee": "law", "verifier": "token", "raw": True}
    engine.generate("A", trace=file, seed=5, max_tokens=30, draft_length=3, **options)
    page = twin(
        "write", [{"p": [0.5, 0.3, 0.2], "q": [0.3, 0.2, 0.5], "rule": "token", "seed": 5, "gamma": 3, "count": 30}]
    )[0]
    rounds = [
        [record for line in lines.splitlines() if (record := json.loads(line))["type"] == "round"]
        for lines in (file.read_text(encoding="utf-8"), page)
    ]
    assert [(r["verdict"], r["committed"]) for r in rounds[0]] == [(r["verdict"], r["committed"]) for r in rounds[1]]


CASES: list[dict[str, Any]] = [
    {"p": [0.6, 0.4], "q": [0.2, 0.8], "counts": [44, 56], "gamma": 4, "c": 0.1},
    {"p": [0.5, 0.3, 0.2], "q": [0.3, 0.2, 0.5], "counts": [450, 290, 260], "gamma": 3, "c": 0.05},
    {"p": [0.1, 0.4, 0.5], "q": [0.5, 0.4, 0.1], "counts": [10, 58, 32], "gamma": 5, "c": 0.3},
    {"p": [0.25, 0.75], "q": [0.25, 0.75], "counts": [3, 9], "gamma": 2, "c": 0.0},
]


@pytest.mark.parametrize("case", CASES, ids=["two words", "three words", "break it", "equal"])
def test_figures_are_those_of_theory(case: dict[str, Any]) -> None:
    got = twin("figures", [case])[0]
    p, q = Law.of(case["p"]), Law.of(case["q"])
    alpha = float(theory.acceptance(p, q))
    assert got["alpha"] == alpha
    assert got["tv"] == pytest.approx(float(theory.total_variation(p, q)), abs=1e-15)
    assert got["tokens"] == pytest.approx(float(theory.expected_tokens(alpha, case["gamma"])))
    assert got["speedup"] == pytest.approx(float(theory.speedup(alpha, case["gamma"], draft_cost=case["c"])))
    if case["c"]:
        assert got["best"] == theory.best_draft_length(alpha, draft_cost=case["c"], limit=32).draft_length
    assert got["best"] == theory.best_draft_length(alpha, draft_cost=case["c"], limit=32).draft_length
    assert got["counts"] == pytest.approx([float(x) for x in theory.token_counts([alpha] * case["gamma"])])
    assert got["coupled"] == pytest.approx(float(theory.coupling_acceptance(p, q)), rel=1e-12)
    evidence = Evidence()
    for word, count in enumerate(case["counts"]):
        for _ in range(count):
            evidence.observe(Seen(word, p, q))
    assert got["evidence"] == pytest.approx(evidence.log_value / 2.302585092994046, rel=1e-9, abs=1e-12)


def additions(terms: np.ndarray[Any, np.dtype[np.float32]], pairs: bool, short: bool) -> np.ndarray[Any, Any]:
    """Sums over the last axis, one by one or in pairs, every one rounded to float32 or bfloat16; chapter 11 in NumPy."""

    def rounded(x: np.ndarray[Any, np.dtype[np.float32]]) -> np.ndarray[Any, np.dtype[np.float32]]:
        bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).view(np.float32) if short else x

    terms = rounded(terms)
    while terms.shape[-1] > 1 and pairs:
        terms = rounded(terms[..., 0::2] + terms[..., 1::2])
    total = terms[..., 0]
    for i in range(1, terms.shape[-1]):
        total = rounded(total + terms[..., i])
    return total


@pytest.mark.parametrize("kind", ["float32", "bfloat16"])
def test_two_orders_of_a_sum_differ_as_in_numpy(kind: str) -> None:
    """Chapter 11's experiment, done again in NumPy: the same numbers, the same counts."""
    for seed in (98, 12345):
        state, numbers = seed, np.empty(1000 * 16 * 16)
        for i in range(numbers.size):
            state = (state * 1664525 + 1013904223) % 2**32
            numbers[i] = state / 2**31 - 1
        words = numbers.astype(np.float32).reshape(1000, 16, 16)
        one, other = (additions(words, pairs, kind == "bfloat16") for pairs in (False, True))
        expected = {
            "tried": 1000,
            "differ": int((one != other).any(axis=1).sum()),
            "flips": int((one.argmax(axis=1) != other.argmax(axis=1)).sum()),
        }
        assert twin("orders", [{"kind": kind, "seed": seed}]) == [expected]
        assert (expected["flips"] > 0) == (kind == "bfloat16")


def test_broken_rules_lead_where_the_survey_says() -> None:
    """ALGORITHMS section 22.2, and the pair of the second example of chapter 7."""
    three = twin("rules", {"p": [0.5, 0.3, 0.2], "q": [0.3, 0.2, 0.5]})
    expected = {
        "residual": (0.5, 0.3, 0.2),
        "p": (0.45, 0.29, 0.26),
        "without": (0.4875, 0.3125, 0.2),
        "always": (0.3, 0.2, 0.5),
        "threshold": (0.3 + 1 / 3, 0.2 + 1 / 6, 0),
    }
    for rule, law in expected.items():
        assert three[rule] == pytest.approx(law, abs=1e-12), rule
    two = twin("rules", {"p": [0.6, 0.4], "q": [0.2, 0.8]})
    assert two["p"] == pytest.approx((0.44, 0.56))
    assert two["without"] == pytest.approx((0.6, 0.4)), "two words hide this fault"
    bare = twin("rules", {"p": [0.1, 0.4, 0.5], "q": [0.5, 0.4, 0.1]})
    assert sum(abs(x - y) for x, y in zip(bare["without"], (0.1, 0.4, 0.5), strict=True)) / 2 > 0.17
