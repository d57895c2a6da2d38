"""Laws from logits: Hugging Face's meanings written out plainly, edges and ties, and what is refused."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from headstart.errors import DeadEndError, InputError, NumericsError
from headstart.law import Law
from headstart.sampling import Sampling
from headstart.warp import warp


def dense(law: Law) -> NDArray[np.float64]:
    return np.array([law.prob(i) for i in range(law.size)])


def plainly(logits: NDArray[np.float32], temperature: float, top_k: int, top_p: float, min_p: float) -> Any:
    """The same by sorting everything, one filter after the other, with NumPy's own exp."""
    z = logits.astype(np.float64) / temperature
    order = sorted(range(len(z)), key=lambda i: (-z[i], i))
    if top_k:
        order = order[:top_k]
    w = np.exp(z[order] - z[order[0]])
    if top_p < 1:
        p = w / w.sum()
        count = max(1, int(((np.cumsum(p) - p) < top_p).sum()))
        order, w = order[:count], w[:count]
    keep = w >= min_p * w[0]
    out = np.zeros(len(z))
    out[np.array(order)[keep]] = w[keep] / w[keep].sum()
    return out


@pytest.mark.parametrize("temperature", [0.3, 1.0, 1.7])
@pytest.mark.parametrize("top_k", [0, 1, 7, 5000])
@pytest.mark.parametrize("top_p", [1.0, 0.999, 0.8, 0.1, 0.0])
@pytest.mark.parametrize("min_p", [0.0, 0.05, 1.0])
def test_equals_the_plain_way(temperature: float, top_k: int, top_p: float, min_p: float) -> None:
    for seed in range(3):
        logits = np.random.default_rng(seed).normal(0, 3, 700).astype(np.float32)
        settings = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "min_p": min_p}
        law = warp(logits, **settings)  # type: ignore[arg-type]
        np.testing.assert_allclose(
            dense(law), plainly(logits, temperature, top_k, top_p, min_p), rtol=1e-12, atol=1e-15
        )


def test_the_vocabulary_stays_dense_where_nothing_is_cut() -> None:
    assert warp(np.zeros(5, np.float32)).ids is None
    assert warp(np.zeros(5, np.float32), top_k=5).ids is None


def test_ties_keep_the_lowest_ids() -> None:
    tied = np.array([1, 2, 2, 2, 0], np.float32)
    assert warp(tied, temperature=0).ids == [1]
    for settings in ({"top_k": 2}, {"top_p": 0.5}):
        assert warp(tied, **settings).ids.tolist() == [1, 2]  # type: ignore[arg-type, union-attr]


def test_minus_infinity_forbids() -> None:
    logits = np.array([-np.inf, 1, -np.inf, 0], np.float32)
    for settings in ({}, {"top_k": 3}, {"top_p": 0.99}, {"min_p": 0.01}):
        law = warp(logits, **settings)  # type: ignore[arg-type]
        assert [i for i, _ in law.support()] == [1, 3]
        assert law.prob(1) > law.prob(3) > 0


def test_a_vocabulary_of_one() -> None:
    for settings in ({}, {"top_k": 1}, {"top_p": 0.5}, {"min_p": 0.5}, {"temperature": 0}):
        assert warp(np.array([-3], np.float32), **settings).prob(0) == 1.0  # type: ignore[arg-type]


@pytest.mark.parametrize("temperature", [0, 1e-320, 1e-3, 0.5])
def test_small_temperatures_come_near_the_best_token(temperature: float) -> None:
    law = warp(np.array([1, 3, 2, 3], np.float32), temperature=temperature)
    assert law.prob(1) >= 0.43
    assert law.prob(2) < 0.1


@pytest.mark.parametrize(("bad", "text"), [(np.nan, "position 17 hold a NaN"), (np.inf, r"position 17 hold a \+inf")])
def test_what_is_no_number_is_an_error_that_names_the_row(bad: float, text: str) -> None:
    logits = np.zeros(9, np.float32)
    logits[4] = bad
    for sampling in (Sampling(), Sampling(temperature=0), Sampling(top_k=2)):
        with pytest.raises(NumericsError, match=text):
            sampling.law(logits, list(range(17)), 3)


def test_a_row_that_forbids_everything_is_an_error() -> None:
    with pytest.raises(DeadEndError, match="no token may follow"):
        Sampling().law(np.full(4, -np.inf, np.float32), [1, 2], 2)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", -1),
        ("temperature", float("nan")),
        ("temperature", float("inf")),
        ("top_k", -1),
        ("top_k", 1.5),
        ("top_p", 2),
        ("top_p", 0),
        ("top_p", True),
        ("min_p", 1.1),
        ("typical_p", 0),
    ],
)
def test_values_out_of_range_are_refused(name: str, value: float) -> None:
    with pytest.raises(InputError, match=f"{name} is {value!r}; it must be"):
        Sampling(**{name: value})  # type: ignore[arg-type]


def ban_the_last_token(logits: NDArray[np.float32], history: Sequence[int], _prompt: int) -> NDArray[np.float32]:
    out = logits.copy()
    out[history[-1]] = -np.inf
    return out


def test_processors_come_before_everything_and_see_the_history() -> None:
    logits = np.array([3, 2, 1], np.float32)
    sampling = Sampling(temperature=0, processors=(ban_the_last_token,))
    assert sampling.law(logits, [0], 1).ids == [1]
    assert logits.tolist() == [3, 2, 1]
    assert pickle.loads(pickle.dumps(sampling)) == sampling


def test_typical_keeps_the_middle() -> None:
    """Weights .4 .3 .2 .1: entropy 1.28, surprises .92 1.20 1.61 2.30; nearest first: 1, 2, 0, 3."""
    logits = np.log([0.4, 0.3, 0.2, 0.1]).astype(np.float32)
    assert Sampling(typical_p=0.2).law(logits, [], 0).ids.tolist() == [1]  # type: ignore[union-attr]
    assert Sampling(typical_p=0.45).law(logits, [], 0).ids.tolist() == [1, 2]  # type: ignore[union-attr]
    assert Sampling(typical_p=0.6).law(logits, [], 0).ids.tolist() == [0, 1, 2]  # type: ignore[union-attr]


def test_numpys_numbers_are_numbers() -> None:
    assert Sampling(temperature=np.float32(0.5), top_p=np.float64(0.5)).temperature == 0.5
    with pytest.raises(InputError, match="finite"):
        Sampling(temperature=np.float32("nan"))
