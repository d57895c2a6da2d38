"""Laws on few ids and on all: looked up on each other's ids, with tokens taken away, and what one has above another."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.law import LANES, Law, excess, total


@st.composite
def some_law(draw: st.DrawFn) -> Law:
    size = draw(st.integers(1, 8))
    ids = draw(st.none() | st.lists(st.integers(0, size - 1), unique=True, min_size=1).map(sorted))
    parts = draw(st.lists(st.integers(0, 5), min_size=size, max_size=size))[: size if ids is None else len(ids)]
    parts[0] += 1
    weights = np.array([Fraction(part, sum(parts)) for part in parts], dtype=object)
    return Law(weights, None if ids is None else np.array(ids, np.int64), size)


@given(p=some_law(), q=some_law())
def test_on_another_laws_ids(p: Law, q: Law) -> None:
    ids = range(len(p.weights)) if p.ids is None else p.ids.tolist()
    assert q.on(p).tolist() == [q.prob(i) for i in ids]


@given(p=some_law(), q=some_law(), scale=st.fractions(0, 1))
def test_excess_token_by_token(p: Law, q: Law, scale: Fraction) -> None:
    left = excess(p, q, scale)
    assert left.mass == sum(max(scale * w - q.prob(i), 0) for i, w in p.support())
    assert sum(left.law().weights) == 1
    assert left.mass > 0 or left.law() is p


@given(p=some_law(), q=some_law())
def test_floats_follow_fractions(p: Law, q: Law) -> None:
    a, b = (Law(law.weights.astype(np.float64), law.ids, law.size) for law in (p, q))
    np.testing.assert_allclose(excess(a, b).weights, excess(p, q).weights.astype(np.float64), atol=1e-15)


@given(law=some_law())
def test_without(law: Law) -> None:
    for token, weight in law.support():
        rest = law.without(token)
        if weight == 1:
            assert rest is None
        else:
            assert rest is not None
            assert rest.prob(token) == 0
            assert all(rest.prob(i) == w / (1 - weight) for i, w in law.support() if i != token)


@pytest.mark.parametrize("count", [0, 1, LANES, LANES + 1, 5 * LANES - 1])
def test_the_order_of_a_sum(count: int) -> None:
    values = np.random.default_rng(count).exponential(size=count) * 10.0 ** np.arange(count)
    lanes = [0.0] * LANES
    for i, value in enumerate(values.tolist()):
        lanes[i % LANES] += value
    expected = 0.0
    for lane in lanes:
        expected += lane
    assert total(values) == expected


def test_ids_that_no_law_has_have_probability_0() -> None:
    for law in (Law.of([0.5, 0.5]), Law.certain(1, 4)):
        assert law.prob(-1) == law.prob(4) == law.prob(99) == 0
