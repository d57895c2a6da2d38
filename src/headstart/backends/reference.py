"""The model in NumPy, one row after the other: slow and obvious, the twin that every kernel is tested against.

A row is computed alone, from the keys and values of the tokens before it, so its bits cannot depend on company. Knows
nothing of speed, blocks, threads or instruction sets; docs/numerics.md says how the native backend orders its sums.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from headstart.backends.checks import check_batch, check_context, check_fork, check_keep, check_taps
from headstart.errors import InputError, NumericsError
from headstart.models.config import ModelConfig, Rope, Weights
from headstart.models.dequantise import dequantise
from headstart.protocols import Batch

__all__ = [
    "Layer",
    "Linear",
    "Network",
    "Pending",
    "ReferenceModel",
    "ReferenceRows",
    "Token",
    "attend",
    "frozen",
    "rms_norm",
    "rotate",
    "round_to_half",
    "round_to_int8",
    "silu",
    "vector",
]

Array = NDArray[np.float32]
Precision = Literal["auto", "float32"]
FLOAT_KINDS = ("F32", "F16", "BF16")
BLOCK = 32
LARGEST_HALF = np.float32(65504)
SMALLEST = np.float32(2.0**-100)


class ReferenceModel:
    """A loaded model as plain NumPy.

    Parameters
    ----------
    weights : Weights
    context : int, optional
        Most tokens a sequence may hold; by default, and at most, the length the model was made for.
    precision : {"float32", "auto"}
        ``"auto"`` rounds where the native backend does: the inputs of quantised matrices to int8 per block of 32, keys
        and values to half precision. ``"float32"`` rounds nothing.
    """

    row_invariant = True

    def __init__(self, weights: Weights, *, context: int | None = None, precision: Precision = "float32") -> None:
        config = weights.config
        self.vocab_size = config.vocab_size
        self.context = check_context(context, config.context_length)
        self._network = Network(weights, precision)
        self.numerics_id = f"reference-{precision}"
        self._layer_count = config.layer_count
        self._kept: dict[int, list[Token]] = {}
        self._opened = 0
        self._pending: dict[int, dict[int, Pending]] = {}

    def open(self) -> int:
        """Start an empty sequence; returns its handle."""
        return self._add([])

    def fork(self, sequence: int, length: int | None = None) -> int:
        """New sequence with the first ``length`` (default: all) kept tokens of another."""
        kept = self._tokens(sequence)
        return self._add(kept[: check_fork(sequence, length, len(kept))])

    def close(self, sequence: int) -> None:
        """Forget a sequence."""
        self._tokens(sequence)
        del self._kept[sequence]
        self._pending.pop(sequence, None)

    def length(self, sequence: int) -> int:
        """Number of kept tokens."""
        return len(self._tokens(sequence))

    def forward(self, batch: Batch, *, taps: Sequence[int] = ()) -> ReferenceRows:
        """One pass: each row on its own, parents before their children."""
        lengths = {sequence: len(kept) for sequence, kept in self._kept.items()}
        check_batch(batch, lengths, vocab_size=self.vocab_size, context=self.context)
        check_taps(taps, self._layer_count)
        for sequence in set(batch.sequences.tolist()):
            self._pending[sequence] = {}
        logits: dict[int, Array] = {}
        hidden: dict[tuple[int, int], Array] = {}
        for row, (sequence, token, parent) in enumerate(
            zip(batch.sequences.tolist(), batch.tokens.tolist(), batch.parents.tolist(), strict=True)
        ):
            computed, states = self._network.token(token, self._before(sequence, parent))
            self._pending[sequence][row] = Pending(parent, computed)
            hidden.update({(tap, row): frozen(states[tap]) for tap in taps})
            if batch.wanted[row]:
                logits[row] = frozen(self._network.logits(states[-1]))
        return ReferenceRows(logits, hidden)

    def keep(self, sequence: int, rows: Sequence[int]) -> None:
        """Keep these rows of its last pass, a path from the kept text downwards, and drop the others."""
        kept, pending = self._tokens(sequence), self._pending.get(sequence, {})
        check_keep(sequence, rows, {row: p.parent for row, p in pending.items()})
        kept.extend(pending[row].token for row in rows)
        self._pending[sequence] = {}

    def _add(self, tokens: list[Token]) -> int:
        self._opened += 1
        self._kept[self._opened] = tokens
        return self._opened

    def _tokens(self, sequence: int) -> list[Token]:
        if sequence not in self._kept:
            raise InputError(f"there is no sequence {sequence}; the open ones are {sorted(self._kept)}")
        return self._kept[sequence]

    def _before(self, sequence: int, row: int) -> list[Token]:
        """The kept tokens, then the ancestors down to ``row`` itself (-1: none)."""
        path: list[Token] = []
        while row >= 0:
            pending = self._pending[sequence][row]
            path.insert(0, pending.token)
            row = pending.parent
        return [*self._kept[sequence], *path]


@dataclass(frozen=True, eq=False)
class ReferenceRows:
    """What a pass computed: logits by row, hidden states by (layer, row)."""

    wanted: Mapping[int, Array]
    states: Mapping[tuple[int, int], Array]

    def argmax(self, row: int) -> int:
        """Lowest id among the largest logits."""
        return int(np.argmax(self._numbers(row)))

    def top(self, row: int, count: int) -> tuple[NDArray[np.int64], Array]:
        """Ids and logits of the ``count`` largest, descending, ties by lowest id."""
        logits = self._numbers(row)
        ids = np.argsort(-logits, kind="stable")[:count].astype(np.int64)
        return ids, logits[ids]

    def logits(self, row: int) -> Array:
        """The whole row, shape (vocab,), read-only."""
        if row not in self.wanted:
            raise InputError(f"row {row} has no logits; the rows wanted in this pass are {sorted(self.wanted)}")
        return self.wanted[row]

    def hidden(self, tap: int, row: int) -> Array:
        """Hidden state entering layer ``tap``, or leaving the last one."""
        if (tap, row) not in self.states:
            taps = sorted({tap for tap, _ in self.states})
            raise InputError(f"no hidden state at layer {tap} of row {row}; the layers tapped in this pass are {taps}")
        return self.states[tap, row]

    def _numbers(self, row: int) -> Array:
        logits = self.logits(row)
        if np.isnan(logits).any():
            raise NumericsError(f"a logit of row {row} is not a number: the model's weights are damaged or overflow")
        return logits


@dataclass(frozen=True, eq=False)
class Token:
    """What later rows see of a computed token: for each layer its keys and values, of shape (kv heads, head size)."""

    keys: list[Array]
    values: list[Array]


@dataclass(frozen=True, eq=False)
class Pending:
    """A row of a sequence's last pass, not yet kept."""

    parent: int
    token: Token


class Network:
    """The equations: a token and those before it in, hidden states out."""

    def __init__(self, weights: Weights, precision: Precision) -> None:
        self.config = weights.config
        self.embed = dequantise(weights.tensors["embed"])
        self.layers = [Layer(weights, index, precision) for index in range(weights.config.layer_count)]
        self.final_norm = dequantise(weights.tensors["final_norm"])
        self.head = Linear(weights, "head" if "head" in weights.tensors else "embed", precision)

    def token(self, token: int, past: list[Token]) -> tuple[Token, list[Array]]:
        """Compute one token after ``past``: its keys and values, and the states before, between and after the layers."""
        computed = Token([], [])
        states = [self.embed[token]]
        with np.errstate(all="ignore"):
            for layer in self.layers:
                states.append(layer(states[-1], past, computed))
        return computed, states

    def logits(self, state: Array) -> Array:
        """Scores of the next token, shape (vocab,)."""
        with np.errstate(all="ignore"):
            return self.head(rms_norm(state, self.final_norm, self.config.norm_epsilon))


class Layer:
    """One transformer block: ``x + attention(norm(x))``, then ``x + mlp(norm(x))``."""

    def __init__(self, weights: Weights, index: int, precision: Precision) -> None:
        self.config: ModelConfig = weights.config
        self.stored = round_to_half if precision == "auto" else np.array
        self.index = index
        self.q, self.k, self.v, self.o, self.gate, self.up, self.down = (
            Linear(weights, f"{index}.{name}", precision) for name in ("q", "k", "v", "o", "gate", "up", "down")
        )
        self.attn_norm, self.mlp_norm = (dequantise(weights.tensors[f"{index}.{x}"]) for x in ("attn_norm", "mlp_norm"))
        self.q_norm, self.k_norm = (vector(weights, f"{index}.{name}") for name in ("q_norm", "k_norm"))

    def __call__(self, x: Array, past: list[Token], token: Token) -> Array:
        """Hidden state after this layer; the token's keys and values of this layer are added to ``token``."""
        epsilon = self.config.norm_epsilon
        x = x + self._attention(rms_norm(x, self.attn_norm, epsilon), past, token)
        h = rms_norm(x, self.mlp_norm, epsilon)
        return x + self.down(silu(self.gate(h)) * self.up(h))

    def _attention(self, h: Array, past: list[Token], token: Token) -> Array:
        position = len(past)
        token.keys.append(self.stored(self._heads(self.k(h), self.k_norm, position)))
        token.values.append(self.stored(self.v(h).reshape(-1, self.config.head_size)))
        seen = [*past, token][-(self.config.windows[self.index] or position + 1) :]
        keys = np.stack([t.keys[self.index] for t in seen])
        values = np.stack([t.values[self.index] for t in seen])
        return self.o(attend(self._heads(self.q(h), self.q_norm, position), keys, values))

    def _heads(self, x: Array, norm: Array | None, position: int) -> Array:
        """Split into heads, normalise each where the model does, and turn by the position."""
        heads = x.reshape(-1, self.config.head_size)
        if norm is not None:
            heads = rms_norm(heads, norm, self.config.norm_epsilon)
        return rotate(heads, position, self.config.rope)


class Linear:
    """``W x + b``: each output one product of a row of W with x, summed by NumPy in an order that only its length sets."""

    def __init__(self, weights: Weights, name: str, precision: Precision) -> None:
        tensor = weights.tensors[name]
        self.matrix = dequantise(tensor)
        self.bias = vector(weights, f"{name}_bias")
        self.rounds = precision == "auto" and tensor.kind not in FLOAT_KINDS

    def __call__(self, x: Array) -> Array:
        """Multiply one vector of shape (inputs,)."""
        y: Array = (self.matrix * (round_to_int8(x) if self.rounds else x)).sum(axis=1)
        if self.bias is not None:
            y += self.bias
        return y


def vector(weights: Weights, name: str) -> Array | None:
    """The values of a tensor, or None where the model has no such tensor."""
    return dequantise(weights.tensors[name]) if name in weights.tensors else None


def rms_norm(x: Array, weight: Array, epsilon: float) -> Array:
    """``x / sqrt(mean(x²) + epsilon) * weight`` over the last axis."""
    mean = (x * x).sum(axis=-1, keepdims=True) / np.float32(x.shape[-1])
    normed: Array = x / np.sqrt(mean + np.float32(epsilon)) * weight
    return normed


def rotate(x: Array, position: int, rope: Rope) -> Array:
    """Turn each pair of a head's numbers by ``position`` times the pair's frequency; shape (heads, head size)."""
    angles = position * np.array(rope.inverse_frequencies)
    cosine = (np.cos(angles) * rope.attention_factor).astype(np.float32)
    sine = (np.sin(angles) * rope.attention_factor).astype(np.float32)
    half, out = len(angles), np.array(x)
    first, second = (
        (slice(0, 2 * half, 2), slice(1, 2 * half, 2)) if rope.interleaved else (slice(half), slice(half, 2 * half))
    )
    out[:, first] = x[:, first] * cosine - x[:, second] * sine
    out[:, second] = x[:, second] * cosine + x[:, first] * sine
    return out


def attend(query: Array, keys: Array, values: Array) -> Array:
    """Softmax attention of one row.

    Parameters
    ----------
    query : ndarray of shape (heads, head size)
    keys, values : ndarray of shape (tokens, kv heads, head size)
        In logical order; head h reads kv head ``h // (heads / kv heads)``.

    Returns
    -------
    ndarray of shape (heads * head size,)
    """
    group = len(query) // keys.shape[1]
    keys, values = keys.repeat(group, axis=1), values.repeat(group, axis=1)
    scores = (keys * query).sum(axis=2) / np.float32(np.sqrt(query.shape[1]))
    weights = np.exp(scores - scores.max(axis=0))[:, :, None]
    mixed: Array = (weights * values).sum(axis=0) / weights.sum(axis=0)
    return mixed.reshape(-1)


def silu(x: Array) -> Array:
    """``x / (1 + exp(-x))``."""
    y: Array = x / (np.float32(1) + np.exp(-x))
    return y


def round_to_int8(x: Array) -> Array:
    """Round a vector to signed 8-bit steps, block by block.

    Parameters
    ----------
    x : ndarray of shape (n,), dtype float32, n a multiple of 32

    Returns
    -------
    ndarray of shape (n,), dtype float32
        In each block of 32: ``scale * round(x / scale)`` with ``scale = max|x| / 127``, ties to even. Where one number
        towers over the rest (the mean square of the codes is below a twentieth of 127 squared), what is left of x is
        rounded once more in the same way and added. Blocks whose largest number is below 2**-100 become zeros; a NaN or
        an infinity spoils its block.
    """
    blocks = x.reshape(-1, BLOCK)
    codes, scale = _int8_codes(blocks)
    rounded = codes * scale
    squares = np.square(codes).sum(axis=1, keepdims=True)
    towering = (squares > 0) & (20 * squares < BLOCK * 127**2)
    second_codes, second_scale = _int8_codes(blocks - rounded)
    return np.where(towering, rounded + second_codes * second_scale, rounded).reshape(-1)


def _int8_codes(blocks: Array) -> tuple[Array, Array]:
    """Codes (blocks, 32) and scales (blocks, 1), both float32."""
    largest = np.abs(blocks).max(axis=1, keepdims=True)
    inverse = np.where(largest >= SMALLEST, np.float32(127) / largest, np.float32(0))
    return np.rint(blocks * inverse), largest / np.float32(127)


def round_to_half(x: Array) -> Array:
    """Half precision, ties to even; numbers beyond its range become its largest."""
    return np.clip(x, -LARGEST_HALF, LARGEST_HALF).astype(np.float16).astype(np.float32)


def frozen(x: Array) -> Array:
    """The same array, read-only."""
    x.flags.writeable = False
    return x
