"""Builds a tokenizer from a Hugging Face folder: ``tokenizer.json`` and what stands beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal

from tokenizers import Tokenizer as Backend

from headstart.errors import CorruptModelError, ModelNotFoundError, UnsupportedModelError
from headstart.models.fields import Fields
from headstart.models.hf_model import read_json
from headstart.models.tokenizer import Tokenizer, Vocabulary
from headstart.models.vocabulary import END_TOKENS

__all__ = ["hf_chat_template", "hf_tokenizer"]

_SINGLE_BYTE = re.compile(r"<0x[0-9A-F]{2}>")


def hf_tokenizer(folder: Path, *, vocab_size: int) -> Tokenizer:
    """Tokenizer of a Hugging Face folder.

    Parameters
    ----------
    folder : Path
    vocab_size : int
        Rows of the embedding.

    Raises
    ------
    ModelNotFoundError
        There is no ``tokenizer.json``.
    CorruptModelError
        It cannot be read, or does not fit the model.
    UnsupportedModelError
        It is not BPE.
    """
    backend = _backend(folder / "tokenizer.json")
    vocabulary = _vocabulary(backend, str(folder / "tokenizer.json"))
    if len(vocabulary.tokens) > vocab_size:
        raise CorruptModelError(
            f"{folder} is damaged: its tokenizer has {len(vocabulary.tokens)} tokens, but the model {vocab_size} rows."
        )
    settings = _settings(folder)
    bos, eos = (_named(settings, key, backend) for key in ("bos_token", "eos_token"))
    return Tokenizer(
        backend,
        vocabulary,
        vocab_size=vocab_size,
        bos_id=bos,
        eos_ids=_ends(folder, vocabulary, eos),
        eos_id=eos,
        add_bos=_adds_bos(settings, backend, bos),
        continuation=_continuation(backend),
    )


def hf_chat_template(folder: Path) -> str | None:
    """Chat template of a folder: a file of its own, or the one called default in ``tokenizer_config.json``."""
    own = folder / "chat_template.jinja"
    if own.exists():
        return own.read_text(encoding="utf-8")
    template = _settings(folder).values.get("chat_template")
    if isinstance(template, list):
        named = [entry for entry in template if isinstance(entry, dict) and entry.get("name") == "default"]
        template = named[0].get("template") if named else None
    return template if isinstance(template, str) else None


def _backend(path: Path) -> Backend:
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ModelNotFoundError(
            f"{path} cannot be opened ({error.strerror or error}); other forms of tokenizer are not supported."
        ) from error
    try:
        backend = Backend.from_buffer(raw)
    except Exception as error:
        raise CorruptModelError(f"{path} is damaged: {error}.") from error
    backend.no_truncation()
    backend.no_padding()
    return backend


def _vocabulary(backend: Backend, source: str) -> Vocabulary:
    if type(backend.model).__name__ != "BPE":
        raise UnsupportedModelError(
            f"{source}: tokenizers of kind {type(backend.model).__name__} are not supported; BPE is."
        )
    known = backend.get_vocab(with_added_tokens=True)
    tokens = [""] * (max(known.values(), default=-1) + 1)
    for token, index in known.items():
        tokens[index] = token
    added = backend.get_added_tokens_decoder()
    spelling = _spelling(backend, source)
    fallback = spelling == "pieces" and backend.model.byte_fallback
    return Vocabulary(
        tokens,
        spelling,
        added={index: token.content for index, token in added.items()},
        special=frozenset(index for index, token in added.items() if token.special),
        byte_ids=frozenset(i for i, token in enumerate(tokens) if fallback and _SINGLE_BYTE.fullmatch(token)),
    )


def _spelling(backend: Backend, source: str) -> Literal["letters", "pieces"]:
    """How tokens are written, which the decoder tells."""
    decoder = "" if backend.decoder is None else backend.decoder.__getstate__().decode()
    if '"ByteLevel"' in decoder:
        return "letters"
    if "\u2581" in decoder:
        return "pieces"
    raise UnsupportedModelError(f"{source}: its decoder is neither byte-level nor SentencePiece's.")


def _settings(folder: Path) -> Fields:
    path = folder / "tokenizer_config.json"
    return Fields(read_json(path) if path.exists() else {}, str(path))


def _named(settings: Fields, key: str, backend: Backend) -> int | None:
    """Id of a token that the settings name, as text or as an object with ``content``."""
    token = settings.values.get(key)
    if isinstance(token, dict):
        token = token.get("content")
    return backend.token_to_id(token) if isinstance(token, str) else None


def _adds_bos(settings: Fields, backend: Backend, bos: int | None) -> bool:
    """What the settings say; where they are silent, what the tokenizer does to an empty text."""
    if settings.has("add_bos_token"):
        return settings.flag("add_bos_token")
    return bos is not None and bos in backend.encode("", add_special_tokens=True).ids


def _ends(folder: Path, vocabulary: Vocabulary, eos: int | None) -> set[int]:
    """Ends named by the settings, by either configuration, or by what they are called."""
    ends = {index for index in vocabulary.special if vocabulary.added[index] in END_TOKENS}
    for name in ("generation_config.json", "config.json"):
        given = read_json(folder / name).get("eos_token_id") if (folder / name).exists() else None
        for token in given if isinstance(given, list) else [given]:
            if token is not None:
                ends.add(Fields({"eos_token_id": token}, str(folder / name)).integer("eos_token_id"))
    return ends if eos is None else ends | {eos}


def _continuation(backend: Backend) -> Callable[[], Backend] | None:
    """Maker of a copy for text that something precedes, where only the very first word gets a space in front."""
    steps = "" if backend.pre_tokenizer is None else backend.pre_tokenizer.__getstate__().decode()
    if '"prepend_scheme":"first"' not in steps:
        return None

    def make() -> Backend:
        whole: dict[str, Any] = json.loads(backend.to_str())
        for step in _steps(whole["pre_tokenizer"]):
            if step.get("prepend_scheme") == "first":
                step["prepend_scheme"] = "never"
        return Backend.from_str(json.dumps(whole))

    return make


def _steps(step: dict[str, Any]) -> Iterable[dict[str, Any]]:
    yield step
    for inner in step.get("pretokenizers", ()):
        yield from _steps(inner)
