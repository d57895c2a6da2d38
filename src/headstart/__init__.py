"""Headstart: the same text, sooner. Lossless speculative decoding on a CPU.

Names are imported from their modules when they are first used, so that ``import headstart`` costs next to nothing.

>>> import headstart
>>> headstart.Draft.chain([5, 7]).tokens
(5, 7)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headstart.engine import Engine
    from headstart.errors import HeadstartError
    from headstart.grammar import Grammar
    from headstart.law import Law
    from headstart.options import Options
    from headstart.protocols import Drafter, Model, Needs, Verdict, Verifier
    from headstart.result import Piece, Result, Statistics
    from headstart.stream import Stream
    from headstart.tree import Draft

__all__ = [
    "Draft",
    "Drafter",
    "Engine",
    "Grammar",
    "HeadstartError",
    "Law",
    "Model",
    "Needs",
    "Options",
    "Piece",
    "Result",
    "Statistics",
    "Stream",
    "Verdict",
    "Verifier",
]

_HOMES = {
    "engine": ("Engine",),
    "errors": ("HeadstartError",),
    "grammar": ("Grammar",),
    "law": ("Law",),
    "options": ("Options",),
    "protocols": ("Drafter", "Model", "Needs", "Verdict", "Verifier"),
    "result": ("Piece", "Result", "Statistics"),
    "stream": ("Stream",),
    "tree": ("Draft",),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"headstart.{home}"), name)
    raise AttributeError(f"module 'headstart' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
