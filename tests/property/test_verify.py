"""Whatever the laws and the coins, no rule emits what the target forbids, and a sure accept is sure: float64, extremes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.coins import RoundCoins, pick
from headstart.draft.draw import sampled_chain, sampled_paths, sampled_tree
from headstart.law import Law, Number, excess
from headstart.tree import ROOT, Draft
from headstart.verify import VERIFIERS
from headstart.verify.proof import target_laws

LOSSLESS = ("token", "block", "multi-step", "traversal", "k-seq", "multi-path-block")
TREES = ("multi-step", "traversal")
LEAST, MOST = 2.0**-53, 1 - 2.0**-53

weights = st.one_of(st.just(0.0), st.floats(1e-300, 1.0), st.floats(0.01, 1.0), st.just(1.0))


@st.composite
def law(draw: st.DrawFn, size: int) -> Law:
    raw = np.array(draw(st.lists(weights, min_size=size, max_size=size)))
    raw[draw(st.integers(0, size - 1))] = 1.0
    return Law(raw / raw.sum(), None, size)


@st.composite
def laws_by_depth(draw: st.DrawFn) -> tuple[list[Law], list[Law]]:
    size, other = draw(st.integers(1, 5)), draw(st.integers(0, 2))
    target = [draw(law(size)) for _ in range(4)]
    near = st.sampled_from(target)
    return target, [draw(st.one_of(law(size + other), law(max(1, size - other)), near)) for _ in range(3)]


class Uniforms:
    """Coins of given uniforms, used in a circle."""

    def __init__(self, values: Sequence[float]) -> None:
        self._values = list(values)

    def _next(self) -> float:
        self._values.append(self._values.pop(0))
        return self._values[-1]

    def accept(self, numerator: Number, denominator: Number, node: int) -> bool:
        u = self._next()
        assert denominator > 0, node
        return bool(denominator <= numerator or u * denominator < numerator)

    def recover(self, law: Law, _node: int) -> int:
        return pick(law, self._next())

    def propose(self, law: Law, _node: int) -> int:
        return pick(law, self._next())


uniforms = st.lists(st.sampled_from([LEAST, 0.25, 0.5, 0.75, MOST]), min_size=1, max_size=7)


def check(name: str, draft: Draft, target: list[Law], coins: Uniforms) -> None:
    verdict = VERIFIERS[name].verify(draft, lambda node: target[draft.depth(node)], coins, 0)  # type: ignore[arg-type]
    for depth, token in enumerate((*(draft.tokens[node] for node in verdict.path), verdict.token)):
        assert target[depth].prob(token) > 0
    assert verdict.path == draft.path(verdict.path[-1] if verdict.path else ROOT)


@pytest.mark.parametrize("name", LOSSLESS)
@given(laws=laws_by_depth(), values=uniforms, length=st.integers(0, 3))
def test_chains_emit_only_what_the_target_allows(
    name: str, laws: tuple[list[Law], list[Law]], values: list[float], length: int
) -> None:
    target, source = laws
    coins = Uniforms(values)
    check(name, sampled_chain(lambda tokens: source[len(tokens)], length, coins), target, coins)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", TREES)
@given(laws=laws_by_depth(), values=uniforms, widths=st.lists(st.integers(1, 3), max_size=3), again=st.booleans())
@settings(max_examples=60)
def test_trees_emit_only_what_the_target_allows(
    name: str, laws: tuple[list[Law], list[Law]], values: list[float], widths: list[int], again: bool
) -> None:
    target, source = laws
    coins = Uniforms(values)
    draft = sampled_tree(lambda tokens: source[len(tokens)], widths, coins, replacement=again)  # type: ignore[arg-type]
    check(name, draft, target, coins)
    if again:
        check("k-seq", draft, target, coins)


@given(laws=laws_by_depth(), values=uniforms, count=st.integers(1, 3), length=st.integers(1, 3))
def test_paths_emit_only_what_the_target_allows(
    laws: tuple[list[Law], list[Law]], values: list[float], count: int, length: int
) -> None:
    target, source = laws
    coins = Uniforms(values)
    draft = sampled_paths(lambda tokens: source[len(tokens)], count, length, coins)  # type: ignore[arg-type]
    check("multi-path-block", draft, target, coins)


@pytest.mark.parametrize("name", ["token", "block", "multi-step", "traversal"])
@given(target=st.lists(law(4), min_size=4, max_size=4), values=uniforms)
def test_a_draft_of_the_target_itself_is_always_kept(name: str, target: list[Law], values: list[float]) -> None:
    coins = Uniforms([*values, MOST])
    draft = sampled_chain(lambda tokens: target[len(tokens)], 3, coins)  # type: ignore[arg-type]
    verdict = VERIFIERS[name].verify(draft, lambda node: target[draft.depth(node)], coins, 0)  # type: ignore[arg-type]
    assert len(verdict.path) == 3


@given(p=law(5), q=law(5))
def test_what_is_taken_and_what_is_left_add_up(p: Law, q: Law) -> None:
    taken = np.minimum(p.weights, q.weights)
    left = excess(p, q)
    np.testing.assert_allclose(taken + left.weights, p.weights, atol=1e-15)
    np.testing.assert_allclose(left.law().weights.sum(), 1)


def test_an_empty_remainder_falls_back_to_the_target() -> None:
    """A rejection that only rounding can bring about: q is above p everywhere."""
    p, q = Law.of([0.3, 0.7]), Law.of([0.30000000000000004, 0.7])
    draft = Draft.chain([0], origin="sampled", laws=[q])
    for name in LOSSLESS:
        verdict = VERIFIERS[name].verify(draft, lambda _: p, Uniforms([MOST, MOST]), 0)  # type: ignore[arg-type]
        assert verdict.token in (0, 1)
        assert verdict.kind in ("recovered", "bonus")


def test_a_token_that_the_drafter_cannot_draw_is_no_draft() -> None:
    with pytest.raises(ValueError, match="node 0 is sampled"):
        Draft.chain([0], origin="sampled", laws=[Law.of([0.0, 1.0])])


@pytest.mark.parametrize("name", [*LOSSLESS, "coupled", "walk", "greedy"])
def test_a_vocabulary_of_one(name: str) -> None:
    one = Law.of([1.0])
    origin = "certain" if name == "walk" else "sampled"
    draft = Draft.chain([0, 0], origin=origin, laws=[None if name == "walk" else one] * 2)
    verdict = VERIFIERS[name].verify(draft, target_laws(lambda _: one, (), draft), RoundCoins(1), 0)
    assert (verdict.path, verdict.token, verdict.kind) == ((0, 1), 0, "bonus")
