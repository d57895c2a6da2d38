"""A browser and a static host for the lesson's tests, started once."""

from __future__ import annotations

import functools
import socket
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
import uvicorn

from headstart.engine import Engine
from headstart.lesson import site
from headstart.lesson.live import Live
from headstart.lesson.server import create_app
from headstart.toy import WORLDS
from support.chromium import Chromium, find
from support.reader import Reader


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The exported lesson on a plain static host."""
    folder = tmp_path_factory.mktemp("lesson") / "site"
    site.export(folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    """One browser for the whole session."""
    binary = find()
    if binary is None:
        pytest.skip("the lesson is played in Chromium, and none is installed; install the package chromium")
    with Chromium(binary) as browser:
        yield browser


@pytest.fixture
def reader(chromium: Chromium, address: str) -> Iterator[Reader]:
    """A reader with a clean record; whatever a test did, the page must be well after it."""
    chromium.complaints()
    someone = Reader(chromium, address)
    yield someone
    someone.well()


@pytest.fixture
def running() -> Iterator[str]:
    """The lesson's own server with a toy engine behind it, on a free port."""
    world = WORLDS["three-word"]
    live = Live(lambda: Engine(world.model(), tokenizer=world.tokenizer(), drafter="lookup"))
    server = uvicorn.Server(uvicorn.Config(create_app(live), log_level="warning", timeout_graceful_shutdown=2))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        server.should_exit = True
        thread.join(timeout=10)
    assert not thread.is_alive()
