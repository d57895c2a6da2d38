"""Text to token ids and back, and the exact bytes of every token. It does not know files: vocabulary.py reads those."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from headstart.errors import InputError

if TYPE_CHECKING:
    import tokenizers

__all__ = ["Tokenizer", "Vocabulary"]

_SPACE = "\u2581"  # how SentencePiece writes a space


def _byte_letters() -> dict[int, int]:
    """GPT-2's printable stand-ins: the code point of each stand-in, to the byte it stands for."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: byte for byte in printable} | {256 + index: byte for index, byte in enumerate(others)}


_BYTE_OF_LETTER = _byte_letters()


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """What each token id is.

    Parameters
    ----------
    tokens : sequence of str
        As the file writes them; "" where an id has no token.
    spelling : {"letters", "pieces"}
        ``letters``: bytes as GPT-2's printable stand-ins; ``pieces``: SentencePiece, ``<0x0A>`` for single bytes.
    added : mapping of int to str
        Tokens that are found in text as they are, special or not, by id.
    special : frozenset of int
        Those of ``added`` that text only gives when asked to; decoding may leave them out.
    bytes_ids : frozenset of int
        Ids of single bytes in ``pieces``.
    """

    tokens: Sequence[str]
    spelling: Literal["letters", "pieces"]
    added: Mapping[int, str]
    special: frozenset[int]
    byte_ids: frozenset[int] = frozenset()

    def token_bytes(self, token: int) -> bytes:
        """Exact bytes of one id."""
        if token in self.added:
            return self.added[token].encode()
        text = self.tokens[token]
        if self.spelling == "letters":
            return _from_letters(text)
        if token in self.byte_ids:
            return bytes([int(text[3:5], 16)])
        return text.replace(_SPACE, " ").encode()


def _from_letters(text: str) -> bytes:
    try:
        return bytes([_BYTE_OF_LETTER[ord(letter)] for letter in text])
    except KeyError:  # a token of another alphabet stands for itself, as in Hugging Face's decoder
        return text.encode()


class Tokenizer:
    """Encodes and decodes one model's tokens.

    Parameters
    ----------
    backend : tokenizers.Tokenizer
    continuation : callable, optional
        Makes the backend for text that something precedes, where the start of a text is treated differently.
    vocabulary : Vocabulary
    vocab_size : int
        Number of ids the model scores; may exceed the tokens there are.
    bos_id : int or None
        Beginning of text.
    eos_ids : iterable of int
        Every token that ends a text or a turn.
    eos_id : int or None
        The one of them that chat templates write as ``eos_token``.
    add_bos : bool
        Whether a prompt starts with ``bos_id``. ``encode`` never adds it.
    """

    def __init__(
        self,
        backend: tokenizers.Tokenizer,
        vocabulary: Vocabulary,
        *,
        vocab_size: int,
        bos_id: int | None,
        eos_ids: Iterable[int],
        eos_id: int | None,
        add_bos: bool,
        continuation: Callable[[], tokenizers.Tokenizer] | None = None,
    ) -> None:
        self._backend = backend
        self._make_continuation = continuation
        self._lock = threading.Lock()
        self._vocabulary = vocabulary
        self.vocab_size = vocab_size
        self.bos_id = bos_id
        self.eos_ids = frozenset(eos_ids)
        self.eos_id = eos_id
        self.add_bos = add_bos and bos_id is not None

    @cached_property
    def _continuation(self) -> tokenizers.Tokenizer:
        return self._backend if self._make_continuation is None else self._make_continuation()

    @property
    def special_ids(self) -> frozenset[int]:
        """Ids that text only gives with ``special=True``."""
        return self._vocabulary.special

    @cached_property
    def special_tokens(self) -> dict[str, int]:
        """Text of each special token, and its id."""
        return {self._vocabulary.added[token]: token for token in sorted(self.special_ids)}

    def id(self, token: str) -> int | None:
        """Id of a token written as in the vocabulary file, or None.

        A special token is written as it reads: ``tokenizer.id("<|im_end|>")``.
        """
        found = self._backend.token_to_id(token)
        return None if found is None else int(found)

    def encode(self, text: str, *, special: bool = False, start: bool = True) -> list[int]:
        """Token ids of a text, without ``bos_id``.

        Parameters
        ----------
        text : str
        special : bool
            True: special tokens written out in the text become their ids. False: they are ordinary text, so that
            no user can forge the end of a turn.
        start : bool
            False where other text comes before: SentencePiece may put a space in front of the first word only.

        Returns
        -------
        list of int
        """
        return list(self._encoding(text, special=special, start=start).ids)

    def special_spans(self, text: str) -> list[tuple[int, int, int]]:
        """Special tokens written out in a text: id, first character, and end, with what whitespace the token takes."""
        encoding = self._encoding(text, special=True)
        spans = zip(encoding.ids, encoding.offsets, strict=True)
        written = ((token, *span) for token, span in spans if token in self.special_ids)
        return [(token, a, b) for token, a, b in written if text[a:b].strip() == self._vocabulary.added[token].strip()]

    def _encoding(self, text: str, *, special: bool, start: bool = True) -> tokenizers.Encoding:
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InputError(
                f"The text holds a lone surrogate at character {error.start}; give text that is valid Unicode."
            ) from error
        with self._lock:
            backend = self._backend if start else self._continuation
            backend.encode_special_tokens = not special
            return backend.encode(text, add_special_tokens=False)

    def decode(self, ids: Sequence[int], *, skip_special: bool = False) -> str:
        """Text of token ids: their bytes joined, read as UTF-8, malformed bytes shown as U+FFFD.

        Nothing is stripped, so the pieces of a stream joined are the text of the whole.
        """
        hidden = self.special_ids if skip_special else frozenset()
        return b"".join(self.token_bytes(token) for token in ids if token not in hidden).decode(errors="replace")

    def token_bytes(self, token: int) -> bytes:
        """Exact bytes of one token; ``b""`` for an id without a token.

        Raises
        ------
        InputError
            The id is not in ``[0, vocab_size)``.
        """
        if not 0 <= token < self.vocab_size:
            raise InputError(f"Token id {token} is not allowed: ids run from 0 to {self.vocab_size - 1}.")
        return self._vocabulary.token_bytes(token) if token < len(self._vocabulary.tokens) else b""

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over id and bytes of every token: equal where two models can exchange token ids."""
        digest = hashlib.sha256()
        for token in range(len(self._vocabulary.tokens)):
            raw = self._vocabulary.token_bytes(token)
            if raw:
                digest.update(b"%d %d " % (token, len(raw)) + raw)
        return digest.hexdigest()
