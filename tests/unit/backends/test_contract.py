"""What every backend promises of sequences, passes and refusals, in one set of tests for all of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from headstart.backends import load_backend
from headstart.errors import InputError
from headstart.models.config import Weights
from headstart.protocols import Batch, Model
from support.tiny import tiny_weights

VOCAB, CONTEXT = 300, 12
BACKENDS = ["reference", "native"]


def weights() -> Weights:
    """Two layers, one of them windowed; ids 3 and 5 are the same word."""
    made = tiny_weights(window=(None, 4), context=CONTEXT)
    embed = made.tensors["embed"]
    data = embed.data.copy().reshape(VOCAB, -1)
    data[5] = data[3]
    return replace(made, tensors={**made.tensors, "embed": replace(embed, data=data.reshape(-1))})


@pytest.fixture(params=BACKENDS)
def model(request: pytest.FixtureRequest) -> Model:
    return load_backend(weights(), backend=request.param, threads=1)


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


def test_a_pass_leaves_the_pending_rows_of_other_sequences(model: Model) -> None:
    one, two = start(model, [1]), start(model, [2])
    model.forward(batch([two, one, one], [5, 3, 4], [-1, -1, 1]))
    model.forward(Batch.chain(two, [6, 7]))
    model.keep(one, [1, 2])
    model.keep(two, [0])
    rows = model.forward(batch([one, two], [8, 9], [-1, -1]))
    assert rows.logits(0).tobytes() == logits(model, [1, 3, 4, 8])[-1]
    assert rows.logits(1).tobytes() == logits(model, [2, 6, 9])[-1]


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
    assert rows.hidden(2, 0).shape == (64,)
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
        (([0], [VOCAB], [-1]), "token id 300"),
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


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("context", [0, -1, CONTEXT + 1])
def test_a_context_the_model_does_not_have_is_refused(backend: str, context: int) -> None:
    with pytest.raises(InputError, match="allows 1 to 12"):
        load_backend(weights(), backend=backend, context=context)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_smaller_context_ends_sooner(backend: str) -> None:
    model = load_backend(weights(), backend=backend, context=3)
    assert model.context == 3
    with pytest.raises(InputError, match="context of 3"):
        model.forward(Batch.chain(model.open(), [1, 2, 3, 4]))


@pytest.mark.parametrize("backend", BACKENDS)
def test_no_threads_at_all_are_refused(backend: str) -> None:
    with pytest.raises(InputError, match="threads is 0"):
        load_backend(weights(), backend=backend, threads=0)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("option", ["threads", "context"])
def test_threads_and_context_are_whole_numbers(backend: str, option: str) -> None:
    for value in (1.5, "3", True):
        with pytest.raises(InputError, match=f"{option} is {value!r}"):
            load_backend(weights(), backend=backend, **{option: value})  # type: ignore[arg-type]


def test_an_unknown_backend_or_precision_is_refused_by_name() -> None:
    with pytest.raises(InputError, match="backend is 'gpu'; choose one of native, reference"):
        load_backend(weights(), backend="gpu")
    with pytest.raises(InputError, match="precision is 'int3'; choose one of auto, float32"):
        load_backend(weights(), precision="int3")  # type: ignore[arg-type]
