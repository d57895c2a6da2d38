"""Typed, range-checked look-ups in a file's metadata, so that no reader trusts what it reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from headstart.errors import CorruptModelError

__all__ = ["Fields"]

_LARGEST = 2**31 - 1
_LARGEST_NUMBER = 1e12  # far beyond any base or factor in use


@dataclass(frozen=True)
class Fields:
    """Metadata of one file: every look-up says what type and range it expects.

    A key that holds None counts as absent. Where a key is absent its default is returned as it is; without a default,
    and for a value of the wrong type or range, CorruptModelError names the file, the key and what is allowed.
    """

    values: Mapping[str, Any]
    source: str

    def has(self, key: str) -> bool:
        return self.values.get(key) is not None

    def integer(self, key: str, default: int | None = None, *, low: int = 0, high: int = _LARGEST) -> int:
        """A whole number in ``[low, high]``."""
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or not low <= value <= high:
            raise self._refusal(key, f"a whole number from {low} to {high}")
        return int(value)

    def number(
        self, key: str, default: float | None = None, *, low: float = 0.0, high: float = _LARGEST_NUMBER
    ) -> float:
        """A number in ``[low, high]``."""
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float | np.number):
            raise self._refusal(key, "a number")
        if not low <= value <= high:
            raise self._refusal(key, f"a number from {low:g} to {high:g}")
        return float(value)

    def text(self, key: str, default: str | None = None) -> str:
        value = self._value(key, default)
        if not isinstance(value, str):
            raise self._refusal(key, "a string")
        return value

    def flag(self, key: str, default: bool | None = None) -> bool:
        value = self._value(key, default)
        if not isinstance(value, bool):
            raise self._refusal(key, "true or false")
        return value

    def strings(self, key: str) -> list[str]:
        value = self._value(key, None)
        if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
            raise self._refusal(key, "a list of strings")
        return value

    def section(self, key: str) -> Fields:
        """A nested mapping; empty where absent."""
        value = self.values.get(key)
        if value is None:
            value = {}
        if not isinstance(value, Mapping):
            raise self._refusal(key, "an object")
        return Fields(value, f"{self.source}, {key}")

    def _value(self, key: str, default: Any) -> Any:
        value = self.values.get(key)
        if value is None:
            value = default
        if value is None:
            raise CorruptModelError(f"{self.source} is damaged or incomplete: it does not say {key}.")
        return value

    def _refusal(self, key: str, allowed: str) -> CorruptModelError:
        shown = repr(self.values.get(key))
        shown = shown if len(shown) < 60 else shown[:57] + "..."
        return CorruptModelError(f"{self.source} is damaged: {key} is {shown}, but must be {allowed}.")
