"""Token ids equal those of transformers and sentencepiece on awkward texts, from either kind of file.

The expected ids were made by `make_tokenizers.py`. Random texts are compared between the two kinds of file as well.
"""

import json
import unicodedata
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.models.tokenizer_json import hf_tokenizer
from headstart.models.vocabulary import gguf_tokenizer

FOLDER = Path(__file__).parent / "tokenizers"
BYTE_LEVEL = ["gpt-2", "smollm", "llama-bpe", "qwen2"]
CONTROL, USER_DEFINED = 3, 4


@cache
def golden(name):
    return json.loads((FOLDER / f"{name}.json").read_text())


def gguf_metadata(name):
    """What converting the golden ``tokenizer.json`` to GGUF stores."""
    tokenizer = golden(name)["tokenizer"]
    tokens = sorted(tokenizer["model"]["vocab"], key=tokenizer["model"]["vocab"].__getitem__)
    kinds = [1] * len(tokens)
    for added in tokenizer["added_tokens"]:
        if added["id"] == len(tokens):
            tokens.append(added["content"])
            kinds.append(1)
        kinds[added["id"]] = CONTROL if added["special"] else USER_DEFINED
    merges = [" ".join(merge) for merge in tokenizer["model"]["merges"]]
    found = {"model": "gpt2", "pre": name, "tokens": tokens, "token_type": np.array(kinds), "merges": merges}
    return {f"tokenizer.ggml.{key}": value for key, value in found.items()}


def spm_metadata(**more):
    pieces = golden("llama-spm")["pieces"]
    found = {
        "model": "llama",
        "tokens": [piece["piece"] for piece in pieces],
        "scores": np.array([piece["score"] for piece in pieces], np.float32),
        "token_type": np.array([piece["type"] for piece in pieces]),
        "unknown_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 2,
    }
    return {f"tokenizer.ggml.{key}": value for key, value in (found | more).items()}


@cache
def from_gguf(name):
    metadata = spm_metadata() if name == "llama-spm" else gguf_metadata(name)
    return gguf_tokenizer(metadata, vocab_size=len(metadata["tokenizer.ggml.tokens"]), source=name)


@pytest.fixture(scope="module")
def from_json(tmp_path_factory):
    @cache
    def make(name):
        folder = tmp_path_factory.mktemp(name)
        (folder / "tokenizer.json").write_text(json.dumps(golden(name)["tokenizer"]))
        return hf_tokenizer(folder, vocab_size=2000)

    return make


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("name", BYTE_LEVEL)
def test_gguf_vocabularies_give_the_ids_of_transformers(name, special):
    for case in golden(name)["cases"]:
        assert from_gguf(name).encode(case["text"], special=special) == case["special" if special else "plain"], case


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("name", [*BYTE_LEVEL, "llama-spm"])
def test_tokenizer_json_gives_the_ids_of_transformers(from_json, name, special):
    for case in golden(name)["cases"]:
        assert from_json(name).encode(case["text"], special=special) == case["special" if special else "plain"], case


def test_sentencepiece_vocabularies_give_the_ids_of_sentencepiece():
    cases = [case for case in golden("llama-spm")["sentencepiece"] if "<tool" not in case["text"]]
    assert len(cases) > 150
    for case in cases:
        assert from_gguf("llama-spm").encode(case["text"]) == case["plain"], case


def test_sentencepiece_puts_a_space_before_each_text_between_added_tokens():
    """As llama.cpp does; sentencepiece itself does so once, and transformers' newer form only where text comes first."""
    tokenizer = from_gguf("llama-spm")
    tool = tokenizer.id("<tool>")
    assert tokenizer.encode("a<tool>b") == [*tokenizer.encode("a"), tool, *tokenizer.encode("b")]
    assert tokenizer.encode("<tool>") == [tool]
    assert tokenizer.encode("<s>a", special=True) == [1, *tokenizer.encode("a")]


def test_sentencepiece_without_space_prefix():
    metadata = spm_metadata(add_space_prefix=False)
    tokenizer = gguf_tokenizer(metadata, vocab_size=1000, source="spm")
    assert tokenizer.decode(tokenizer.encode("the model")) == "the model"
    assert tokenizer.encode(" the model") == from_gguf("llama-spm").encode("the model")


@pytest.mark.parametrize("name", BYTE_LEVEL)
def test_the_families_differ_so_the_cases_tell_them_apart(name):
    metadata = gguf_metadata(name)
    for other in BYTE_LEVEL:
        metadata["tokenizer.ggml.pre"] = other
        tokenizer = gguf_tokenizer(metadata, vocab_size=1000, source=other)
        equal = all(tokenizer.encode(case["text"]) == case["plain"] for case in golden(name)["cases"])
        assert equal == (other == name)


@pytest.mark.parametrize("name", BYTE_LEVEL)
def test_decoding_gives_the_text_back(from_json, name):
    for case in golden(name)["cases"]:
        text = unicodedata.normalize("NFC", case["text"]) if name == "qwen2" else case["text"]
        for tokenizer in (from_gguf(name), from_json(name)):
            assert tokenizer.decode(tokenizer.encode(case["text"])) == text


def test_decoding_sentencepiece_gives_the_text_back_behind_its_space(from_json):
    """transformers puts no space before a text that has one."""
    for tokenizer in (from_gguf("llama-spm"), from_json("llama-spm")):
        for case in golden("llama-spm")["cases"]:
            text = case["text"]
            if text and "\u2581" not in text and "<tool" not in text:
                decoded = tokenizer.decode(tokenizer.encode(text))
                assert decoded.startswith(" ")
                assert decoded.removeprefix(" ") in (text, text.removeprefix(" "))


@pytest.mark.parametrize("name", [*BYTE_LEVEL, "llama-spm"])
def test_both_kinds_of_file_know_the_same_tokens(from_json, name):
    first, second = from_gguf(name), from_json(name)
    assert first.fingerprint == second.fingerprint
    assert first.special_tokens.items() >= second.special_tokens.items()
    assert first.fingerprint != from_gguf("qwen2" if name == "gpt-2" else "gpt-2").fingerprint


letters = st.text(
    alphabet=st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("aeT '\n\t .<|>19é你\u0301"))
)


@pytest.mark.parametrize("name", BYTE_LEVEL)
@settings(max_examples=300, deadline=None)
@given(text=letters, special=st.booleans())
def test_both_kinds_of_file_agree_on_random_texts(from_json, name, text, special):
    assert from_gguf(name).encode(text, special=special) == from_json(name).encode(text, special=special)
