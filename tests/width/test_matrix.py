"""A row of a product has the same bits in any company, at any place, over any span of outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from headstart import _native
from support.blocks import KINDS, random_activations, random_raw

OUTPUTS, MOST = 112, 40
ISAS = _native.available_isas()


def matrix(kind: str, isa: str, inputs: int) -> Any:
    return _native.Matrix(kind, OUTPUTS, inputs, random_raw(kind, OUTPUTS, inputs, 7), isa)


def activations(inputs: int) -> NDArray[np.float32]:
    return random_activations(MOST, inputs, 8)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("kind", KINDS)
def test_any_number_of_rows_from_any_row_on(kind: str, isa: str) -> None:
    inputs = 256
    m, x = matrix(kind, isa, inputs), activations(inputs)
    alone = np.concatenate([m.multiply(x[r : r + 1], 0, OUTPUTS) for r in range(MOST)])
    for rows in range(1, MOST + 1):
        for first in range(0, MOST - rows + 1, 1 + rows // 4):
            got = m.multiply(x[first : first + rows], 0, OUTPUTS)
            assert got.tobytes() == alone[first : first + rows].tobytes(), (rows, first)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("kind", KINDS)
def test_any_span_of_outputs(kind: str, isa: str) -> None:
    m, x = matrix(kind, isa, 256), activations(256)[:9]
    whole = m.multiply(x, 0, OUTPUTS)
    for begin in range(0, OUTPUTS, m.group):
        for end in range(begin, OUTPUTS + 1, 5):
            assert m.multiply(x, begin, end).tobytes() == whole[:, begin:end].tobytes(), (begin, end)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("kind", KINDS)
def test_any_order_of_rows(kind: str, isa: str) -> None:
    m, x = matrix(kind, isa, 256), activations(256)
    order = np.random.default_rng(9).permutation(MOST)
    assert m.multiply(x[order], 0, OUTPUTS).tobytes() == m.multiply(x, 0, OUTPUTS)[order].tobytes()


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("kind", ["Q4_1", "F16"])
def test_a_prompt_in_bands(kind: str, isa: str) -> None:
    """So many wide rows that the product goes through them in several bands."""
    inputs = 4096
    m = matrix(kind, isa, inputs)
    x = random_activations(150, inputs, 10)
    whole = m.multiply(x, 0, 32)
    for row in range(0, 150, 7):
        assert m.multiply(x[row : row + 1], 0, 32).tobytes() == whole[row : row + 1].tobytes(), row


def test_every_instruction_set_gives_the_same_bits() -> None:
    for kind in KINDS:
        results = [matrix(kind, isa, 512).multiply(activations(512), 0, OUTPUTS).tobytes() for isa in ISAS]
        assert len(set(results)) == 1, kind
