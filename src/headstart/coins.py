"""Coins: all randomness, keyed and counter-based, the same bits in NumPy, C++ and JavaScript.

Threefry-2x32 with 20 rounds makes two 32-bit words from a key and a counter; two words make a uniform; everything else is
+ - x / in float64, one rounding each. Knows nothing of models, drafts or verification.

Keys. A seed below 2**64 is the key ``(low word, high word)``. From it, with ``T(key, counter)`` for Threefry:

===============  ================================================  ==========================================
choice key       ``T(seed, (choice, 0))``                          one per answer of a request
position key     ``T(choice key, (position, 1))``                  one per absolute position of the text
round key        ``T(choice key, (round, 2))``                     one per round
target noise     ``T(position key, (token id, 0))``                may be looked at any number of times
any other coin   ``T(round key, (node + 1, stream))``              drawn once; streams: propose, accept, recover
===============  ================================================  ==========================================

Coins keyed by position alone would meet the next round conditioned by the last verdict, which makes block verification
lossy; hence the round in their key.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from headstart.errors import InputError
from headstart.law import Law, Number
from headstart.native import native

__all__ = ["Coin", "RoundCoins", "exp", "log", "noise", "pick", "race", "threefry", "uniform", "words"]

Key = tuple[int, int]
Stream = Literal["propose", "accept", "recover", "target"]
STREAMS: dict[Stream, int] = {"propose": 0, "accept": 1, "recover": 2}

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA
_MASK = 0xFFFFFFFF

LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1")
"""Upper bits of ln 2, short enough that ``k * LN2_HIGH`` is exact for every exponent k."""
LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
LOG2_E = float.fromhex("0x1.71547652b82fep+0")
ROUNDER = 6755399441055744.0
"""1.5 * 2**52: adding and subtracting it rounds to the nearest integer."""
ATANH = tuple(2.0 / n for n in range(3, 23, 2))
"""Series of ``2 atanh(s) / s - 2`` in s**2; the first term left out is below 2**-57 for ``|s| <= 3 - 2 sqrt(2)``."""
EXP = tuple(1.0 / f for f in (6227020800, 479001600, 39916800, 3628800, 362880, 40320, 5040, 720, 120, 24, 6, 2, 1, 1))
"""Taylor series of exp, highest power first; the first term left out is below 2**-57 for ``|r| <= ln(2) / 2``."""


def words(key: Key, counter: Key) -> Key:
    """Threefry-2x32-20 of one counter.

    Parameters
    ----------
    key, counter : pair of int below 2**32

    Returns
    -------
    pair of int below 2**32

    Notes
    -----
    Salmon, Moraes, Dror, Shaw (2011), "Parallel random numbers: as easy as 1, 2, 3".

    Examples
    --------
    >>> [hex(w) for w in words((0, 0), (0, 0))]
    ['0x6b200159', '0x99ba4efe']
    """
    schedule = (*key, key[0] ^ key[1] ^ _PARITY)
    x0, x1 = (counter[0] + key[0]) & _MASK, (counter[1] + key[1]) & _MASK
    for group in range(5):
        for r in _ROTATIONS[group % 2]:
            x0 = (x0 + x1) & _MASK
            x1 = (((x1 << r) | (x1 >> (32 - r))) & _MASK) ^ x0
        x0 = (x0 + schedule[(group + 1) % 3]) & _MASK
        x1 = (x1 + schedule[(group + 2) % 3] + group + 1) & _MASK
    return x0, x1


def threefry(key: Key, counters: NDArray[Any], second: int = 0) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Threefry-2x32-20 of many counters ``(counters[i], second)``; :func:`words` on arrays."""
    schedule = [np.uint32(k) for k in (*key, key[0] ^ key[1] ^ _PARITY)]
    x0 = counters.astype(np.uint32) + schedule[0]
    x1 = np.full(len(counters), (second + key[1]) & _MASK, dtype=np.uint32)
    for group in range(5):
        for r in _ROTATIONS[group % 2]:
            x0 = x0 + x1
            x1 = ((x1 << np.uint32(r)) | (x1 >> np.uint32(32 - r))) ^ x0
        x0 = x0 + schedule[(group + 1) % 3]
        x1 = x1 + np.uint32((int(schedule[(group + 2) % 3]) + group + 1) & _MASK)
    return x0, x1


def uniform(first: Any, second: Any) -> Any:
    """Turn two 32-bit words into a number strictly between 0 and 1: ``(k + 1/2) / 2**52``.

    ``k`` is the upper 52 of the 64 bits. With 53 the upper half would not be representable and the largest would round to 1.

    Examples
    --------
    >>> 0 < uniform(0, 0) < uniform(2**32 - 1, 2**32 - 1) < 1
    True
    """
    return (first * 1048576.0 + (second >> 12) + 0.5) * 2.0**-52


def log(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Natural logarithm of positive normal numbers, within 2 ulp, the same bits everywhere.

    Notes
    -----
    ``x = 2**k m`` with m between sqrt(1/2) and sqrt(2); ``log m = 2 atanh(s)``, ``s = (m - 1) / (m + 1)``.
    """
    m, k = np.frexp(x)
    low = m < 0.7071067811865476
    m = np.where(low, m + m, m)
    e = np.where(low, k - 1, k).astype(np.float64)
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    r = np.full_like(z, ATANH[-1])
    for c in reversed(ATANH[:-1]):
        r = r * z + c
    return np.asarray(e * LN2_HIGH + ((s + s) + (s * (r * z) + e * LN2_LOW)))


def exp(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Exponential function, within 2 ulp, the same bits everywhere; 0 from -708 down and infinite above 709.

    Notes
    -----
    ``x = k ln 2 + r`` with ``|r| <= ln(2) / 2``; Taylor series of degree 13 in r, times ``2**k``.
    """
    inside = np.minimum(np.maximum(x, -708.0), 709.0)
    k = (inside * LOG2_E + ROUNDER) - ROUNDER
    r = (inside - k * LN2_HIGH) - k * LN2_LOW
    y = np.full_like(r, EXP[0])
    for c in EXP[1:]:
        y = y * r + c
    y = np.ldexp(y, k.astype(np.int32))
    return np.asarray(np.where(x <= -708.0, 0.0, np.where(x > 709.0, np.inf, y)))


def noise(key: Key, ids: NDArray[Any]) -> NDArray[np.float64]:
    """Target noise of tokens at the position that ``key`` belongs to: uniforms, shape of ``ids``."""
    first, second = threefry(key, ids)
    return np.asarray(uniform(first.astype(np.float64), second), dtype=np.float64)


def race(law: Law, key: Key, count: int = 1) -> list[int]:
    """Run the exponential race: the ``count`` tokens of smallest ``-log(U) / weight``, first come first.

    The winner is a sample of ``law``, the same as the argmax of ``log(weight)`` plus Gumbel noise; the first k are a draw
    of k without replacement. Ties go to the lowest id. Tokens of weight 0 do not run.
    """
    if law.ids is not None and len(law.ids) == 1:
        return [int(law.ids[0])]
    weights = law.weights if law.weights.dtype == np.float64 else law.weights.astype(np.float64)
    if native is not None:
        winners: list[int] = native.race(weights, law.ids, key, count)
        return winners if law.ids is None else [int(law.ids[winner]) for winner in winners]
    ids, weights = _runners(law)
    with np.errstate(over="ignore"):
        times = -log(noise(key, ids)) / weights
    if count == 1:
        return [int(ids[np.argmin(times)])]
    return [int(ids[i]) for i in np.argsort(times, kind="stable")[:count]]


def _runners(law: Law) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    weights = law.weights.astype(np.float64)
    ids = np.arange(len(weights), dtype=np.int64) if law.ids is None else law.ids
    alive = weights > 0
    return (ids, weights) if alive.all() else (ids[alive], weights[alive])


def pick(law: Law, u: float) -> int:
    """Sample by one uniform: the first id whose running sum of weights exceeds ``u``."""
    weights = law.weights.astype(np.float64, copy=False)
    if native is not None:
        at = native.pick(weights, u)
    else:
        at = int(np.searchsorted(np.add.accumulate(weights), u, side="right"))
        if at == len(weights):  # they fall short of 1 by rounding: the last token that has any
            at = int(np.flatnonzero(weights)[-1])
    return at if law.ids is None else int(law.ids[at])


@dataclass(frozen=True)
class Coin:
    """One coin that was drawn: its key within the round (``place`` is a node, or a position for the target) and uniform.

    For target noise ``token`` is the token that won the race and ``uniform`` its own.
    """

    stream: Stream
    place: int
    uniform: float
    token: int | None = None


@lru_cache(maxsize=4096)
def _derived(key: Key, counter: Key) -> Key:
    return _words(key, counter)


def _words(key: Key, counter: Key) -> Key:
    """Same as words, natively."""
    return words(key, counter) if native is None else native.words(key, counter)


class RoundCoins:
    """The coins of one round of one choice of one request (the ``Coins`` seam).

    Parameters
    ----------
    seed : int, 0 <= seed < 2**64
    choice, round_ : int
        Which answer of the request, and which round of it; both from 0.
    log : list of Coin, optional
        Where every coin drawn is recorded, for a trace.

    Raises
    ------
    InputError
        If the seed is out of range.
    AssertionError
        When a coin that is not target noise is drawn twice.
    """

    def __init__(self, seed: int, choice: int = 0, round_: int = 0, *, log: list[Coin] | None = None) -> None:
        if not 0 <= seed < 2**64:
            raise InputError(f"seed is {seed}; it must be a whole number from 0 to 2**64 - 1")
        self._choice = _derived((seed & _MASK, seed >> 32), (choice, 0))
        self._number = round_
        self._drawn: set[tuple[Stream, int]] = set()
        self._log = log

    def target(self, law: Law, position: int) -> int:
        """Sample ``law`` by the target's own noise at an absolute position: this *is* plain sampling."""
        return self.rank(law, position, 1)[0]

    def rank(self, law: Law, position: int, count: int) -> list[int]:
        """Give the first ``count`` tokens of the race at a position; the first of them is :meth:`target`'s."""
        tokens = race(law, _derived(self._choice, (position, 1)), count)
        if self._log is not None:
            self._log.append(Coin("target", position, self.uniform_of(position, tokens[0]), tokens[0]))
        return tokens

    def uniform_of(self, position: int, token: int) -> float:
        """Target noise of one token at a position."""
        return float(uniform(*_words(_derived(self._choice, (position, 1)), (token, 0))))

    def accept(self, numerator: Number, denominator: Number, node: int) -> bool:
        """Return True with probability ``min(1, numerator / denominator)``: ``u * denominator < numerator``.

        A sure accept is sure even where the product is rounded up.
        """
        u = self._draw("accept", node)
        return bool(0 < denominator <= numerator or u * denominator < numerator)

    def recover(self, law: Law, node: int) -> int:
        """Draw the token that follows the last accepted node (recovered or bonus)."""
        return pick(law, self._draw("recover", node))

    def propose(self, law: Law, node: int) -> int:
        """Draw the token of draft node ``node``."""
        return pick(law, self._draw("propose", node))

    def _draw(self, stream: Stream, node: int) -> float:
        if (stream, node) in self._drawn:
            raise AssertionError(f"the {stream} coin of node {node} in round {self._number} was drawn twice")
        self._drawn.add((stream, node))
        key = _derived(self._choice, (self._number, 2))
        u = float(uniform(*_words(key, (node + 1, STREAMS[stream]))))
        if self._log is not None:
            self._log.append(Coin(stream, node, u))
        return u
