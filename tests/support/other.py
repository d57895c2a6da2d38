"""A draft model whose tokenizer is another one than the target's."""

from __future__ import annotations

from typing import Any

from support.kit import random_model
from support.tiny import tiny_tokenizer

__all__ = ["Other"]


class Reversed:
    """A byte-level tokenizer with fewer word pieces than the target's, numbered from the other end, with a first token."""

    def __init__(self) -> None:
        self._inner = tiny_tokenizer(262)
        self.vocab_size, self.add_bos = 262, True
        self.bos_id = self._turn(min(self._inner.special_ids))
        self.eos_ids = frozenset(map(self._turn, self._inner.eos_ids))
        self.special_ids = frozenset(map(self._turn, self._inner.special_ids))
        self.fingerprint = "reversed"

    def _turn(self, token: int) -> int:
        return 261 - token

    def encode(self, text: str, *, special: bool = False) -> list[int]:
        return [self._turn(token) for token in self._inner.encode(text, special=special)]

    def token_bytes(self, token: int) -> bytes:
        return self._inner.token_bytes(self._turn(token))


class Other:
    """A draft model of 262 tokens of another tokenizer, that remembers what it was given."""

    def __init__(self) -> None:
        self._model, self.tokenizer = random_model(seed=4, vocab=262), Reversed()
        self.given: list[list[int]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def forward(self, batch: Any, *, taps: Any = ()) -> Any:
        self.given.append(batch.tokens.tolist())
        return self._model.forward(batch, taps=taps)
