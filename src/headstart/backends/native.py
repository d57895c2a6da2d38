"""The model in C++: one call per pass, the interpreter lock released meanwhile.

Knows nothing of how a pass is computed (cpp/pass.h) or how weights are packed (cpp/matrix.h); it turns Weights into
arrays, and what native code refuses into Headstart's errors.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from headstart import _native
from headstart.backends.checks import check_batch, check_context, check_fork, check_keep, check_taps
from headstart.backends.machine import available_memory_bytes, check_threads
from headstart.errors import CorruptModelError, InputError, ModelError, NumericsError
from headstart.models.config import ModelConfig, Tensor, Weights
from headstart.protocols import Batch

__all__ = ["NativeModel", "NativeRows"]

Precision = Literal["auto", "float32"]


class NativeModel:
    """A loaded model, computed by the native kernels.

    Rows keep their bits whatever the company: alone or many, chain or tree, after any prefill split, next to other
    sequences, on any number of threads.

    Parameters
    ----------
    weights : Weights
    threads : int, optional
        By default one for each core that this process may use.
    context : int, optional
        Most tokens a sequence may hold; by default, and at most, the length the model was made for.
    precision : {"auto", "float32"}
        ``"auto"`` reads quantised matrices with activations rounded to 8 bits per block of 32 and keeps keys and values
        in half precision; ``"float32"`` computes with the float32 values that the weights stand for.
    isa : str, optional
        Instruction set; by default the best one here, or what ``HEADSTART_ISA`` says.

    Raises
    ------
    InputError
        If threads, context, precision or instruction set are not to be had on this machine.
    ModelError
        If the model does not fit into memory, or its tensors contradict its shape.
    """

    row_invariant = True

    def __init__(
        self,
        weights: Weights,
        *,
        threads: int | None = None,
        context: int | None = None,
        precision: Precision = "auto",
        isa: str | None = None,
    ) -> None:
        config = weights.config
        self.vocab_size = config.vocab_size
        self.context = check_context(context, config.context_length)
        self.threads = check_threads(threads)
        if precision not in ("auto", "float32"):
            raise InputError(f"precision is {precision!r}; choose 'auto' or 'float32'")
        precise = precision == "float32"
        _check_memory(weights, precise)
        self._layer_count = config.layer_count
        self._native = _load(weights, _check_isa(isa), self.threads, self.context, precise)
        arithmetic = "float32" if precise else "int8" if self._native.quantised else "float"
        self.numerics_id = f"native-{self._native.isa}-{arithmetic}"

    @property
    def weight_bytes(self) -> int:
        """Memory that the packed weights take."""
        return self._native.weight_bytes

    @property
    def cache_bytes(self) -> int:
        """Memory that the keys and values of all sequences take."""
        return self._native.cache_bytes

    def open(self) -> int:
        """Start an empty sequence; returns its handle."""
        return self._native.open()

    def fork(self, sequence: int, length: int | None = None) -> int:
        """New sequence with the first ``length`` (default: all) kept tokens of another; memory is shared."""
        return self._native.fork(sequence, check_fork(sequence, length, self.length(sequence)))

    def close(self, sequence: int) -> None:
        """Forget a sequence."""
        with self._refusing():
            self._native.close(sequence)

    def length(self, sequence: int) -> int:
        """Number of kept tokens."""
        with self._refusing():
            return self._native.length(sequence)

    def forward(self, batch: Batch, *, taps: Sequence[int] = ()) -> NativeRows:
        """One pass. Its rows are pending until ``keep``; pending rows of an earlier pass of theirs are dropped first."""
        check_taps(taps, self._layer_count)
        with self._refusing(batch):
            result = self._native.forward(
                np.ascontiguousarray(batch.sequences, np.int32),
                np.ascontiguousarray(batch.tokens, np.int32),
                np.ascontiguousarray(batch.parents, np.int32),
                np.ascontiguousarray(batch.wanted, np.bool_),
                list(taps),
            )
        return NativeRows(result, result.places, tuple(taps))

    def keep(self, sequence: int, rows: Sequence[int]) -> None:
        """Keep these rows of the last pass (a path from the kept text downwards, in order) and drop the others."""
        try:
            self._native.keep(sequence, list(rows))
        except ValueError as error:
            self.length(sequence)
            check_keep(sequence, rows, self._native.pending(sequence))
            raise InputError(str(error)) from None

    @contextmanager
    def _refusing(self, batch: Batch | None = None) -> Iterator[None]:
        """What native code refuses, in the words that all backends share."""
        try:
            yield
        except ValueError as error:
            lengths = self._native.lengths()
            if batch is not None:
                check_batch(batch, lengths, vocab_size=self.vocab_size, context=self.context)
                raise InputError(str(error)) from None
            raise InputError(f"{error}; the open ones are {sorted(lengths)}") from None
        except MemoryError:
            raise ModelError("no memory is left for keys and values; close sequences or lower the context") from None


@dataclass(frozen=True, eq=False)
class NativeRows:
    """What a pass computed; it stays valid for as long as it is held."""

    _result: _native.Result
    _places: list[int]
    _taps: tuple[int, ...]

    def argmax(self, row: int) -> int:
        """Lowest id among the largest logits. Raises NumericsError, naming the row, if a logit is not a number."""
        token, nan = self._result.argmax(self._place(row))
        if nan:
            raise NumericsError(f"a logit of row {row} is not a number: the model's weights are damaged or overflow")
        return token

    def top(self, row: int, count: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Ids and logits of the ``count`` largest, descending, ties by lowest id."""
        if count < 1:
            raise InputError(f"count is {count}; ask for at least 1")
        self.argmax(row)
        logits = self.logits(row)
        ids = _native.largest(logits, count)
        return ids, logits[ids]

    def logits(self, row: int) -> NDArray[np.float32]:
        """The whole row, shape (vocab,), read-only; a view that keeps the pass's memory alive."""
        return self._result.logits(self._place(row))

    def hidden(self, tap: int, row: int) -> NDArray[np.float32]:
        """Hidden state entering layer ``tap``, or leaving the last one; shape (hidden,), read-only."""
        if tap not in self._taps or not 0 <= row < len(self._places):
            raise InputError(f"no hidden state at layer {tap} of row {row}; the layers tapped are {list(self._taps)}")
        return self._result.hidden(self._taps.index(tap), row)

    def _place(self, row: int) -> int:
        places = self._places
        if not 0 <= row < len(places) or places[row] < 0:
            wanted = [r for r, place in enumerate(places) if place >= 0]
            raise InputError(f"row {row} has no logits; the rows wanted in this pass are {wanted}")
        return places[row]


def _check_isa(isa: str | None) -> str:
    try:
        chosen = isa or _native.chosen_isa()
    except RuntimeError as error:
        raise InputError(str(error)) from None
    if chosen not in _native.available_isas():
        allowed = ", ".join(_native.available_isas())
        raise InputError(f"instruction set {chosen!r} is not available; this machine has {allowed}")
    return chosen


def _check_memory(weights: Weights, precise: bool) -> None:
    """Refuse a model that cannot fit before any of it is read."""
    tensors = {id(tensor): tensor for tensor in weights.tensors.values()}.values()
    needed = sum(4 * int(np.prod(t.shape, dtype=np.int64)) if precise else t.data.nbytes for t in tensors)
    available = available_memory_bytes()
    if available is not None and needed > available:
        raise ModelError(
            f"model {weights.name!r} needs {needed / 1e9:.1f} GB of memory and {available / 1e9:.1f} GB are available; "
            + ("use --precision auto" if precise else "choose a smaller or a more strongly quantised one")
        )


def _load(weights: Weights, isa: str, threads: int, context: int, precise: bool) -> _native.Model:
    tensors = {name: _raw(tensor) for name, tensor in weights.tensors.items()}
    try:
        return _native.Model(
            shape=_shape(weights.config), tensors=tensors, isa=isa, threads=threads, context=context, precise=precise
        )
    except MemoryError:
        raise ModelError(f"model {weights.name!r} does not fit into memory; choose a smaller one") from None
    except ValueError as error:
        raise CorruptModelError(f"model {weights.name!r} cannot be used: {error}") from None


def _shape(config: ModelConfig) -> _native.Shape:
    return _native.Shape(
        vocab_size=config.vocab_size,
        hidden_size=config.hidden_size,
        intermediate_size=config.intermediate_size,
        layer_count=config.layer_count,
        head_count=config.head_count,
        kv_head_count=config.kv_head_count,
        head_size=config.head_size,
        norm_epsilon=config.norm_epsilon,
        inverse_frequencies=list(config.rope.inverse_frequencies),
        attention_factor=config.rope.attention_factor,
        interleaved=config.rope.interleaved,
        windows=[window or 0 for window in config.windows],
    )


def _raw(tensor: Tensor) -> tuple[str, int, int, NDArray[np.uint8], bool]:
    outputs, inputs = tensor.shape if len(tensor.shape) == 2 else (1, *tensor.shape)
    return tensor.kind, outputs, inputs, np.ascontiguousarray(tensor.data), _in_read_only_map(tensor.data)


def _in_read_only_map(array: NDArray[Any]) -> bool:
    """Whether the memory can be given back and read again from its file: nobody can have written to it."""
    base: Any = array
    while not isinstance(base, mmap.mmap):
        base = base.obj if isinstance(base, memoryview) else getattr(base, "base", None)
        if base is None:
            return False
    with memoryview(base) as view:
        return view.readonly
