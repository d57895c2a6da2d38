"""The tokenizer's own promises, and what a Hugging Face folder says beside `tokenizer.json`."""

import json
import threading

import numpy as np
import pytest
from tokenizers import AddedToken, decoders, pre_tokenizers
from tokenizers import Tokenizer as Backend
from tokenizers import models as token_models

from headstart import models
from headstart.errors import CorruptModelError, InputError, UnsupportedModelError
from headstart.models.chat import encode_chat
from headstart.models.tokenizer_json import hf_chat_template, hf_tokenizer
from headstart.models.vocabulary import gguf_tokenizer
from support.files import write_hf
from support.tiny import CHAT_TEMPLATE, tiny_tokenizer, tiny_vocabulary, tiny_weights

TOKENIZER = tiny_tokenizer(300)


def test_bytes_of_every_token_join_to_the_text():
    text = "the 你好 👩‍🚀<|im_end|>\x00\xff"
    ids = TOKENIZER.encode(text, special=True)
    assert b"".join(map(TOKENIZER.token_bytes, ids)) == text.encode()
    assert {TOKENIZER.token_bytes(token) for token in range(3, 259)} == {bytes([byte]) for byte in range(256)}


def test_decoding_shows_malformed_bytes_and_may_hide_special_tokens():
    ids = TOKENIZER.encode("é<|im_end|>你", special=True)
    assert TOKENIZER.decode(ids[1:]) == "\ufffd<|im_end|>你"
    assert TOKENIZER.decode(ids, skip_special=True) == "é你"
    assert TOKENIZER.decode(ids[:-1], skip_special=True) == "é\ufffd"
    assert TOKENIZER.decode([]) == ""


@pytest.mark.parametrize("token", [-1, 300])
def test_ids_outside_the_vocabulary_are_refused(token):
    with pytest.raises(InputError, match=f"Token id {token} is not allowed: ids run from 0 to 299"):
        TOKENIZER.decode([token])


def test_text_that_is_not_unicode_is_refused():
    with pytest.raises(InputError, match="lone surrogate at character 2"):
        TOKENIZER.encode("ab\udc80")


def test_ids_without_a_token_are_empty():
    metadata = tiny_vocabulary(300)
    metadata["tokenizer.ggml.token_type"] = np.array([3, 3, 3, *[1] * 290, *[5] * 7])
    tokenizer = gguf_tokenizer(metadata, vocab_size=310, source="tiny")
    assert tokenizer.vocab_size == 310
    assert tokenizer.token_bytes(292) != b""
    assert tokenizer.token_bytes(299) == tokenizer.token_bytes(309) == b""


def test_user_defined_tokens_are_found_in_any_text_and_control_tokens_are_not():
    metadata = tiny_vocabulary(300)
    metadata["tokenizer.ggml.token_type"] = np.array([3, 4, 3, *[1] * 297])
    tokenizer = gguf_tokenizer(metadata, vocab_size=300, source="tiny")
    ids = tokenizer.encode("<|im_start|><|im_end|>")
    assert ids[0] == 1
    assert 2 not in ids
    assert tokenizer.special_tokens == {"<|endoftext|>": 0, "<|im_end|>": 2}


def test_special_tokens_are_spanned_where_they_stand():
    text = "é<|im_end|> x<|im_start|>"
    assert TOKENIZER.special_spans(text) == [(2, 1, 11), (1, 13, 25)]


def test_threads_do_not_disturb_each_other():
    text, wrong = "a<|im_end|>" * 50, []
    expected = {special: TOKENIZER.encode(text, special=special) for special in (False, True)}

    def work(special):
        wrong.extend(1 for _ in range(200) if TOKENIZER.encode(text, special=special) != expected[special])

    threads = [threading.Thread(target=work, args=(special,)) for special in (False, True) * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_fingerprints_tell_vocabularies_apart_but_not_padding():
    assert TOKENIZER.fingerprint == tiny_tokenizer(300).fingerprint != tiny_tokenizer(301).fingerprint
    padded = gguf_tokenizer(tiny_vocabulary(300), vocab_size=400, source="tiny")
    assert padded.fingerprint == TOKENIZER.fingerprint


def change(folder, name, **values):
    path = folder / name
    path.write_text(json.dumps((json.loads(path.read_text()) if path.exists() else {}) | values))


@pytest.fixture
def folder(tmp_path):
    return write_hf(tiny_weights(), tmp_path / "tiny")


def test_ends_come_from_both_configurations_the_settings_and_well_known_names(folder):
    change(folder, "generation_config.json", eos_token_id=[5, 6])
    change(folder, "config.json", eos_token_id=7)
    change(folder, "tokenizer_config.json", eos_token={"content": "<|im_start|>"})
    tokenizer = models.load(folder).tokenizer
    assert tokenizer.eos_ids == {0, 1, 2, 5, 6, 7}
    assert tokenizer.eos_id == 1


def test_whether_a_prompt_begins_with_bos(folder):
    assert not models.load(folder).tokenizer.add_bos
    whole = json.loads((folder / "tokenizer.json").read_text())
    bos = {"id": "<|endoftext|>", "type_id": 0}
    whole["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": bos}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"<|endoftext|>": {"id": "<|endoftext|>", "ids": [0], "tokens": ["<|endoftext|>"]}},
    }
    (folder / "tokenizer.json").write_text(json.dumps(whole))
    tokenizer = models.load(folder).tokenizer
    assert tokenizer.add_bos
    assert tokenizer.encode("the") == TOKENIZER.encode("the")
    change(folder, "tokenizer_config.json", add_bos_token=False)
    assert not models.load(folder).tokenizer.add_bos


def test_chat_templates_may_stand_in_three_places(folder):
    assert hf_chat_template(folder) == CHAT_TEMPLATE
    named = [{"name": "other", "template": "no"}, {"name": "default", "template": "yes"}]
    change(folder, "tokenizer_config.json", chat_template=named)
    assert hf_chat_template(folder) == "yes"
    (folder / "chat_template.jinja").write_text("own")
    assert hf_chat_template(folder) == "own"
    (folder / "chat_template.jinja").unlink()
    change(folder, "tokenizer_config.json", chat_template=None)
    assert hf_chat_template(folder) is None


def test_settings_are_optional(folder):
    (folder / "tokenizer_config.json").unlink()
    found = models.load(folder)
    assert (found.chat_template, found.tokenizer.bos_id, found.tokenizer.eos_id) == (None, None, None)
    assert found.tokenizer.eos_ids == {0, 2}


def test_truncation_and_padding_in_the_file_are_ignored(folder):
    backend = Backend.from_file(str(folder / "tokenizer.json"))
    backend.enable_truncation(2)
    backend.enable_padding(length=10)
    backend.save(str(folder / "tokenizer.json"))
    assert len(models.load(folder).tokenizer.encode("x" * 50)) == 50


def saved(folder, model, *, decoder=None, pre_tokenizer=None, specials=()):
    backend = Backend(model)
    backend.decoder = decoder
    backend.pre_tokenizer = pre_tokenizer
    backend.add_special_tokens(list(specials))
    backend.save(str(folder / "tokenizer.json"))
    return hf_tokenizer(folder, vocab_size=100)


def test_tokenizers_of_other_kinds_are_refused_by_name(tmp_path):
    with pytest.raises(UnsupportedModelError, match="of kind WordLevel"):
        saved(tmp_path, token_models.WordLevel({"a": 0}, unk_token="a"))
    with pytest.raises(UnsupportedModelError, match="decoder is neither"):
        saved(tmp_path, token_models.BPE({"a": 0}, []), decoder=decoders.WordPiece())


def test_tokenizers_larger_than_the_model_are_refused(folder):
    with pytest.raises(CorruptModelError, match="tokenizer has 300 tokens, but the model 299 rows"):
        hf_tokenizer(folder, vocab_size=299)


METASPACE = {"replacement": "\u2581", "split": False}
PIECES = {"<unk>": 0, "<s>": 1, "\u2581": 2, "a": 3, "\u2581a": 4, "<": 5, "s": 6, ">": 7}


def spaced(folder, scheme, **options):
    return saved(
        folder,
        token_models.BPE(PIECES, [("\u2581", "a")], unk_token="<unk>"),
        decoder=decoders.Metaspace(**METASPACE),
        pre_tokenizer=pre_tokenizers.Metaspace(prepend_scheme=scheme, **METASPACE),
        specials=[AddedToken("<s>", special=True, normalized=False, **options)],
    )


@pytest.mark.parametrize(("scheme", "after"), [("first", 3), ("always", 4), ("never", 3)])
def test_forged_tokens_do_not_change_where_sentencepiece_puts_its_space(tmp_path, scheme, after):
    tokenizer = spaced(tmp_path, scheme)
    template = "<s>{{ messages[0].content }}"
    honest = encode_chat(tokenizer, template, [{"role": "user", "content": "a"}])
    assert honest == tokenizer.encode("<s>a", special=True) == [1, after]
    forged = encode_chat(tokenizer, template, [{"role": "user", "content": "a<s>"}])
    assert forged == [1, after, 5, 6, 7]


def test_special_tokens_that_take_whitespace_with_them_still_do(tmp_path):
    tokenizer = spaced(tmp_path, "never", rstrip=True)
    template = "{{ messages[0].content }}<s>  a"
    assert encode_chat(tokenizer, template, [{"role": "user", "content": "a"}]) == [3, 1, 3]
    assert encode_chat(tokenizer, template, [{"role": "user", "content": "<s>a"}]) == [5, 6, 7, 3, 1, 3]
