"""Builds tokenizers from GGUF vocabularies, byte-level BPE or SentencePiece, and decides which tokens end a text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers
from tokenizers import Tokenizer as Backend

from headstart.errors import CorruptModelError, UnsupportedModelError
from headstart.models.fields import Fields
from headstart.models.tokenizer import Tokenizer, Vocabulary

__all__ = ["END_TOKENS", "gguf_tokenizer"]

END_TOKENS = frozenset(
    [
        "<|endoftext|>",
        "<|im_end|>",
        "<|eot_id|>",
        "<|eom_id|>",
        "<|end_of_text|>",
        "<|end|>",
        "<|eot|>",
        "<end_of_turn>",
        "<end_of_utterance>",
        "</s>",
        "<EOT>",
        "[EOS]",
        "[EOT]",
        "<|return|>",
        "<｜end▁of▁sentence｜>",
    ]
)
"""Special tokens that end a text or a turn in whichever model has them, whether or not its file says so."""

_NORMAL, _UNKNOWN, _CONTROL, _USER, _UNUSED, _BYTE = 1, 2, 3, 4, 5, 6

_GPT2_WORDS = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_TIKTOKEN_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{DIGITS}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)


def _splits(words: str, *, digits: bool = False) -> pre_tokenizers.PreTokenizer:
    steps: list[Any] = [pre_tokenizers.Digits(individual_digits=True)] if digits else []
    steps.append(pre_tokenizers.Split(Regex(words), "isolated"))
    steps.append(pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False))
    return pre_tokenizers.Sequence(steps)


_FAMILIES: dict[str, Callable[[], pre_tokenizers.PreTokenizer]] = {
    "gpt-2": lambda: _splits(_GPT2_WORDS),
    "smollm": lambda: _splits(_GPT2_WORDS, digits=True),
    "llama-bpe": lambda: _splits(_TIKTOKEN_WORDS.replace("{DIGITS}", "{1,3}")),
    "qwen2": lambda: _splits(_TIKTOKEN_WORDS.replace("{DIGITS}", "")),
}
_ALIASES = {
    **dict.fromkeys(("gpt2", "phi-2", "olmo"), "gpt-2"),
    **dict.fromkeys(("starcoder", "refact", "command-r", "codeshell"), "smollm"),
    **dict.fromkeys(("llama3", "llama-v3"), "llama-bpe"),
    **dict.fromkeys(("deepseek-r1-qwen",), "qwen2"),
}


def gguf_tokenizer(metadata: Mapping[str, Any], *, vocab_size: int, source: str) -> Tokenizer:
    """Tokenizer of a GGUF file.

    Parameters
    ----------
    metadata : mapping
        The file's, with keys as they stand there.
    vocab_size : int
        Rows of the embedding.
    source : str
        What to call the file in errors.

    Raises
    ------
    UnsupportedModelError
        Another kind of vocabulary, or a pre-tokenizer that is not known.
    CorruptModelError
        Tokens, types, scores or merges do not fit together.
    """
    prefix = "tokenizer.ggml."
    fields = Fields({k[len(prefix) :]: v for k, v in metadata.items() if k.startswith(prefix)}, source)
    build = {"gpt2": _byte_level, "llama": _sentencepiece}.get(fields.text("model"))
    if build is None:
        raise UnsupportedModelError(
            f"{source}: its tokenizer is of kind {fields.text('model')!r}; supported are gpt2 (BPE) and llama (SentencePiece)."
        )
    tokens = fields.strings("tokens")
    if len(tokens) > vocab_size:
        raise CorruptModelError(f"{source} is damaged: {len(tokens)} tokens, but the model has {vocab_size} rows.")
    kinds = _numbers(fields, "token_type", len(tokens), default=_NORMAL).tolist()
    backend, bos_default = build(fields, tokens, kinds)
    vocabulary = _vocabulary(tokens, kinds, "letters" if fields.text("model") == "gpt2" else "pieces")
    _add_tokens(backend, vocabulary)
    return Tokenizer(
        backend,
        vocabulary,
        vocab_size=vocab_size,
        bos_id=_token_id(fields, "bos_token_id", len(tokens)),
        eos_ids=_ends(fields, vocabulary),
        eos_id=_token_id(fields, "eos_token_id", len(tokens)),
        add_bos=fields.flag("add_bos_token", bos_default),
    )


def _numbers(fields: Fields, key: str, count: int, *, default: float) -> np.ndarray[Any, Any]:
    """One number per token."""
    values = fields.values.get(key)
    if values is None:
        return np.full(count, default)
    if not isinstance(values, np.ndarray) or values.shape != (count,):
        raise CorruptModelError(f"{fields.source} is damaged: {key} must hold {count} numbers, one per token.")
    return values


def _byte_level(fields: Fields, tokens: list[str], kinds: list[int]) -> tuple[Backend, bool]:
    """Byte-level BPE, and whether it puts the beginning of text first by default."""
    del kinds
    given = fields.text("pre", "")
    family = _ALIASES.get(given, given)
    if family not in _FAMILIES:
        raise UnsupportedModelError(
            f"{fields.source}: its pre-tokenizer is {repr(given) if given else 'not named'}; "
            f"supported are {', '.join(_FAMILIES)}."
        )
    merges = [(left, right) for left, _, right in (merge.partition(" ") for merge in fields.strings("merges"))]
    backend = _bpe(fields.source, tokens, merges, ignore_merges=family == "llama-bpe")
    backend.pre_tokenizer = _FAMILIES[family]()
    backend.decoder = decoders.ByteLevel()
    if family == "qwen2":
        backend.normalizer = normalizers.NFC()
    return backend, family == "llama-bpe"


def _sentencepiece(fields: Fields, tokens: list[str], kinds: list[int]) -> tuple[Backend, bool]:
    """SentencePiece BPE: the pair whose union scores highest is merged first; unknown letters fall back to bytes."""
    scores = _numbers(fields, "scores", len(tokens), default=0.0).tolist()
    merges = _merges_by_score(tokens, scores, kinds)
    unknown = _token_id(fields, "unknown_token_id", len(tokens))
    backend = _bpe(
        fields.source,
        tokens,
        merges,
        unk_token=None if unknown is None else tokens[unknown],
        fuse_unk=True,
        byte_fallback=True,
    )
    steps: list[Any] = [normalizers.Prepend("\u2581")] if fields.flag("add_space_prefix", True) else []
    backend.normalizer = normalizers.Sequence([*steps, normalizers.Replace(" ", "\u2581")])
    backend.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()])
    return backend, True


def _bpe(source: str, tokens: list[str], merges: Iterable[tuple[str, str]], **options: Any) -> Backend:
    vocabulary = {token: index for index, token in enumerate(tokens)}
    try:
        return Backend(models.BPE(vocabulary, list(merges), **options))
    except Exception as error:
        raise CorruptModelError(f"{source} is damaged: its merges do not fit its tokens ({error}).") from error


def _merges_by_score(tokens: list[str], scores: list[float], kinds: list[int]) -> list[tuple[str, str]]:
    """Every way to make a piece of two others, best score first; of one score, in the order of the parts' ids."""
    usable = {t: i for i, t in enumerate(tokens) if kinds[i] in (_NORMAL, _USER, _UNUSED)}
    found = []
    for piece, index in usable.items():
        for cut in range(1, len(piece)):
            left, right = usable.get(piece[:cut]), usable.get(piece[cut:])
            if left is not None and right is not None:
                found.append((-scores[index], left, right))
    return [(tokens[left], tokens[right]) for _, left, right in sorted(found)]


def _vocabulary(tokens: list[str], kinds: list[int], spelling: Any) -> Vocabulary:
    added = {i: tokens[i] for i, kind in enumerate(kinds) if kind in (_UNKNOWN, _CONTROL, _USER) and tokens[i]}
    return Vocabulary(
        tokens=["" if kind == _UNUSED else token for token, kind in zip(tokens, kinds, strict=True)],
        spelling=spelling,
        added=added,
        special=frozenset(i for i in added if kinds[i] != _USER),
        byte_ids=frozenset(i for i, kind in enumerate(kinds) if kind == _BYTE),
    )


def _add_tokens(backend: Backend, vocabulary: Vocabulary) -> None:
    for chosen, add in ((True, backend.add_special_tokens), (False, backend.add_tokens)):
        ids = [i for i in vocabulary.added if (i in vocabulary.special) == chosen]
        add([AddedToken(vocabulary.added[i], special=chosen, normalized=False) for i in ids])


def _token_id(fields: Fields, key: str, count: int) -> int | None:
    return fields.integer(key, high=count - 1) if fields.has(key) else None


def _ends(fields: Fields, vocabulary: Vocabulary) -> set[int]:
    named = (_token_id(fields, f"{name}_token_id", len(vocabulary.tokens)) for name in ("eos", "eot", "eom"))
    known = {i for i in vocabulary.special if vocabulary.added[i] in END_TOKENS}
    return known | {token for token in named if token is not None}
