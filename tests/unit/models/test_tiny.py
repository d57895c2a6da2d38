"""The tiny models that other tests are built on are what they say."""

import pytest

from headstart.models.kinds import KINDS
from headstart.models.layout import ARCHITECTURES, check_config, check_tensors
from support.tiny import tiny_tokenizer, tiny_weights


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_has_exactly_the_tensors_of_its_architecture(architecture):
    weights = tiny_weights(architecture, tied=False)
    check_config(weights.config, "tiny")
    check_tensors(weights.config, weights.tensors, "tiny")


@pytest.mark.parametrize("kind", KINDS)
def test_matrices_are_of_the_kind_asked_for(kind):
    weights = tiny_weights(kind=kind, hidden=256)
    assert {tensor.kind for tensor in weights.tensors.values() if len(tensor.shape) == 2} == {kind}


def test_seeds_make_different_models():
    first, again, other = (tiny_weights(seed=seed).tensors["0.q"].data.tobytes() for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize("vocab", [259, 280, 300, 320])
def test_tokenizer_round_trips_every_byte_and_knows_its_specials(vocab):
    tokenizer = tiny_tokenizer(vocab)
    text = "".join(map(chr, range(0x250))) + "the thing 你好 👩‍🚀"
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert tokenizer.vocab_size == vocab
    assert tokenizer.encode("<|im_end|>", special=True) == [2]
    assert 2 not in tokenizer.encode("<|im_end|>")
