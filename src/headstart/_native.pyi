"""Types of the compiled module; cpp/bind_*.cpp say what the arrays hold."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Integers = NDArray[np.int32]

def available_isas() -> list[str]: ...
def chosen_isa() -> str: ...
def time_reading(bytes: int, threads: int, rounds: int) -> list[float]: ...  # noqa: A002
def time_products(steps: Sequence[Sequence[Matrix]], rows: int, threads: int, rounds: int) -> list[float]: ...

class Matrix:
    def __init__(self, kind: str, outputs: int, inputs: int, raw: NDArray[np.uint8], isa: str) -> None: ...
    outputs: int
    inputs: int
    bytes: int
    group: int
    prepare_id: int
    def prepare(self, x: Floats) -> NDArray[np.uint8]: ...
    def multiply(self, x: Floats, begin: int, end: int) -> Floats: ...
    def row(self, output: int) -> Floats: ...

class Shape:
    def __init__(
        self,
        *,
        vocab_size: int,
        hidden_size: int,
        intermediate_size: int,
        layer_count: int,
        head_count: int,
        kv_head_count: int,
        head_size: int,
        norm_epsilon: float,
        inverse_frequencies: Sequence[float],
        attention_factor: float,
        interleaved: bool,
        windows: Sequence[int],
    ) -> None: ...

class Result:
    places: list[int]
    def argmax(self, place: int) -> tuple[int, bool]: ...
    def logits(self, place: int) -> Floats: ...
    def hidden(self, tap: int, row: int) -> Floats: ...

class Model:
    def __init__(
        self,
        *,
        shape: Shape,
        tensors: dict[str, tuple[str, int, int, NDArray[np.uint8], bool]],
        isa: str,
        threads: int,
        context: int,
        precise: bool,
    ) -> None: ...
    isa: str
    quantised: bool
    weight_bytes: int
    cache_bytes: int
    def open(self) -> int: ...
    def fork(self, sequence: int, length: int) -> int: ...
    def close(self, sequence: int) -> None: ...
    def length(self, sequence: int) -> int: ...
    def lengths(self) -> dict[int, int]: ...
    def pending(self, sequence: int) -> dict[int, int]: ...
    def keep(self, sequence: int, rows: Sequence[int]) -> None: ...
    def forward(
        self,
        sequences: Integers,
        tokens: Integers,
        parents: Integers,
        wanted: NDArray[np.bool_],
        taps: Sequence[int],
    ) -> Result: ...

def warp(
    logits: NDArray[np.float32],
    top: float,
    inverse_temperature: float,
    top_k: int,
    top_p: float,
    min_p: float,
    isa: str | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.int64] | None]: ...
def largest(logits: NDArray[np.float32], count: int, isa: str | None = None) -> NDArray[np.int64]: ...
def race(
    weights: NDArray[np.float64],
    ids: NDArray[np.int64] | None,
    key: tuple[int, int],
    count: int,
    isa: str | None = None,
) -> list[int]: ...
def pick(weights: NDArray[np.float64], u: float) -> int: ...
def excess(
    p: NDArray[np.float64], q: NDArray[np.float64], scale: float, isa: str | None = None
) -> tuple[NDArray[np.float64], float]: ...
def total(values: NDArray[np.float64], isa: str | None = None) -> float: ...
def words(key: tuple[int, int], counter: tuple[int, int]) -> tuple[int, int]: ...
def likeliest(
    logits: NDArray[np.float32], count: int, isa: str | None = None
) -> tuple[float, list[int], list[float]]: ...
def log(x: float) -> float: ...
