"""Block layouts of the tensor types that are supported: sizes only. Values are dequantise's business."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["KINDS", "Layout", "byte_count", "kind_of", "kind_title"]


@dataclass(frozen=True)
class Layout:
    """One tensor type: GGUF's number for it, values in a block, bytes of a block."""

    number: int
    values: int
    size_bytes: int


KINDS: dict[str, Layout] = {
    "F32": Layout(0, 1, 4),
    "F16": Layout(1, 1, 2),
    "BF16": Layout(30, 1, 2),
    "Q4_0": Layout(2, 32, 18),
    "Q4_1": Layout(3, 32, 20),
    "Q5_0": Layout(6, 32, 22),
    "Q5_1": Layout(7, 32, 24),
    "Q8_0": Layout(8, 32, 34),
    "Q4_K": Layout(12, 256, 144),
    "Q5_K": Layout(13, 256, 176),
    "Q6_K": Layout(14, 256, 210),
}

_BY_NUMBER = {layout.number: kind for kind, layout in KINDS.items()}

_OTHER_TITLES = {
    **dict(zip(range(9, 12), ("Q8_1", "Q2_K", "Q3_K"), strict=True)),
    **dict(zip(range(15, 20), ("Q8_K", "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S"), strict=True)),
    **dict(zip(range(20, 24), ("IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS"), strict=True)),
    **dict(zip(range(24, 30), ("I8", "I16", "I32", "I64", "F64", "IQ1_M"), strict=True)),
    34: "TQ1_0",
    35: "TQ2_0",
    39: "MXFP4",
}


def kind_of(number: int) -> str | None:
    """Kind of a GGUF type number, or None where it is not supported."""
    return _BY_NUMBER.get(number)


def kind_title(number: int) -> str:
    """What to call a GGUF type number in a sentence, supported or not."""
    return _BY_NUMBER.get(number) or _OTHER_TITLES.get(number) or f"type {number}"


def byte_count(kind: str, shape: tuple[int, ...]) -> int | None:
    """Bytes of a tensor, or None where its rows are not whole blocks.

    Examples
    --------
    >>> byte_count("Q4_1", (2, 64)), byte_count("Q4_1", (2, 40))
    (80, None)
    """
    layout = KINDS[kind]
    if not shape or shape[-1] % layout.values:
        return None
    return math.prod(shape) // layout.values * layout.size_bytes
