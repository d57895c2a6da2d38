"""Stored tensors stand for the same float32 values, to the bit, as in the ``gguf`` package."""

import gguf
import numpy as np
import pytest
from gguf.quants import dequantize, quantize

from headstart.errors import InputError
from headstart.models import Tensor
from headstart.models.dequantise import dequantise
from headstart.models.kinds import KINDS, byte_count
from headstart.models.quantise import perturb, quantise, requantise
from support.tiny import tiny_weights

QUANTISABLE = ["F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1"]


def bits(values):
    return values.view(np.uint32)


def arbitrary_blocks(kind, rng, *, rows=40, blocks_per_row=2):
    """Every bit pattern in the quants; scales of any finite size and sign, zeros and subnormals among them."""
    shape = (rows, KINDS[kind].values * blocks_per_row)
    data = rng.integers(0, 256, byte_count(kind, shape), np.uint8)
    if kind == "F32":
        data = rng.standard_normal(shape).astype("<f4").reshape(-1).view(np.uint8)
    if kind in ("F16", "BF16"):
        finite = 0x7BFF if kind == "F16" else 0x7F7F
        data = (rng.integers(0, finite, shape) | rng.integers(0, 2, shape) << 15).astype("<u2").reshape(-1).view("u1")
    blocks = data.reshape(-1, KINDS[kind].size_bytes)
    for at in {"Q6_K": (208,), "F32": (), "F16": (), "BF16": ()}.get(kind, (0, 2)):
        if at == 0 or at == 208 or kind in ("Q4_1", "Q5_1", "Q4_K", "Q5_K"):
            halves = rng.integers(0, 0x7BFF, len(blocks)) | rng.integers(0, 2, len(blocks)) << 15
            blocks[:, at : at + 2] = halves.astype("<u2")[:, None].view(np.uint8)
    return Tensor(kind, shape, data)


@pytest.mark.parametrize("kind", KINDS)
def test_bit_equal_to_the_gguf_package(kind):
    tensor = arbitrary_blocks(kind, np.random.default_rng(7))
    number = gguf.GGMLQuantizationType(KINDS[kind].number)
    expected = dequantize(tensor.data.reshape(tensor.shape[0], -1), number).astype(np.float32)
    found = dequantise(tensor)
    assert found.shape == tensor.shape
    assert np.isfinite(found).any()
    assert np.array_equal(bits(found), bits(expected))


def test_more_blocks_than_are_worked_on_at_once():
    values = np.random.default_rng(5).standard_normal((70_000, 32)).astype(np.float32)
    halves = [dequantise(quantise(part, "Q8_0")) for part in np.split(values, 2)]
    assert np.array_equal(dequantise(quantise(values, "Q8_0")), np.concatenate(halves))


@pytest.mark.parametrize("kind", KINDS)
def test_block_sizes_are_those_of_the_gguf_package(kind):
    number = gguf.GGMLQuantizationType[kind]
    assert (KINDS[kind].values, KINDS[kind].size_bytes) == gguf.GGML_QUANT_SIZES[number]
    assert KINDS[kind].number == number.value


@pytest.mark.parametrize("kind", QUANTISABLE)
def test_quantising_is_bit_equal_to_the_gguf_package(kind):
    values = (np.random.default_rng(3).standard_normal((64, 96)) ** 3).astype(np.float32)
    values[5] = 0
    expected = quantize(values, gguf.GGMLQuantizationType[kind])
    assert np.array_equal(quantise(values, kind).data, np.ascontiguousarray(expected).reshape(-1).view(np.uint8))


def test_quantising_refuses_other_kinds_and_broken_rows():
    with pytest.raises(InputError, match=r"Q6_K.*possible are F32"):
        quantise(np.zeros((2, 256), np.float32), "Q6_K")
    with pytest.raises(InputError, match="48 values"):
        quantise(np.zeros((2, 48), np.float32), "Q4_0")


def test_requantised_and_perturbed_copies_stay_near_the_original():
    weights = tiny_weights()
    original = dequantise(weights.tensors["0.q"])
    for copy, kind, bound in (
        (requantise(weights, "Q4_1"), "Q4_1", 0.1),
        (perturb(weights, noise_rate=0.2, seed=1), "Q8_0", 0.3),
    ):
        changed = copy.tensors["0.q"]
        error = np.std(dequantise(changed) - original) / np.std(original)
        assert changed.kind == kind
        assert 0.01 < error < bound
        assert copy.tensors["final_norm"] is weights.tensors["final_norm"]
