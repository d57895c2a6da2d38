"""``headstart lesson``: the lesson on this machine, with the live engine behind it, or a copy of its files.

The server listens on the loopback address alone, answers only to that name, and takes orders only from its own page.
"""

from __future__ import annotations

import json
import mimetypes
import socket
import threading
import webbrowser
from collections.abc import AsyncIterator, Callable, Generator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import anyio
import typer
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from headstart.errors import InputError
from headstart.lesson import site
from headstart.lesson.live import Event, Live

if TYPE_CHECKING:
    from headstart.engine import Engine

__all__ = ["create_app", "serve"]

HOST = "127.0.0.1"
HEADERS = {
    "Cache-Control": "no-cache",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
}


def serve(
    *,
    port: Annotated[int, typer.Option(help="Port on the loopback address; 0 takes a free one.")] = 8642,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser.")] = True,
    export: Annotated[
        Path | None, typer.Option(help="Write the lesson as static files into this new or empty folder, and leave.")
    ] = None,
    model: Annotated[str | None, typer.Option("--model", "-m", help="The model for live runs.")] = None,
) -> None:
    """Open the lesson, with this machine's engine behind it."""
    if export is not None:
        site.export(export)
        typer.echo(f"The lesson is in {export}; any static host serves it.")
        return
    import uvicorn

    from headstart.models.loading import locate

    if model is not None:
        locate(model)
    listener = _listen(port)
    address = f"http://{HOST}:{listener.getsockname()[1]}/"

    def ready() -> None:
        typer.echo(f"The lesson is at {address} (Ctrl-C ends it)")
        if browser:
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    app = create_app(Live(lambda: _load(model)), ready=ready)
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=2)
    with listener:
        uvicorn.Server(config).run(sockets=[listener])


def create_app(live: Live, *, ready: Callable[[], None] = lambda: None) -> Starlette:
    """Build the application: the site's files, and two live endpoints."""
    mimetypes.add_type("text/javascript", ".js")

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:  # noqa: ARG001
        ready()
        yield

    async def first(request: Request) -> Response:  # noqa: ARG001
        return HTMLResponse(site.index(live=True), headers=HEADERS)

    async def words(request: Request) -> Response:
        page = site.FOLDER / f"words.{request.path_params['lang']}.html"
        if page.name not in site.PAGES:
            return PlainTextResponse("There is no such page.", 404)
        return HTMLResponse(page.read_text(encoding="utf-8"), headers=HEADERS)

    async def run(request: Request) -> Response:
        return await _order(request, live.run)

    async def measure(request: Request) -> Response:
        return await _order(request, lambda body: live.measure())  # noqa: ARG005

    return Starlette(
        routes=[
            Route("/", first),
            Route("/index.html", first),
            Route("/words.{lang}.html", words),
            *(Mount(f"/{part}", StaticFiles(directory=site.FOLDER / part)) for part in site.PARTS),
            Route("/api/run", run, methods=["POST"]),
            Route("/api/measure", measure, methods=["POST"]),
        ],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"])],
        lifespan=lifespan,
    )


async def _order(request: Request, start: Callable[[Any], Generator[Event]]) -> Response:
    """Take an order from the page itself, and answer with server-sent events."""
    origin = request.headers.get("origin")
    if origin is not None and origin != f"{request.url.scheme}://{request.headers['host']}":
        return PlainTextResponse("Orders are taken from the lesson's own page.", 403)
    if request.headers.get("content-type", "").split(";")[0] != "application/json":
        return PlainTextResponse("Send JSON.", 415)
    try:
        body = await request.json()
    except ValueError:
        return PlainTextResponse("That is not JSON.", 400)
    headers = {**HEADERS, "Cache-Control": "no-store"}
    return StreamingResponse(_stream(start(body)), media_type="text/event-stream", headers=headers)


async def _stream(events: Generator[Event]) -> AsyncIterator[str]:
    """Events as they come; where the reader goes away the run is stopped."""
    try:
        while (event := await run_in_threadpool(_next, events)) is not None:
            name, data = event
            yield f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"
    finally:
        with anyio.CancelScope(shield=True):
            await run_in_threadpool(events.close)


def _next(events: Generator[Event]) -> Event | None:
    return next(events, None)


def _listen(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except (OSError, OverflowError):
        listener.close()
        raise InputError(
            f"port {port} on {HOST} cannot be used; choose another with --port, or --port 0 for a free one"
        ) from None
    return listener


def _load(model: str | None) -> Engine:
    from headstart.engine import DEFAULT_MODEL, Engine

    return Engine(model if model is not None else DEFAULT_MODEL)
