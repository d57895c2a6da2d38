"""Common beginnings, and which cache an answer starts from."""

from hypothesis import given
from hypothesis import strategies as st

from headstart.prefixes import STRIDE, common_length

SIZES = st.integers(0, 3 * STRIDE)


@given(SIZES, SIZES, SIZES, st.booleans())
def test_common_length(shared, left, right, as_tuple):
    a, b = [*range(shared), *[-1] * left], [*range(shared), *[-2] * right]
    assert common_length(tuple(a) if as_tuple else a, b) == shared
