"""The lesson's files: where they are, what belongs to the site, and a copy of it for a static host.

Knows nothing of engines or servers.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from headstart.errors import InputError

__all__ = ["FOLDER", "PAGES", "PARTS", "export", "index"]

FOLDER = Path(__file__).parent
PAGES = ("index.html", "words.en.html", "words.zh.html")
PARTS = ("css", "js", "traces")

STATIC = '<meta name="engine" content="none">'
LIVE = '<meta name="engine" content="live">'


def index(*, live: bool) -> str:
    """Give the first page; ``live`` tells its scripts that an engine stands behind it."""
    page = (FOLDER / "index.html").read_text(encoding="utf-8")
    assert STATIC in page, "index.html must say that no engine stands behind it"
    return page.replace(STATIC, LIVE) if live else page


def export(folder: Path) -> None:
    """Copy the site into a folder, which any static host serves as it is.

    Raises
    ------
    InputError
        If the folder is not empty or cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} is not an empty folder; name a new or empty one for the lesson's files")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for page in PAGES:
            shutil.copyfile(FOLDER / page, folder / page)
        for part in PARTS:
            shutil.copytree(FOLDER / part, folder / part)
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror}; choose another folder") from None
