"""Native laws and coins against their NumPy twins, bit for bit, on every instruction set of this machine."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from headstart import _native, coins, law, logprobs, warp
from headstart.law import Law

ISAS = _native.available_isas()
GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "coins.json").read_text())


@pytest.fixture
def twins(monkeypatch: pytest.MonkeyPatch) -> None:
    """The NumPy side: what runs where the native module was not built."""
    for module in (coins, law, warp):
        monkeypatch.setattr(module, "native", None)


def number(text: str) -> float:
    value: float = struct.unpack(">d", bytes.fromhex(text))[0]
    return value


def row(kind: str, size: int, seed: int) -> NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    logits: NDArray[Any] = rng.normal(0, 3, size)
    if kind == "flat":
        logits = np.zeros(size)
    elif kind == "tied":
        logits = rng.integers(-3, 3, size)
    elif kind == "far":
        logits = rng.normal(0, 400, size)
    elif kind == "masked":
        logits[rng.random(size) < 0.7] = -np.inf
        logits[rng.integers(size)] = 1.0
    return logits.astype(np.float32)


@pytest.mark.parametrize("kind", ["normal", "flat", "tied", "far", "masked"])
@pytest.mark.parametrize("size", [1, 2, 15, 16, 17, 33, 1000, 49_152])
@pytest.mark.usefixtures("twins")
def test_warp(kind: str, size: int) -> None:
    logits = row(kind, size, size)
    top = float(logits.max())
    for temperature, top_k, top_p, min_p in (
        (1.0, 0, 1.0, 0.0),
        (0.3, 40, 1.0, 0.0),
        (1.5, 0, 0.9, 0.0),
        (1.0, 0, 0.999999, 0.0),
        (1.0, 0, 1 - 1e-12, 0.0),
        (1.0, 0, 0.0, 0.0),
        (2.0, 0, 1.0, 0.05),
        (1.0, 20_000, 0.8, 0.01),
        (0.8, 3, 0.5, 1.0),
        (1e-310, 0, 1.0, 0.0),
    ):
        twin = warp.warp(logits, temperature, top_k, top_p, min_p)
        inverse = min(1 / temperature, 1.7976931348623157e308)
        for isa in ISAS:
            weights, ids = _native.warp(logits, top, inverse, top_k, top_p, min_p, isa)
            assert (ids is None) == (twin.ids is None)
            assert ids is None or ids.tolist() == twin.ids.tolist()  # type: ignore[union-attr]
            assert weights.tobytes() == twin.weights.tobytes()


@given(
    logits=st.lists(st.floats(-30, 30, width=32) | st.just(-np.inf), min_size=1, max_size=70),
    top_k=st.integers(0, 80),
    top_p=st.floats(0, 1),
    min_p=st.floats(0, 1),
    temperature=st.floats(0.01, 10),
)
@settings(max_examples=200)
def test_warp_of_anything(logits: list[float], top_k: int, top_p: float, min_p: float, temperature: float) -> None:
    array = np.array([*logits, 0.0], np.float32)
    same_as_twin(array, temperature, top_k, top_p, min_p)


def same_as_twin(logits: NDArray[np.float32], temperature: float, top_k: int, top_p: float, min_p: float) -> None:
    native = warp.warp(logits, temperature, top_k, top_p, min_p)
    with pytest.MonkeyPatch.context() as patch:
        for module in (coins, law, warp):
            patch.setattr(module, "native", None)
        twin = warp.warp(logits, temperature, top_k, top_p, min_p)
    assert native.weights.tobytes() == twin.weights.tobytes()
    assert (native.ids is None) == (twin.ids is None)
    assert native.ids is None or native.ids.tolist() == twin.ids.tolist()  # type: ignore[union-attr]


@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.integers(4096, 9000),
    spread=st.floats(0, 12),
    outstanding=st.integers(0, 40),
    top_p=st.just(1.0) | st.floats(0, 1),
    min_p=st.just(0.0) | st.floats(0, 1) | st.floats(0, 1e-6),
    temperature=st.floats(0.01, 10) | st.sampled_from([1e-300, 1e-7, 1e7, 1e300]),
)
@settings(max_examples=200)
def test_long_rows(
    seed: int, size: int, spread: float, outstanding: int, top_p: float, min_p: float, temperature: float
) -> None:
    """Of a long row only a part is weighed, where it is seen to suffice."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, spread, size)
    logits[rng.integers(size, size=outstanding)] += rng.uniform(0, 15, outstanding)
    logits[rng.random(size) < rng.choice([0, 0.5, 0.999])] = -np.inf
    logits[rng.integers(size)] = 1.0
    same_as_twin(logits.astype(np.float32), temperature, 0, top_p, min_p)


@pytest.mark.parametrize("kept", [1, 3, 20, 100])
@pytest.mark.parametrize("off", [-1e-7, -1e-15, 0.0, 1e-15, 1e-7])
def test_a_sum_that_meets_top_p_to_the_last_digit(kept: int, off: float) -> None:
    """What float32 cannot tell apart is summed exactly."""
    logits = np.random.default_rng(kept).normal(0, 2.5, 5000).astype(np.float32)
    weights = np.sort(np.exp(logits.astype(np.float64) - logits.max()))[::-1]
    top_p = float(weights[:kept].sum() / weights.sum()) + off
    same_as_twin(logits, 1.0, 0, top_p, 0.0)
    if abs(off) > 1e-12:
        assert len(warp.warp(logits, top_p=top_p).weights) == kept + (off > 0)


@pytest.mark.parametrize("kind", ["normal", "flat", "tied", "masked"])
@pytest.mark.parametrize("size", [1, 17, 511, 513, 49_152])
def test_largest(kind: str, size: int) -> None:
    logits = row(kind, size, size)
    order = np.argsort(-logits, kind="stable")
    for count in (0, 1, 5, 70, size // 32, size, size + 1):
        for isa in ISAS:
            assert _native.largest(logits, count, isa).tolist() == order[:count].tolist()


@pytest.mark.parametrize("size", [1, 2, 16, 17, 255, 256, 257, 1000, 49_152])
@pytest.mark.usefixtures("twins")
def test_race(size: int) -> None:
    rng = np.random.default_rng(size)
    for kind in ("normal", "tied", "far", "masked"):
        dense = warp.warp(row(kind, size, size))
        ids = np.sort(rng.choice(10 * size, size, replace=False))
        for count in (1, 2, 5):
            for key in ((0, 0), (size, 2**32 - 1)):
                expected = coins.race(dense, key, count)
                sparse = coins.race(Law(dense.weights, ids, 10 * size), key, count)
                for isa in ISAS:
                    assert _native.race(dense.weights, None, key, count, isa) == expected
                    assert ids[_native.race(dense.weights, ids, key, count, isa)].tolist() == sparse


@pytest.mark.usefixtures("twins")
def test_a_race_of_noise_that_is_all_alike_goes_to_the_lowest_id() -> None:
    """Weights that underflow every quotient to infinity: a tie of all."""
    weights = np.full(40, 1e-320)
    assert coins.race(Law(weights, None, 40), (1, 1)) == [0]
    for isa in ISAS:
        assert _native.race(weights, None, (1, 1), 1, isa) == [0]


@pytest.mark.parametrize("size", [1, 15, 16, 17, 100, 49_152])
@pytest.mark.usefixtures("twins")
def test_excess_and_total(size: int) -> None:
    rng = np.random.default_rng(size)
    p, q = (Law(w / w.sum(), None, size) for w in (rng.exponential(size=size), rng.exponential(size=size)))
    for scale in (1, 0.37, 0.0):
        twin = law.excess(p, q, scale)
        for isa in ISAS:
            weights, mass = _native.excess(p.weights, q.weights, scale, isa)
            assert weights.tobytes() == twin.weights.tobytes()
            assert mass == twin.mass
    signed = rng.normal(size=size)
    assert {_native.total(signed, isa) for isa in ISAS} == {law.total(signed)}


def test_golden_vectors() -> None:
    assert [_native.words((a, b), (c, d)) for a, b, c, d, *_ in GOLDEN["words"]] == [
        tuple(r[4:]) for r in GOLDEN["words"]
    ]
    assert [_native.log(number(x)) for x, _ in GOLDEN["log"]] == [number(y) for _, y in GOLDEN["log"]]
    assert [_native.pick(np.array([number(w) for w in ws]), number(u)) for ws, u, _ in GOLDEN["picks"]] == [
        at for *_, at in GOLDEN["picks"]
    ]
    for a, b, ws, winner in GOLDEN["races"]:
        for isa in ISAS:
            assert _native.race(np.array([number(w) for w in ws]), None, (a, b), 1, isa) == [winner]


def test_golden_exponentials() -> None:
    """``warp`` of two logits gives exp of their difference, up to normalising; here with the sum put back."""
    for x, _ in GOLDEN["exp"]:
        if -88 < number(x) <= 0:
            logits = np.array([0.0, number(x)], np.float32)
            expected = coins.exp(logits.astype(np.float64))
            for isa in ISAS:
                weights, _ids = _native.warp(logits, 0.0, 1.0, 0, 1.0, 0.0, isa)
                assert weights.tolist() == (expected * (1.0 / (expected[0] + expected[1]))).tolist()


def test_arrays_that_do_not_belong_together_are_refused() -> None:
    with pytest.raises(ValueError, match="same length"):
        _native.race(np.ones(3), np.arange(2), (0, 0), 1)
    with pytest.raises(ValueError, match="same length"):
        _native.excess(np.ones(3), np.ones(2), 1.0)


@pytest.mark.parametrize("kind", ["normal", "flat", "tied", "far", "masked"])
@pytest.mark.parametrize("size", [1, 15, 17, 1000, 49_152])
def test_likeliest(kind: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    logits = row(kind, size, size)
    found = {str(_native.likeliest(logits, 5, isa)) for isa in ISAS}
    norm = _native.likeliest(logits, 1)[0]
    monkeypatch.setattr(logprobs, "native", None)
    assert found == {str(logprobs.likeliest(logits, 5))}
    assert norm == pytest.approx(
        np.logaddexp.reduce(logits.astype(np.float64)), rel=0, abs=1e-7 if size > 4096 else 1e-12
    )
