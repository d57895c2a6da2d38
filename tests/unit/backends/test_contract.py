"""What every backend promises of sequences, passes and refusals, in one set of tests for all of them."""

from __future__ import annotations

import numpy as np
import pytest

from headstart.backends.reference import ReferenceModel
from headstart.errors import InputError, NumericsError
from headstart.models.config import ModelConfig, Rope, Tensor, Weights
from headstart.protocols import Batch, Model

VOCAB, CONTEXT = 17, 12


def weights(*, seed: int = 0, spoil: bool = False) -> Weights:
    random = np.random.default_rng(seed)
    config = ModelConfig("llama", VOCAB, 8, 12, 2, 2, 1, 4, CONTEXT, 1e-5, Rope((1.0, 0.1)), (None, 4))
    shapes = {"embed": (VOCAB, 8), "final_norm": (8,)}
    for i in range(2):
        shapes |= {f"{i}.q": (8, 8), f"{i}.k": (4, 8), f"{i}.v": (4, 8), f"{i}.o": (8, 8), f"{i}.attn_norm": (8,)}
        shapes |= {f"{i}.gate": (12, 8), f"{i}.up": (12, 8), f"{i}.down": (8, 12), f"{i}.mlp_norm": (8,)}
    tensors = {name: random.standard_normal(shape, np.float32) for name, shape in shapes.items()}
    tensors["embed"][3] = tensors["embed"][5]
    if spoil:
        tensors["1.down"][2, 2] = np.nan
    return Weights(
        config,
        {name: Tensor("F32", a.shape, a.reshape(-1).view(np.uint8)) for name, a in tensors.items()},
        None,
        None,
        "tiny",
    )


@pytest.fixture
def model() -> Model:
    return ReferenceModel(weights())


def logits(model: Model, tokens: list[int]) -> list[bytes]:
    """Bits of the logits after each token, from a fresh sequence in one pass."""
    sequence = model.open()
    rows = model.forward(Batch.chain(sequence, tokens, wanted="all"))
    model.close(sequence)
    return [rows.logits(i).tobytes() for i in range(len(tokens))]


def start(model: Model, tokens: list[int]) -> int:
    sequence = model.open()
    model.forward(Batch.chain(sequence, tokens, wanted="none"))
    model.keep(sequence, range(len(tokens)))
    return sequence


def batch(sequences: list[int], tokens: list[int], parents: list[int], wanted: list[bool] | None = None) -> Batch:
    mask = np.ones(len(tokens), bool) if wanted is None else np.array(wanted)
    return Batch(np.array(sequences, np.int32), np.array(tokens, np.int32), np.array(parents, np.int32), mask)


def test_a_sequence_grows_by_what_is_kept(model: Model) -> None:
    sequence = model.open()
    assert model.length(sequence) == 0
    model.forward(Batch.chain(sequence, [1, 2, 3]))
    assert model.length(sequence) == 0
    model.keep(sequence, [0, 1])
    assert model.length(sequence) == 2


def test_keeping_a_branch_continues_it(model: Model) -> None:
    sequence = start(model, [1, 2])
    model.forward(batch([sequence] * 5, [4, 6, 7, 8, 9], [-1, 0, 0, 2, 1]))
    model.keep(sequence, [0, 2, 3])
    rows = model.forward(Batch.chain(sequence, [10]))
    assert rows.logits(0).tobytes() == logits(model, [1, 2, 4, 7, 8, 10])[-1]


def test_pending_rows_are_dropped_by_the_next_pass(model: Model) -> None:
    sequence = start(model, [1])
    model.forward(Batch.chain(sequence, [2, 3]))
    model.forward(Batch.chain(sequence, [4]))
    with pytest.raises(InputError, match="row 1 is not pending"):
        model.keep(sequence, [0, 1])
    model.keep(sequence, [0])
    assert model.length(sequence) == 2


def test_a_second_keep_has_nothing_left(model: Model) -> None:
    sequence = start(model, [1])
    model.forward(Batch.chain(sequence, [2, 3]))
    model.keep(sequence, [0])
    with pytest.raises(InputError, match="row 1 is not pending"):
        model.keep(sequence, [1])


def test_each_sequence_keeps_its_own_rows(model: Model) -> None:
    one, two = start(model, [1]), start(model, [2])
    model.forward(batch([one, one, two], [3, 4, 5], [-1, 0, -1]))
    model.keep(two, [2])
    model.keep(one, [0, 1])
    assert (model.length(one), model.length(two)) == (3, 2)
    rows = model.forward(batch([two, one], [6, 7], [-1, -1]))
    assert rows.logits(0).tobytes() == logits(model, [2, 5, 6])[-1]
    assert rows.logits(1).tobytes() == logits(model, [1, 3, 4, 7])[-1]


def test_a_fork_and_its_origin_part_ways(model: Model) -> None:
    one = start(model, [1, 2, 3])
    two = model.fork(one, 2)
    model.forward(batch([one, two], [4, 5], [-1, -1]))
    model.keep(one, [0])
    model.keep(two, [1])
    model.close(one)
    assert model.length(two) == 3
    assert model.forward(Batch.chain(two, [6])).logits(0).tobytes() == logits(model, [1, 2, 5, 6])[-1]


def test_a_fork_between_a_pass_and_keep_leaves_the_pass_alone(model: Model) -> None:
    one = start(model, [1, 2])
    model.forward(Batch.chain(one, [3]))
    assert model.length(model.fork(one)) == 2
    model.keep(one, [0])
    assert model.length(one) == 3


def test_taps_are_hidden_states_of_every_row(model: Model) -> None:
    sequence = model.open()
    rows = model.forward(Batch.chain(sequence, [1, 2], wanted="none"), taps=(0, 2))
    embed = weights().tensors["embed"].data.view(np.float32).reshape(VOCAB, -1)
    assert np.array_equal(rows.hidden(0, 1), embed[2])
    assert rows.hidden(2, 0).shape == (8,)
    with pytest.raises(InputError, match="layer 1"):
        rows.hidden(1, 0)


def test_ties_go_to_the_lowest_id(model: Model) -> None:
    rows = model.forward(Batch.chain(model.open(), [1, 2, 4, 6], wanted="all"))
    for row in range(4):
        ids, values = rows.top(row, VOCAB)
        assert ids.tolist() == np.lexsort((np.arange(VOCAB), -rows.logits(row))).tolist()
        assert values.tolist() == rows.logits(row)[ids].tolist()
        assert rows.argmax(row) == ids[0]
        assert ids.tolist().index(5) == ids.tolist().index(3) + 1


def test_logits_are_read_only_and_only_of_wanted_rows(model: Model) -> None:
    rows = model.forward(Batch.chain(model.open(), [1, 2]))
    assert rows.logits(1).shape == (VOCAB,)
    with pytest.raises(ValueError, match="read-only"):
        rows.logits(1)[0] = 0
    with pytest.raises(InputError, match="row 0"):
        rows.logits(0)


def test_an_empty_pass_is_a_pass(model: Model) -> None:
    sequence = start(model, [1])
    model.forward(Batch.chain(sequence, []))
    model.keep(sequence, [])
    assert model.length(sequence) == 1


def test_the_context_can_be_filled_to_the_last_slot(model: Model) -> None:
    sequence = start(model, [1] * (CONTEXT - 1))
    model.forward(Batch.chain(sequence, [2]))
    model.keep(sequence, [0])
    assert model.length(sequence) == CONTEXT
    with pytest.raises(InputError, match="context of 12"):
        model.forward(Batch.chain(sequence, [2]))


def test_branches_fill_the_context_by_depth_not_by_number(model: Model) -> None:
    sequence = start(model, [1] * (CONTEXT - 1))
    rows = model.forward(batch([sequence] * 3, [2, 3, 4], [-1, -1, -1]))
    model.keep(sequence, [2])
    assert model.length(sequence) == CONTEXT
    assert rows.logits(0).shape == (VOCAB,)


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (([0, 0], [1, 2], [-1, 1]), "earlier row"),
        (([0, 0], [1, 2], [-1, -2]), "earlier row"),
        (([0, 1], [1, 2], [-1, 0]), "same sequence"),
        (([0, 1, 0], [1, 2, 3], [-1, -1, 0]), "stand together"),
        (([0], [VOCAB], [-1]), "token id 17"),
        (([0], [-1], [-1]), "token id -1"),
        (([0, 9], [1, 1], [-1, -1]), "no sequence"),
        (([0, 0], [1, 1, 1], [-1, -1]), "same length"),
    ],
)
def test_batches_that_make_no_sense_are_refused(
    model: Model, rows: tuple[list[int], list[int], list[int]], says: str
) -> None:
    handles = {0: start(model, [1]), 1: start(model, [2]), 9: 999_999}
    with pytest.raises(InputError, match=says):
        model.forward(batch([handles[s] for s in rows[0]], rows[1], rows[2]))


def test_rows_that_are_no_path_are_refused(model: Model) -> None:
    sequence = start(model, [1])
    for rows, says in (([1], "no path"), ([0, 2, 1], "no path"), ([0, 0], "no path"), ([3], "not pending")):
        model.forward(batch([sequence] * 3, [2, 3, 4], [-1, 0, 0]))
        with pytest.raises(InputError, match=says):
            model.keep(sequence, rows)


def test_what_is_not_there_is_refused(model: Model) -> None:
    sequence = start(model, [1, 2])
    model.close(sequence)
    for call in (model.length, model.close, model.fork, lambda s: model.keep(s, [])):
        with pytest.raises(InputError, match="no sequence"):
            call(sequence)
    with pytest.raises(InputError, match="cannot fork 3"):
        model.fork(start(model, [1, 2]), 3)
    with pytest.raises(InputError, match="taps"):
        model.forward(Batch.chain(model.open(), [1]), taps=(3,))


@pytest.mark.parametrize("context", [0, -1, CONTEXT + 1])
def test_a_context_the_model_does_not_have_is_refused(context: int) -> None:
    with pytest.raises(InputError, match="allows 1 to 12"):
        ReferenceModel(weights(), context=context)


def test_a_smaller_context_ends_sooner() -> None:
    model = ReferenceModel(weights(), context=3)
    assert model.context == 3
    with pytest.raises(InputError, match="context of 3"):
        model.forward(Batch.chain(model.open(), [1, 2, 3, 4]))


def test_not_a_number_is_named_by_row() -> None:
    model = ReferenceModel(weights(spoil=True))
    rows = model.forward(Batch.chain(model.open(), [1, 2]))
    with pytest.raises(NumericsError, match="row 1"):
        rows.argmax(1)
