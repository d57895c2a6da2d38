"""Reads GGUF files without trusting them: metadata, and tensors as views into the mapped file.

It does not know what the metadata mean. Every count, length and offset is checked against the file's size before it is
used, so a damaged file gives CorruptModelError; memory grows only with bytes that are really there.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstart.errors import CorruptModelError, ModelNotFoundError, UnsupportedModelError
from headstart.models.config import Tensor
from headstart.models.kinds import KINDS, byte_count, kind_of, kind_title

__all__ = ["GgufFile", "read_gguf"]

_SCALARS = {
    0: "<u1",
    1: "<i1",
    2: "<u2",
    3: "<i2",
    4: "<u4",
    5: "<i4",
    6: "<f4",
    7: "<u1",
    10: "<u8",
    11: "<i8",
    12: "<f8",
}
_CODES = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<B", 10: "<Q", 11: "<q", 12: "<d"}
_BOOL, _STRING, _ARRAY = 7, 8, 9
_MAX_DIMENSIONS = 4
_MAX_ALIGNMENT = 2**20


@dataclass(frozen=True)
class _Entry:
    """A tensor as the header announces it; nothing of it is checked yet but its number of dimensions."""

    number: int
    shape: tuple[int, ...]
    offset: int


@dataclass(frozen=True, eq=False)
class GgufFile:
    """Header of a GGUF file, and access to its tensors.

    Parameters
    ----------
    path : Path
    metadata : mapping of str to int, float, bool, str, ndarray or list of str
    entries : mapping of str to the announced type, shape and offset
    """

    path: Path
    metadata: Mapping[str, Any]
    entries: Mapping[str, _Entry]
    data_start: int
    content: NDArray[np.uint8]

    def tensor(self, name: str) -> Tensor:
        """One tensor, a view into the mapped file.

        Raises
        ------
        UnsupportedModelError
            Its type is not one of ours.
        CorruptModelError
            Its shape does not fit its type, or its bytes do not lie inside the file.
        """
        entry = self.entries[name]
        kind = kind_of(entry.number)
        if kind is None:
            raise UnsupportedModelError(
                f"{self.path}: tensor {name} is stored as {kind_title(entry.number)}, which is not supported; "
                f"supported are {', '.join(KINDS)}."
            )
        size = byte_count(kind, entry.shape)
        if size is None:
            raise CorruptModelError(f"{self.path} is damaged: shape {entry.shape} of {name} does not fit type {kind}.")
        start = self.data_start + entry.offset
        if start + size > len(self.content):
            raise CorruptModelError(
                f"{self.path} is truncated: tensor {name} ends at byte {start + size}, "
                f"the file at {len(self.content)}; fetch it again."
            )
        return Tensor(kind, entry.shape, self.content[start : start + size])


def read_gguf(path: Path) -> GgufFile:
    """Map a GGUF file and parse its header.

    Raises
    ------
    ModelNotFoundError
        The file cannot be opened.
    CorruptModelError
        It is not GGUF, or is truncated or damaged.
    UnsupportedModelError
        It is big-endian, or of a version other than 2 and 3.
    """
    content = _map(path)
    cursor = _Cursor(path, content)
    counts = _preamble(cursor)
    metadata = _metadata(cursor, counts[1])
    entries = _entries(cursor, counts[0])
    alignment = _alignment(metadata, path)
    data_start = -(-cursor.position // alignment) * alignment
    for name, entry in entries.items():
        if entry.offset % alignment:
            raise cursor.damaged(f"tensor {name} lies at offset {entry.offset}, which is not a multiple of {alignment}")
    return GgufFile(path, metadata, entries, data_start, np.frombuffer(content, np.uint8))


def _map(path: Path) -> mmap.mmap:
    try:
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except ValueError as error:  # an empty file cannot be mapped
        raise CorruptModelError(f"{path} is empty; fetch it again.") from error
    except OSError as error:
        raise ModelNotFoundError(f"{path} cannot be opened: {error.strerror or error}.") from error


def _preamble(cursor: _Cursor) -> tuple[int, int]:
    """Check magic and version; returns the numbers of tensors and of metadata."""
    if cursor.take(4) != b"GGUF":
        raise CorruptModelError(f"{cursor.path} is not a GGUF file: it does not begin with the letters GGUF.")
    version = cursor.scalar(4)
    if version not in (2, 3):
        shown = "big-endian" if version & 0xFFFF == 0 else f"version {version}"
        raise UnsupportedModelError(f"{cursor.path} is {shown} GGUF; supported are little-endian versions 2 and 3.")
    return cursor.scalar(10), cursor.scalar(10)


def _metadata(cursor: _Cursor, count: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(count):
        key = cursor.string()
        if key in found:
            raise cursor.damaged(f"metadata {key!r} occurs twice")
        found[key] = cursor.value(cursor.scalar(4))
    return found


def _entries(cursor: _Cursor, count: int) -> dict[str, _Entry]:
    found: dict[str, _Entry] = {}
    for _ in range(count):
        name = cursor.string()
        if name in found:
            raise cursor.damaged(f"tensor {name!r} occurs twice")
        dimensions = cursor.scalar(4)
        if not 1 <= dimensions <= _MAX_DIMENSIONS:
            raise cursor.damaged(f"tensor {name!r} has {dimensions} dimensions")
        sizes = [cursor.scalar(10) for _ in range(dimensions)]
        if not all(sizes):
            raise cursor.damaged(f"tensor {name!r} has an empty dimension")
        found[name] = _Entry(cursor.scalar(4), tuple(reversed(sizes)), cursor.scalar(10))
    return found


def _alignment(metadata: Mapping[str, Any], path: Path) -> int:
    value = metadata.get("general.alignment", 32)
    if not isinstance(value, int) or not 1 <= value <= _MAX_ALIGNMENT or value & (value - 1):
        raise CorruptModelError(f"{path} is damaged: general.alignment is {value!r}, but must be a power of two.")
    return value


class _Cursor:
    """A position in the mapped file that never passes its end."""

    def __init__(self, path: Path, content: mmap.mmap) -> None:
        self.path = path
        self.content = content
        self.size = len(content)
        self.position = 0

    def damaged(self, what: str) -> CorruptModelError:
        return CorruptModelError(f"{self.path} is damaged: {what} (near byte {self.position}); fetch it again.")

    def claim(self, size: int) -> int:
        """Advance by ``size`` bytes that must be there; returns where they begin."""
        start = self.position
        if size > self.size - start:
            raise CorruptModelError(
                f"{self.path} is truncated or damaged: {size} bytes are announced at byte {start}, "
                f"but the file ends at {self.size}; fetch it again."
            )
        self.position = start + size
        return start

    def take(self, size: int) -> bytes:
        start = self.claim(size)
        return self.content[start : start + size]

    def scalar(self, number: int) -> Any:
        code = _CODES[number]
        value = struct.unpack_from(code, self.content, self.claim(struct.calcsize(code)))[0]
        return value != 0 if number == _BOOL else value

    def string(self) -> str:
        return self._decode(self.take(self.scalar(10)))

    def value(self, number: int) -> Any:
        if number == _STRING:
            return self.string()
        if number == _ARRAY:
            return self._array(self.scalar(4), self.scalar(10))
        if number not in _CODES:
            raise self.damaged(f"metadata of unknown type {number}")
        return self.scalar(number)

    def _array(self, number: int, count: int) -> Any:
        if number == _STRING:
            return self._strings(count)
        if number not in _SCALARS:
            raise self.damaged(f"an array of unknown or nested type {number}")
        kind = np.dtype(_SCALARS[number])
        start = self.claim(count * kind.itemsize)
        values = np.frombuffer(self.content, kind, count, start) if count else np.empty(0, kind)
        return values != 0 if number == _BOOL else values

    def _strings(self, count: int) -> list[str]:
        """Vocabularies have some 100 000 strings, so this loop is kept bare."""
        if count > (self.size - self.position) // 8:
            self.claim(8 * count)
        content, size, position = self.content, self.size, self.position
        length_at: Callable[..., tuple[int]] = struct.Struct("<Q").unpack_from
        found = []
        for _ in range(count):
            begin = position + 8
            if begin > size or length_at(content, position)[0] > size - begin:
                self.position = position
                raise self.damaged("a list of strings runs past the end of the file")
            position = begin + length_at(content, position)[0]
            found.append(content[begin:position])
        self.position = position
        return [self._decode(entry) for entry in found]

    def _decode(self, raw: bytes) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            raise self.damaged("a string is not valid UTF-8") from error
