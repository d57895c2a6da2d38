"""One row against many, bit for bit, on models of drawn shape and on every instruction set this machine has.

Plain decoding on one thread is the yardstick. Passes are split at drawn places (pages hold 32 tokens, partial softmaxes
256 positions, bands of a pass 256 rows), run on one or two threads, and end in a tree.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headstart import _native
from headstart.backends.native import NativeModel
from headstart.models.config import Weights
from headstart.protocols import Batch
from support.tiny import tiny_weights

ISAS = _native.available_isas()
EASY = settings(deadline=None, max_examples=12, suppress_health_check=list(HealthCheck))
KINDS = ["F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1"]


@st.composite
def shapes(draw: st.DrawFn) -> dict[str, Any]:
    """Any shape that a file may have; quantised matrices need inputs in whole blocks of 32."""
    kind = draw(st.sampled_from(KINDS))
    unit = 2 if kind in KINDS[:3] else 32
    kv_heads = draw(st.integers(1, 3))
    heads = kv_heads * draw(st.sampled_from([1, 2, 3, 5, 13]))
    size = draw(st.integers(1, 20)) * 2 if unit == 2 else 32
    return {
        "kind": kind,
        "heads": heads,
        "kv_heads": kv_heads,
        "head_size": size,
        "hidden": draw(st.integers(1, 4)) * unit,
        "mlp": draw(st.integers(1, 5)) * unit,
        "layers": draw(st.integers(1, 2)),
        "window": draw(st.sampled_from([None, 1, 5, 40, 270])),
        "qk_norm": draw(st.booleans()),
        "biases": draw(st.booleans()),
        "tied": draw(st.booleans()),
        "seed": draw(st.integers(0, 99)),
    }


def made(shape: dict[str, Any], **options: Any) -> NativeModel:
    return NativeModel(tiny_weights(**shape, context=400), **options)


def plain(model: NativeModel, tokens: list[int], first: int) -> list[bytes]:
    """Bits of the logits after ``tokens[first:]``: all before in one pass, then one row a pass."""
    sequence = model.open()
    if first:
        model.forward(Batch.chain(sequence, tokens[:first], wanted="none"))
        model.keep(sequence, range(first))
    found = []
    for token in tokens[first:]:
        found.append(model.forward(Batch.chain(sequence, [token])).logits(0).tobytes())
        model.keep(sequence, [0])
    model.close(sequence)
    return found


def split(model: NativeModel, tokens: list[int], cuts: list[int]) -> tuple[int, list[bytes]]:
    """A sequence grown in passes that end at ``cuts``, and the bits of every row."""
    sequence, found = model.open(), []
    for start, end in zip([0, *cuts], [*cuts, len(tokens)], strict=True):
        rows = model.forward(Batch.chain(sequence, tokens[start:end], wanted="all"))
        found += [rows.logits(row).tobytes() for row in range(end - start)]
        model.keep(sequence, range(end - start))
    return sequence, found


@pytest.mark.parametrize("isa", ISAS)
@EASY
@given(shape=shapes(), precise=st.booleans(), threads=st.sampled_from([1, 2]), data=st.data())
def test_rows_do_not_depend_on_company(
    isa: str, shape: dict[str, Any], precise: bool, threads: int, data: st.DataObject
) -> None:
    precision = "float32" if precise else "auto"
    model = made(shape, isa=isa, threads=threads, precision=precision)
    length = data.draw(st.integers(2, 60) | st.integers(250, 330))
    tokens = np.random.default_rng(shape["seed"]).integers(0, 300, length + 12).tolist()
    cuts = sorted(data.draw(st.sets(st.integers(1, length - 1), max_size=4)))
    first = max(length - 6, 0)
    expected = plain(made(shape, isa=isa, threads=1, precision=precision), tokens[:length], first)

    sequence, found = split(model, tokens[:length], cuts)
    assert found[first:] == expected
    assert found == split(model, tokens[:length], [])[1]
    check_tree(model, sequence, tokens[:length], tokens[length:], data)


def check_tree(model: NativeModel, sequence: int, text: list[int], nodes: list[int], data: st.DataObject) -> None:
    """Each node of a drawn forest has the bits of its own text, and so has what follows a kept path."""
    parents = [data.draw(st.integers(-1, node - 1)) for node in range(len(nodes))]
    size = len(nodes)
    batch = Batch(
        np.full(size, sequence, np.int32), np.array(nodes, np.int32), np.array(parents, np.int32), np.ones(size, bool)
    )
    rows = model.forward(batch)
    for node in range(size):
        path = path_to(node, parents)
        expected = split(model, text + [nodes[n] for n in path], [])[1][-1]
        assert rows.logits(node).tobytes() == expected
    kept = path_to(size - 1, parents)
    model.keep(sequence, kept)
    text = text + [nodes[n] for n in kept]
    after = model.forward(Batch.chain(sequence, [7])).logits(0).tobytes()
    assert after == split(model, [*text, 7], [])[1][-1]


def path_to(node: int, parents: list[int]) -> list[int]:
    path: list[int] = []
    while node >= 0:
        path.insert(0, node)
        node = parents[node]
    return path


@EASY
@given(shape=shapes(), precise=st.booleans())
def test_every_instruction_set_gives_the_same_bits(shape: dict[str, Any], precise: bool) -> None:
    tokens = np.random.default_rng(shape["seed"]).integers(0, 300, 70).tolist()
    weights = tiny_weights(**shape, context=400)
    texts = {isa: bits_of(weights, isa, precise, tokens) for isa in ISAS}
    assert all(bits == texts["portable"] for bits in texts.values())


def bits_of(weights: Weights, isa: str, precise: bool, tokens: list[int]) -> list[bytes]:
    model = NativeModel(weights, isa=isa, threads=1, precision="float32" if precise else "auto")
    return split(model, tokens, [33])[1]


@pytest.mark.parametrize("kind", ["Q4_K", "Q5_K", "Q6_K"])
def test_super_blocks_give_the_same_bits_everywhere(kind: str) -> None:
    weights = tiny_weights(kind=kind, hidden=256, heads=4, mlp=512, context=400)
    tokens = list(range(40))
    assert len({tuple(bits_of(weights, isa, False, tokens)) for isa in ISAS}) == 1
