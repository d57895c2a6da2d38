"""Products of any kind, shape and span on any instruction set equal the NumPy twin, bit for bit."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart import _native
from support.blocks import FLOAT_KINDS, K_KINDS, KINDS, random_activations, random_raw
from support.products import product


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, str, int, int, int, int, int, int]:
    kind = draw(st.sampled_from(KINDS))
    unit = 1 if kind in FLOAT_KINDS else 256 if kind in K_KINDS else 32
    outputs, inputs = draw(st.integers(1, 70)), unit * draw(st.integers(1, 5))
    begin = 16 * draw(st.integers(0, (outputs - 1) // 16))
    end = draw(st.integers(begin, outputs))
    return (
        kind,
        draw(st.sampled_from(_native.available_isas())),
        outputs,
        inputs,
        draw(st.integers(0, 20)),
        begin,
        end,
        draw(st.integers(0, 99)),
    )


@settings(max_examples=150, deadline=None)
@given(cases())
def test_any_product_equals_the_twin(case: tuple[str, str, int, int, int, int, int, int]) -> None:
    kind, isa, outputs, inputs, rows, begin, end, seed = case
    raw = random_raw(kind, outputs, inputs, seed)
    x = random_activations(rows, inputs, seed)
    x *= np.float32(10) ** np.random.default_rng(seed + 1).integers(-12, 6)
    got = _native.Matrix(kind, outputs, inputs, raw, isa).multiply(x, begin, end)
    assert got.tobytes() == product(kind, raw, outputs, inputs, x)[:, begin:end].tobytes()
