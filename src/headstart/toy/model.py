"""A model made of a table, and its tokenizer: both stand wherever real ones do.

The model is stricter than a real one: rows that were not wanted, or that belong to an earlier pass, raise. Knows
nothing of sampling or verification.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from headstart.coins import log
from headstart.errors import InputError, NumericsError
from headstart.protocols import Batch
from headstart.toy.rules import Rule

__all__ = ["TableModel", "TableRows", "WordTokenizer"]


class WordTokenizer:
    """Tokenizer of a toy world, with the interface of ``headstart.models.tokenizer.Tokenizer``.

    A token is a word with a space before it; words in angle brackets are special.

    Parameters
    ----------
    words : sequence of str
        The words by token id. ``</s>``, where it is one of them, ends a text.

    Examples
    --------
    >>> tokenizer = WordTokenizer(["love", "hate"])
    >>> tokenizer.encode("love hate hate"), tokenizer.decode([1, 0])
    ([0, 1, 1], ' hate love')
    """

    bos_id: int | None = None
    add_bos = False

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)
        self.vocab_size = len(self.words)
        self.special_tokens = {word: i for i, word in enumerate(self.words) if word.startswith("<")}
        self.special_ids = frozenset(self.special_tokens.values())
        self.eos_ids = frozenset(i for word, i in self.special_tokens.items() if word == "</s>")
        self.fingerprint = hashlib.sha256(" ".join(self.words).encode()).hexdigest()

    def id(self, token: str) -> int | None:
        """Id of a word, or None."""
        return self.words.index(token) if token in self.words else None

    def encode(self, text: str, *, special: bool = False) -> list[int]:
        """Token ids of a text; raises InputError for a word that is not in the world.

        Parameters
        ----------
        special : bool
            Whether words in angle brackets stand for special tokens.
        """
        known = {word: i for i, word in enumerate(self.words) if special or i not in self.special_ids}
        unknown = [word for word in text.split() if word not in known]
        if unknown:
            raise InputError(f"this world has no word {unknown[0]!r}; its words are {', '.join(known)}")
        return [known[word] for word in text.split()]

    def token_bytes(self, token: int) -> bytes:
        """Exact bytes of one token; raises InputError for an id that there is not."""
        if not 0 <= token < self.vocab_size:
            raise InputError(f"token id {token} is not in this world; its ids run from 0 to {self.vocab_size - 1}")
        return (b"" if token in self.special_ids else b" ") + self.words[token].encode()

    def decode(self, ids: Sequence[int], *, skip_special: bool = False) -> str:
        """Text of token ids."""
        hidden = self.special_ids if skip_special else frozenset()
        return b"".join(self.token_bytes(token) for token in ids if token not in hidden).decode()


class TableRows:
    """What a pass of a ``TableModel`` computed: the logarithms, in float32, of exact laws."""

    def __init__(self, model: TableModel, contexts: Sequence[tuple[int, ...] | None]) -> None:
        self._model = model
        self._pass = model.passes
        self._contexts = contexts

    def logits(self, row: int) -> NDArray[np.float32]:
        """Logarithms of the law after ``row``, shape (vocab,); -inf for probability 0."""
        if self._pass != self._model.passes:
            raise InputError("these rows belong to an earlier pass; read them before the next one")
        context = self._contexts[row]
        if context is None:
            raise InputError(f"the logits of row {row} were not wanted; mark it in Batch.wanted")
        return self._model.logits(context)

    def argmax(self, row: int) -> int:
        """Lowest id among the largest logits."""
        return int(np.argmax(self._finite(row)))

    def top(self, row: int, count: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Ids and logits of the ``count`` largest, descending, ties by lowest id."""
        logits = self._finite(row)
        ids = np.argsort(-logits, kind="stable")[:count].astype(np.int64)
        return ids, logits[ids]

    def hidden(self, tap: int, row: int) -> NDArray[np.float32]:
        """Raise: a table has no layers."""
        raise InputError(f"a table model has no layers, so nothing to tap at layer {tap} of row {row}")

    def _finite(self, row: int) -> NDArray[np.float32]:
        logits = self.logits(row)
        if np.isnan(logits).any():
            raise NumericsError(f"the logits of row {row} hold a NaN; the model's table is broken")
        return logits


class TableModel:
    """A model whose next-token law is a rule; its rows are exact whatever company they keep.

    Parameters
    ----------
    rule : Rule
        Law after every context. Its logarithms, rounded to float32, are the logits.
    vocab_size : int
    context : int
        The largest number of tokens in a sequence.

    Examples
    --------
    >>> from headstart.toy import always
    >>> model = TableModel(always(["3/5", "2/5"]), 2)
    >>> sequence = model.open()
    >>> rows = model.forward(Batch.chain(sequence, [0, 1], wanted="all"))
    >>> np.exp(rows.logits(1)).round(6)
    array([0.6, 0.4], dtype=float32)
    >>> model.keep(sequence, [0])
    >>> model.length(sequence)
    1
    """

    row_invariant = True
    numerics_id = "toy"

    def __init__(self, rule: Rule, vocab_size: int, *, context: int = 1 << 20) -> None:
        self.rule = rule
        self.vocab_size = vocab_size
        self.context = context
        self.passes = 0
        self._kept: dict[int, tuple[int, ...]] = {}
        self._pending: Batch | None = None
        self._settled: set[int] = set()
        self._opened = 0

    def logits(self, context: tuple[int, ...]) -> NDArray[np.float32]:
        """Logits after a context, shape (vocab,), read-only."""
        law = self.rule(context)
        dense = np.zeros(self.vocab_size)
        dense[slice(len(law.weights)) if law.ids is None else law.ids] = law.weights.astype(np.float64)
        logits = np.where(np.isnan(dense), np.nan, -np.inf).astype(np.float32)
        alive = dense > 0
        logits[alive] = log(dense[alive])
        logits.setflags(write=False)
        return logits

    def open(self) -> int:
        """Start an empty sequence; returns its handle."""
        return self._add(())

    def fork(self, sequence: int, length: int | None = None) -> int:
        """New sequence with the first ``length`` (default: all) kept tokens of another."""
        return self._add(self._kept[sequence][:length])

    def close(self, sequence: int) -> None:
        """Forget a sequence."""
        del self._kept[sequence]

    def length(self, sequence: int) -> int:
        """Return the number of kept tokens."""
        return len(self._kept[sequence])

    def forward(self, batch: Batch, *, taps: Sequence[int] = ()) -> TableRows:
        """One pass over the rows of a batch."""
        if taps:
            raise InputError("a table model has no layers to tap; choose a drafter that needs none")
        self.passes += 1
        self._pending, self._settled = batch, set()
        contexts: list[tuple[int, ...]] = []
        for row, token in enumerate(batch.tokens.tolist()):
            before = self._before(batch, row, contexts)
            if len(before) >= self.context or not 0 <= token < self.vocab_size:
                raise InputError(
                    f"row {row} (token {token}) is outside {self.context} positions or {self.vocab_size} words"
                )
            contexts.append((*before, token))
        return TableRows(self, [c if want else None for c, want in zip(contexts, batch.wanted.tolist(), strict=True)])

    def keep(self, sequence: int, rows: Sequence[int]) -> None:
        """Keep these rows of the last pass, a path from the kept text downwards, and drop the sequence's others."""
        batch, last, tokens = self._pending, -1, []
        for row in rows:
            if (
                batch is None
                or sequence in self._settled
                or batch.sequences[row] != sequence
                or batch.parents[row] != last
            ):
                raise InputError(f"row {row} does not follow row {last} of sequence {sequence} in the last pass")
            tokens.append(int(batch.tokens[row]))
            last = row
        self._settled.add(sequence)
        self._kept[sequence] += tuple(tokens)

    def _before(self, batch: Batch, row: int, contexts: list[tuple[int, ...]]) -> tuple[int, ...]:
        sequence, parent = int(batch.sequences[row]), int(batch.parents[row])
        if parent == -1:
            return self._kept[sequence]
        if not 0 <= parent < row or batch.sequences[parent] != sequence:
            raise InputError(f"row {row} has parent {parent}; a parent is an earlier row of the same sequence, or -1")
        return contexts[parent]

    def _add(self, tokens: tuple[int, ...]) -> int:
        self._opened += 1
        self._kept[self._opened] = tokens
        return self._opened
