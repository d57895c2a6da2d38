"""The packed weight matrices against a NumPy twin, bit for bit, on every instruction set of this machine.

It does not know: models. Width (company, position, tiles) is tested in ``tests/width/test_matrix.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
from numpy.typing import NDArray

from headstart import _native
from support.blocks import FLOAT_KINDS, HALVES, K_KINDS, KINDS, SMALL_KINDS, random_activations, random_raw
from support.products import product, steps, values

Array = NDArray[Any]

ISAS = _native.available_isas()


def native(kind: str, raw: Array, outputs: int, inputs: int, isa: str) -> Any:
    return _native.Matrix(kind, outputs, inputs, raw, isa)


SHAPES = [(16, 256), (37, 512), (1, 256), (80, 768)]


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("kind", KINDS)
def test_product_equals_twin(kind: str, isa: str) -> None:
    for seed, (outputs, inputs) in enumerate(SHAPES):
        raw = random_raw(kind, outputs, inputs, seed)
        x = random_activations(5, inputs, seed)
        got = native(kind, raw, outputs, inputs, isa).multiply(x, 0, outputs)
        np.testing.assert_array_equal(got.view(np.int32), product(kind, raw, outputs, inputs, x).view(np.int32))


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("kind", SMALL_KINDS)
def test_odd_number_of_blocks(kind: str, isa: str) -> None:
    for inputs in (32, 96):
        raw = random_raw(kind, 20, inputs)
        x = random_activations(3, inputs, 1)
        got = native(kind, raw, 20, inputs, isa).multiply(x, 0, 20)
        np.testing.assert_array_equal(got, product(kind, raw, 20, inputs, x))


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("kind", FLOAT_KINDS)
@pytest.mark.parametrize("inputs", [1, 2, 3, 7, 33])
def test_float_kinds_take_any_number_of_inputs(kind: str, isa: str, inputs: int) -> None:
    raw = random_raw(kind, 19, inputs)
    x = np.random.default_rng(1).standard_normal((3, inputs)).astype(np.float32)
    got = native(kind, raw, 19, inputs, isa).multiply(x, 0, 19)
    np.testing.assert_array_equal(got, product(kind, raw, 19, inputs, x))


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("kind", SMALL_KINDS + K_KINDS)
def test_near_the_exact_product(kind: str, isa: str) -> None:
    """The error of int8 activations: half a step of each block's scale, times the weights' magnitude."""
    raw = random_raw(kind, 48, 512)
    weights = values(kind, raw, 48, 512).astype(np.float64)
    x = np.random.default_rng(2).standard_normal((4, 512)).astype(np.float32)
    step = np.repeat(np.abs(x.reshape(4, -1, 32)).max(axis=2) / 127, 32, axis=1)
    bound = step.astype(np.float64) / 2 @ np.abs(weights).T * 1.001
    assert (np.abs(native(kind, raw, 48, 512, isa).multiply(x, 0, 48) - x @ weights.T) <= bound).all()


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("kind", SMALL_KINDS + K_KINDS)
def test_a_towering_number_leaves_the_others_their_steps(kind: str, isa: str) -> None:
    """Where one number is far above the rest, the error is of the order of the rest's steps, not of its own."""
    raw = random_raw(kind, 48, 512)
    weights = np.abs(values(kind, raw, 48, 512).astype(np.float64))
    x = np.random.default_rng(2).standard_normal((4, 512)).astype(np.float32)
    x[:, 5::32] = 1000
    exact = x.astype(np.float64) @ values(kind, raw, 48, 512).astype(np.float64).T
    error = np.abs(native(kind, raw, 48, 512, isa).multiply(x, 0, 48) - exact)
    left = np.float64(1000 / 127 / 2)  # after the first step, of every number
    rounding = 64 * 2.0**-24 * (np.abs(x.astype(np.float64)) @ weights.T)  # of the sums, in float32
    assert (error <= left / 127 / 2 * 1.001 * weights.sum(axis=1) + rounding).all()


@pytest.mark.parametrize("isa", ISAS)
def test_which_blocks_take_a_second_step(isa: str) -> None:
    """Those whose mean square is below a twentieth of the largest number's: native and twin agree where that turns."""
    raw = random_raw("Q4_1", 16, 32)
    x = np.zeros((40, 32), np.float32)
    x[:, 0], x[:, 1:15] = 127, np.arange(40)[:, None]
    has = list(steps(x))[1][2][:, 0]
    assert has.tolist() == [others < 27 for others in range(40)]
    x[:, 20] = 0.3  # what a second step alone can tell from zero
    got = native("Q4_1", raw, 16, 32, isa).multiply(x, 0, 16)
    np.testing.assert_array_equal(got, product("Q4_1", raw, 16, 32, x))
    x[:, 20] = 0
    assert ((got != native("Q4_1", raw, 16, 32, isa).multiply(x, 0, 16)).any(axis=1) == has).all()


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("kind", SMALL_KINDS + K_KINDS)
def test_largest_codes_do_not_overflow(kind: str, isa: str) -> None:
    raw = random_raw(kind, 16, 512)
    size, width = GGML_QUANT_SIZES[GGMLQuantizationType[kind]]
    extremes = raw.reshape(-1, width)
    for fill in (0x00, 0x7F, 0x80, 0xFF):
        kept = extremes.copy()
        start = max(HALVES[kind]) + 2 if kind != "Q6_K" else 0
        kept[:, start : start + size // 2 if kind != "Q6_K" else 208] = fill
        for sign in (1, -1):
            x = np.full((1, 512), sign, np.float32)
            got = native(kind, kept.ravel(), 16, 512, isa).multiply(x, 0, 16)
            np.testing.assert_array_equal(got, product(kind, kept.ravel(), 16, 512, x))


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_the_files_values(kind: str) -> None:
    for outputs, inputs in SHAPES:
        raw = random_raw(kind, outputs, inputs)
        matrix = native(kind, raw, outputs, inputs, "portable")
        got = np.stack([matrix.row(o) for o in range(outputs)])
        np.testing.assert_array_equal(got.view(np.int32), values(kind, raw, outputs, inputs).view(np.int32))


@pytest.mark.parametrize("kind", KINDS)
def test_memory_is_near_the_files(kind: str) -> None:
    raw = random_raw(kind, 64, 1024)
    assert native(kind, raw, 64, 1024, "portable").bytes <= 1.04 * raw.size


def test_timings_are_one_figure_a_round() -> None:
    matrix = native("Q4_1", random_raw("Q4_1", 64, 64), 64, 64, "portable")
    for seconds in (_native.time_reading(1 << 20, 2, 3), _native.time_products([[matrix, matrix], [matrix]], 3, 2, 3)):
        assert len(seconds) == 3
        assert all(0 < s < 60 for s in seconds)
    with pytest.raises(ValueError, match="at least 1"):
        _native.time_products([[matrix]], 0, 1, 1)
    with pytest.raises(ValueError, match="at least 1"):
        _native.time_reading(1 << 20, 0, 1)


def test_spans_and_rows_that_are_not_there_are_refused() -> None:
    matrix = native("F32", random_raw("F32", 20, 8), 20, 8, "portable")
    x = np.zeros((1, 8), np.float32)
    for begin, end in ((-16, 20), (8, 20), (16, 0), (0, 21)):
        with pytest.raises(ValueError, match="multiple of `group`"):
            matrix.multiply(x, begin, end)
    with pytest.raises(ValueError, match="`inputs` columns"):
        matrix.multiply(np.zeros((1, 9), np.float32), 0, 20)
    with pytest.raises(IndexError, match="no such output"):
        matrix.row(20)
