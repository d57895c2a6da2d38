"""Reads safetensors files without trusting them, as views into the mapped file.

The ``safetensors`` package would copy every tensor and has no bfloat16 without torch; the format is a JSON header and
raw bytes, so the checks are the whole work.
"""

from __future__ import annotations

import json
import math
import mmap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from headstart.errors import CorruptModelError, ModelNotFoundError, UnsupportedModelError
from headstart.models.config import Tensor
from headstart.models.kinds import KINDS

__all__ = ["SafetensorsFile", "read_safetensors"]

_MAX_HEADER_BYTES = 100_000_000  # the format's own limit
_KINDS = ("F32", "F16", "BF16")


@dataclass(frozen=True, eq=False)
class SafetensorsFile:
    """Header of a safetensors file, and access to its tensors.

    Parameters
    ----------
    path : Path
    entries : mapping of str to the header's entry, not yet checked
    content : ndarray of uint8
        Everything behind the header.
    """

    path: Path
    entries: Mapping[str, Any]
    content: NDArray[np.uint8]

    def tensor(self, name: str) -> Tensor:
        """One tensor, a view into the mapped file.

        Raises
        ------
        UnsupportedModelError
            Its numbers are not F32, F16 or BF16.
        CorruptModelError
            Its bytes do not lie inside the file, or their number does not follow from its shape.
        """
        entry = self.entries[name]
        if not isinstance(entry, dict) or not isinstance(entry.get("dtype"), str):
            self._damaged(name, "is not described")
        kind = entry["dtype"]
        if kind not in _KINDS:
            raise UnsupportedModelError(
                f"{self.path}: tensor {name} is stored as {kind}, which is not supported; supported are {', '.join(_KINDS)}."
            )
        shape, span = _whole_numbers(entry.get("shape")), _whole_numbers(entry.get("data_offsets"))
        if len(span) != 2 or not shape or 0 in shape:
            self._damaged(name, "has no proper shape and place")
        begin, end = span
        if not begin <= end <= len(self.content):
            self._damaged(name, f"lies at bytes {begin} to {end} of {len(self.content)}; the file may be truncated")
        if end - begin != math.prod(shape) * KINDS[kind].size_bytes:
            self._damaged(name, f"has shape {tuple(shape)}, which does not fill its {end - begin} bytes")
        return Tensor(kind, tuple(shape), self.content[begin:end])

    def _damaged(self, name: str, what: str) -> NoReturn:
        raise CorruptModelError(f"{self.path} is damaged: tensor {name} {what}.")


def read_safetensors(path: Path) -> SafetensorsFile:
    """Map a safetensors file and parse its header.

    Raises
    ------
    ModelNotFoundError
        The file cannot be opened.
    CorruptModelError
        It is not a safetensors file, or is truncated or damaged.
    """
    try:
        with path.open("rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except ValueError as error:  # an empty file cannot be mapped
        raise CorruptModelError(f"{path} is empty; fetch it again.") from error
    except OSError as error:
        raise ModelNotFoundError(f"{path} cannot be opened: {error.strerror or error}.") from error
    size = int.from_bytes(content[:8], "little")
    if len(content) < 8 or size > min(len(content) - 8, _MAX_HEADER_BYTES):
        raise CorruptModelError(f"{path} is truncated or is not a safetensors file; fetch it again.")
    entries = _header(path, content[8 : 8 + size])
    return SafetensorsFile(path, entries, np.frombuffer(content, np.uint8)[8 + size :])


def _header(path: Path, raw: bytes) -> dict[str, Any]:
    try:
        entries = json.loads(raw, object_pairs_hook=_without_twins)
    except (ValueError, RecursionError) as error:
        raise CorruptModelError(f"{path} is damaged: its header is not valid JSON.") from error
    if not isinstance(entries, dict):
        raise CorruptModelError(f"{path} is damaged: its header is not an object.")
    entries.pop("__metadata__", None)
    return entries


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _whole_numbers(values: Any) -> list[int]:
    """The list, if it is one of whole numbers; else an empty one."""
    proper = isinstance(values, list) and all(type(value) is int and 0 <= value < 2**63 for value in values)
    return values if proper else []
