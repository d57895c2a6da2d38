"""What pictures of figures have in common: they take the ``plot`` extra and a file that can be written.

Knows nothing of what is drawn.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from headstart.errors import InputError

__all__ = ["check_picture", "save_picture"]


def check_picture(path: Path) -> None:
    """Refuse what could not be drawn, before anything is worked out for it."""
    if find_spec("matplotlib") is None:
        raise InputError("a picture takes matplotlib; install it with: pip install 'headstart[plot]'")
    if path.suffix not in (".png", ".svg", ".pdf"):
        raise InputError(f"{path} has no ending of a picture; use .png, .svg or .pdf")
    if not path.parent.is_dir():
        raise InputError(f"{path} cannot be written: its folder is not there; choose another file")


def save_picture(figure: Any, path: Path) -> None:
    """Write a matplotlib figure in the format of the file's ending."""
    try:
        figure.savefig(path)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}; choose another file") from None
