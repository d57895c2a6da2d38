"""The reference's own parts, each against its definition."""

from __future__ import annotations

import numpy as np
import pytest

from headstart.backends.reference import (
    ReferenceModel,
    ReferenceRows,
    attend,
    rms_norm,
    rotate,
    round_to_half,
    round_to_int8,
    silu,
)
from headstart.errors import NumericsError
from headstart.models.config import Rope
from headstart.protocols import Batch
from support.tiny import tiny_weights


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(7).standard_normal(shape).astype(np.float32)


def test_int8_steps_are_whole_and_largest_is_kept() -> None:
    x = random(96) * np.repeat(np.float32([1e-6, 1, 1e6]), 32)
    rounded = round_to_int8(x).reshape(3, 32)
    scale = np.abs(x.reshape(3, 32)).max(axis=1, keepdims=True) / np.float32(127)
    steps = rounded / scale
    assert np.allclose(steps, np.rint(steps), atol=1e-4)
    assert np.allclose(np.abs(steps).max(axis=1), 127)
    assert (np.abs(rounded - x.reshape(3, 32)) <= scale * 0.5001).all()


def test_int8_ties_go_to_even_and_small_blocks_to_zero() -> None:
    x = np.zeros(64, np.float32)
    x[:32] = 100  # so that nothing towers
    x[:5] = [127, 0.5, 1.5, -2.5, 2.5]
    x[32:] = 2.0**-101
    assert round_to_int8(x)[:5].tolist() == [127, 0, 2, -2, 2]
    assert not round_to_int8(x)[32:].any()


def test_int8_rounds_twice_where_one_number_towers() -> None:
    x = np.zeros(32, np.float32)
    x[:3] = [127, 1.25, -0.5]
    step = np.float32(0.5) / np.float32(127)
    expected = [127, 1 + np.rint(0.25 / step) * step, -np.rint(0.5 / step) * step]
    np.testing.assert_allclose(round_to_int8(x)[:3], expected, rtol=1e-6)
    assert not round_to_int8(x)[3:].any()


def test_norm_and_gate_follow_their_equations() -> None:
    x, weight = random(5, 16), random(16)
    wide = x.astype(np.float64)
    expected = wide / np.sqrt((wide**2).mean(axis=-1, keepdims=True) + 1e-5) * weight
    assert np.allclose(rms_norm(x, weight, 1e-5), expected, atol=1e-6)
    assert np.allclose(silu(x), wide / (1 + np.exp(-wide)), atol=1e-6)


@pytest.mark.parametrize("interleaved", [True, False])
def test_rotation_turns_each_pair_as_a_complex_number(interleaved: bool) -> None:
    rope = Rope((0.7, 0.01), 1.5, interleaved)
    x = random(3, 6)  # two pairs turned, two numbers left alone
    first, second = (x[:, 0:4:2], x[:, 1:4:2]) if interleaved else (x[:, :2], x[:, 2:4])
    turned = (first + 1j * second) * 1.5 * np.exp(1j * 11 * np.array([0.7, 0.01]))
    got = rotate(x, 11, rope)
    ours = (got[:, 0:4:2], got[:, 1:4:2]) if interleaved else (got[:, :2], got[:, 2:4])
    assert np.allclose(ours[0], turned.real, atol=1e-6)
    assert np.allclose(ours[1], turned.imag, atol=1e-6)
    assert np.array_equal(got[:, 4:], x[:, 4:])


def test_attention_is_a_mean_weighted_by_softmax() -> None:
    query, keys, values = random(4, 8), random(5, 2, 8), random(5, 2, 8)[::-1]
    expected = []
    for head in range(4):
        scores = keys[:, head // 2].astype(np.float64) @ query[head] / np.sqrt(8)
        weights = np.exp(scores) / np.exp(scores).sum()
        expected.append(weights @ values[:, head // 2])
    assert np.allclose(attend(query, keys, values), np.concatenate(expected), atol=1e-6)


@pytest.mark.parametrize("kind", ["F32", "Q8_0"])
def test_auto_rounds_and_says_so(kind: str) -> None:
    laws = []
    for precision in ("auto", "float32"):
        model = ReferenceModel(tiny_weights(kind=kind), precision=precision)
        rows = model.forward(Batch.chain(model.open(), [1, 2, 3]))
        assert model.numerics_id == f"reference-{precision}"
        laws.append(rows.logits(2))
    assert 0 < np.abs(laws[0] - laws[1]).max() < 0.1


def test_half_precision_rounds_to_even_and_stops_at_its_largest() -> None:
    x = np.float32([1 + 2**-11, 1 + 3 * 2**-11, -1e6, 65519, np.nan])
    assert np.array_equal(round_to_half(x), np.float32([1, 1 + 2**-9, -65504, 65504, np.nan]), equal_nan=True)


def test_not_a_number_is_named_by_row() -> None:
    logits = np.array([1, np.nan], np.float32)
    for call in (ReferenceRows({4: logits}, {}).argmax, lambda row: ReferenceRows({4: logits}, {}).top(row, 1)):
        with pytest.raises(NumericsError, match="row 4"):
            call(4)
