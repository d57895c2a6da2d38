"""The native module, or None where it was not built: whoever uses it on arrays has a NumPy twin of the same bits."""

from __future__ import annotations

from types import ModuleType

__all__ = ["native"]

native: ModuleType | None
try:
    from headstart import _native as native
except ImportError:
    native = None
