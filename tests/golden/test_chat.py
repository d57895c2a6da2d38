"""Chat templates render as in transformers, and the real model's tokenizer and chats give its ids.

Made by `make_chat.py`. The templates are in the styles of published models.
"""

import json
from functools import cache
from pathlib import Path

import pytest

from headstart.errors import InputError
from headstart.models.chat import encode_chat, render
from support.real import smollm

FOLDER = Path(__file__).parent


@cache
def golden(name):
    return json.loads((FOLDER / f"{name}.json").read_text())


def test_templates_render_as_in_transformers():
    outcomes = set()
    for case in golden("chat"):
        given = {"bos_token": "<|im_start|>", "eos_token": "<|im_end|>", "variables": case["variables"]}
        outcomes.add(case["text"] is None)
        if case["text"] is None:
            with pytest.raises(InputError, match="Roles must alternate"):
                render(case["template"], case["messages"], **given)
        else:
            assert render(case["template"], case["messages"], **given) == case["text"]
    assert outcomes == {True, False}


@pytest.mark.parametrize("special", [False, True])
def test_the_real_models_tokens(special):
    tokenizer = smollm().tokenizer
    for case in golden("smollm")["texts"]:
        ids = tokenizer.encode(case["text"], special=special)
        assert ids == case["special" if special else "plain"], case
        assert tokenizer.decode(ids) == case["text"]


def test_the_real_models_chats():
    model = smollm()
    for case in golden("smollm")["chats"]:
        assert encode_chat(model.tokenizer, model.chat_template, case["messages"]) == case["ids"]


def test_the_real_model():
    model = smollm()
    assert model.name == "smollm2-135m-instruct"
    assert (model.config.layer_count, model.config.hidden_size, model.config.vocab_size) == (30, 576, 49152)
    assert {tensor.kind for tensor in model.tensors.values()} == {"F32", "Q4_1", "Q8_0"}
    tokenizer = model.tokenizer
    assert tokenizer.eos_ids == {tokenizer.id("<|im_end|>"), tokenizer.id("<|endoftext|>")}
    assert not tokenizer.add_bos
    assert len(tokenizer.special_ids) == 17
