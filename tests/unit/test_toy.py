"""Toy worlds: exact laws, and a table model that behaves as the Model seam says."""

from fractions import Fraction

import numpy as np
import pytest

from headstart.errors import InputError, NumericsError
from headstart.law import Law
from headstart.protocols import Batch
from headstart.toy import WORLDS, TableModel, WordTokenizer, always, in_floats, joint, random_world


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_every_law_of_a_world_is_exact_and_sums_to_one(world):
    for rule in (world.target, world.draft):
        assert sum(joint(rule, 3).values()) == Fraction(1)
        assert rule(()).size == len(world.words)


def test_joint_of_the_markov_world_by_hand():
    law = joint(WORLDS["markov"].target, 2)
    assert law == {
        (0, 0): Fraction(7, 20),
        (0, 1): Fraction(3, 20),
        (1, 0): Fraction(1, 5),
        (1, 1): Fraction(3, 10),
    }


def test_random_worlds_hold_every_awkward_pair_of_laws():
    seen = set()
    for seed in range(30):
        world = random_world(3, seed=seed)
        p, q = (in_floats(rule((0,))).weights for rule in (world.target, world.draft))
        q = np.bincount(world.draft((0,)).ids, q, 3) if len(q) < 3 else q
        seen |= {"zero"} if (p == 0).any() else set()
        seen |= {"equal"} if (p == q).all() else set()
        seen |= {"certain target"} if (p == 1).any() else set()
        seen |= {"certain draft"} if (q == 1).any() else set()
        seen |= {"disjoint"} if (p * q == 0).all() else set()
    assert seen == {"zero", "equal", "certain target", "certain draft", "disjoint"}


def test_a_tree_of_two_sequences_in_one_pass():
    model = TableModel(WORLDS["markov"].target, 2)
    one, other = model.open(), model.open()
    model.forward(Batch.chain(one, [0, 0]))
    model.keep(one, [0, 1])
    batch = Batch(
        np.array([one, one, one, other], np.int32),
        np.array([1, 0, 1, 0], np.int32),
        np.array([-1, 0, 0, -1], np.int32),
        np.array([True, True, True, True]),
    )
    rows = model.forward(batch)
    assert [rows.argmax(row) for row in range(4)] == [1, 0, 1, 0]
    model.keep(one, [0, 2])
    model.keep(other, [3])
    assert (model.length(one), model.length(other)) == (4, 1)
    copy = model.fork(one, 3)
    assert model.length(copy) == 3
    model.close(one)
    assert model.forward(Batch.chain(copy, [1])).argmax(0) == 1


def test_logits_are_logarithms_and_zero_is_minus_infinity():
    model = TableModel(always([1, 0, 3]), 3)
    rows = model.forward(Batch.chain(model.open(), [2]))
    assert rows.logits(0).dtype == np.float32
    assert rows.logits(0)[1] == -np.inf
    ids, logits = rows.top(0, 2)
    assert ids.tolist() == [2, 0]
    assert logits.tolist() == [np.float32(np.log(0.75)), np.float32(np.log(0.25))]
    assert rows.argmax(0) == 2


def test_ties_go_to_the_lowest_id():
    model = TableModel(always([1, 2, 2]), 3)
    rows = model.forward(Batch.chain(model.open(), [0]))
    assert rows.argmax(0) == 1
    assert rows.top(0, 2)[0].tolist() == [1, 2]


def test_rows_of_an_earlier_pass_or_not_wanted_raise():
    model = WORLDS["two-word"].model()
    sequence = model.open()
    rows = model.forward(Batch.chain(sequence, [0, 1]))
    with pytest.raises(InputError, match="not wanted"):
        rows.logits(0)
    model.keep(sequence, [0])
    model.forward(Batch.chain(sequence, [1]))
    with pytest.raises(InputError, match="earlier pass"):
        rows.logits(1)


@pytest.mark.parametrize("rows", [[1], [0, 2], [0, 0], [2, 1]])
def test_only_a_path_from_the_kept_text_is_kept(rows):
    model = WORLDS["two-word"].model()
    sequence = model.open()
    model.forward(Batch.chain(sequence, [0, 1, 0]))
    with pytest.raises(InputError, match="does not follow"):
        model.keep(sequence, rows)
    assert model.length(sequence) == 0


def test_a_second_keep_of_one_pass_raises():
    model = WORLDS["two-word"].model()
    sequence = model.open()
    model.forward(Batch.chain(sequence, [0, 1]))
    model.keep(sequence, [0])
    with pytest.raises(InputError, match="does not follow"):
        model.keep(sequence, [0])


def test_bad_rows_are_refused_by_name():
    model = TableModel(always([1, 1]), 2, context=2)
    sequence = model.open()
    with pytest.raises(InputError, match=r"row 2 .* 2 positions"):
        model.forward(Batch.chain(sequence, [0, 0, 0]))
    with pytest.raises(InputError, match="token 2"):
        model.forward(Batch.chain(sequence, [2]))
    with pytest.raises(InputError, match="no layers"):
        model.forward(Batch.chain(sequence, [0]), taps=[1])
    with pytest.raises(InputError, match="no layers"):
        model.forward(Batch.chain(sequence, [0])).hidden(0, 0)


def test_a_broken_table_names_the_row():
    model = TableModel(lambda _context: Law.of([0.5, float("nan")]), 2)
    rows = model.forward(Batch.chain(model.open(), [0, 1]))
    with pytest.raises(NumericsError, match="row 1"):
        rows.argmax(1)


def test_the_word_tokenizer_round_trips_and_refuses_unknown_words():
    tokenizer = WordTokenizer(["<s>", "</s>", "love", "hate"])
    ids = tokenizer.encode("love hate </s>", special=True)
    assert tokenizer.decode(ids) == " love hate</s>"
    assert tokenizer.decode(ids, skip_special=True) == " love hate"
    assert (tokenizer.eos_ids, tokenizer.special_ids, tokenizer.special_tokens["<s>"]) == ({1}, {0, 1}, 0)
    assert (tokenizer.id("hate"), tokenizer.id("war")) == (3, None)
    with pytest.raises(InputError, match="no word 'war'"):
        tokenizer.encode("love war")
    with pytest.raises(InputError, match="no word '</s>'"):
        tokenizer.encode("love </s>")
    with pytest.raises(InputError, match="token id 4"):
        tokenizer.token_bytes(4)
