"""The live server: runs over server-sent events, one at a time, within limits, and only for its own page."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from headstart.engine import Engine
from headstart.errors import InputError
from headstart.lesson.live import MAX_PROMPT, MAX_TOKENS, Live, Order
from headstart.lesson.measure import pass_times
from headstart.lesson.server import create_app, serve
from headstart.toy import WORLDS
from headstart.trace.read import VERSION

WORLD = WORLDS["three-word"]
BASE = "http://127.0.0.1"
Events = list[tuple[str, dict[str, Any]]]


def toy_engine() -> Engine:
    return Engine(WORLD.model(), tokenizer=WORLD.tokenizer(), draft_model=WORLD.draft_model())


def client(live: Live | None = None) -> TestClient:
    return TestClient(create_app(live or Live(toy_engine)), base_url=BASE)


def events(answer: httpx.Response) -> Events:
    """Server-sent events of a whole answer."""
    assert answer.headers["content-type"].startswith("text/event-stream")
    blocks = [block.split("\n") for block in answer.text.split("\n\n") if block]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in blocks]


def ask(**order: Any) -> dict[str, Any]:
    return {"prompt": "A B", "raw": True, "max_tokens": 12, "temperature": 1.0, "seed": 3, **order}


def test_a_run_sends_pieces_and_then_the_trace_of_both_answers() -> None:
    seen = events(client().post("/api/run", json=ask(compare=True)))
    assert [name for name, _ in seen[:2]] == ["loading", "start"]
    assert seen[-1] == ("done", {})
    traces = {data["lane"]: data["lines"] for name, data in seen if name == "trace"}
    headers = {lane: json.loads(lines.splitlines()[0]) for lane, lines in traces.items()}
    assert headers["drafted"]["version"] == VERSION
    assert headers["drafted"]["seed"] == headers["plain"]["seed"] == "3"
    texts = {lane: json.loads(lines.splitlines()[-2])["text"] for lane, lines in traces.items()}
    pieces = "".join(data["text"] for name, data in seen if name == "piece" and data["lane"] == "drafted")
    assert texts["drafted"] == texts["plain"] == pieces


def test_the_engine_is_loaded_once_and_only_when_wanted() -> None:
    loads: list[int] = []

    def load() -> Engine:
        loads.append(1)
        return toy_engine()

    with client(Live(load)) as page:
        page.get("/")
        assert loads == []
        names = [[name for name, _ in events(page.post("/api/run", json=ask()))] for _ in range(2)]
    assert loads == [1]
    assert ["loading" in run for run in names] == [True, False]


@pytest.mark.parametrize(
    ("order", "problem"),
    [
        ([], "not a JSON object"),
        ({}, "the prompt must be a text"),
        (ask(prompt="  "), "the prompt must be a text"),
        (ask(prompt="x" * (MAX_PROMPT + 1)), f"1 to {MAX_PROMPT} characters"),
        (ask(max_tokens=MAX_TOKENS + 1), f"1 to {MAX_TOKENS}"),
        (ask(max_tokens=True), f"1 to {MAX_TOKENS}"),
        (ask(trace="/etc/passwd"), "option 'trace' is unknown"),
        (ask(temperature=-1), "temperature"),
        (ask(prompt="nonsense"), "nonsense"),
    ],
)
def test_what_is_not_allowed_is_refused_in_a_sentence(order: Any, problem: str) -> None:
    name, data = events(client().post("/api/run", json=order))[-1]
    assert (name, data["code"]) == ("error", "refused")
    assert problem in data["message"]


def test_a_second_run_is_told_that_the_engine_is_busy() -> None:
    live = Live(toy_engine)
    first = live.run(ask())
    next(first)
    with client(live) as page:
        assert events(page.post("/api/run", json=ask())) == [("error", {"code": "busy"})]
        assert events(page.post("/api/measure", json={})) == [("error", {"code": "busy"})]
        first.close()
        assert events(page.post("/api/run", json=ask()))[-1] == ("done", {})


def test_a_run_that_takes_too_long_is_ended() -> None:
    live = Live(toy_engine, max_seconds=0.0)
    with client(live) as page:
        for path in ("run", "measure"):
            assert events(page.post(f"/api/{path}", json=ask()))[-1] == ("error", {"code": "slow"})


def test_the_measurement_gives_a_time_for_every_width() -> None:
    seen = events(client().post("/api/measure", json={}))
    sweeps = [data["points"] for name, data in seen if name == "points"]
    assert len(sweeps) > 1
    for points in sweeps:
        assert {1, 2, 4, 8, 16} <= {point["rows"] for point in points}
        assert all(point["seconds"] > 0 for point in points)


def test_measuring_leaves_no_sequence_behind() -> None:
    model = WORLD.model()
    points = pass_times(model, widths=(1, 2), sweeps=2, kept=4)
    next(points)
    points.close()
    handle = model.open()
    assert model.length(handle) == 0


def test_strangers_are_turned_away() -> None:
    with client() as page:
        assert page.get("/", headers={"host": "evil.example"}).status_code == 400
        assert page.post("/api/run", json=ask(), headers={"origin": "http://evil.example"}).status_code == 403
        assert page.post("/api/run", content="prompt=A", headers={"content-type": "text/plain"}).status_code == 415
        assert page.post("/api/run", content="{", headers={"content-type": "application/json"}).status_code == 400
        assert page.post("/api/run", json=ask(), headers={"origin": BASE}).status_code == 200


def test_only_the_site_is_served() -> None:
    with client() as page:
        assert 'content="live"' in page.get("/").text
        assert page.get("/js/main.js").headers["content-type"].startswith("text/javascript")
        for path in ("/server.py", "/js/../server.py", "/words.xx.html", "/README.md", "/api/run"):
            assert page.get(path).status_code in (404, 405), path


def test_a_reader_who_goes_away_frees_the_engine(running: str) -> None:
    with httpx.stream("POST", f"{running}api/run", json=ask(max_tokens=256), timeout=30) as answer:
        next(line for line in answer.iter_lines() if line.startswith("event: piece"))
    end = time.monotonic() + 10
    while "busy" in (text := httpx.post(f"{running}api/run", json=ask(), timeout=30).text):
        assert time.monotonic() < end, "the engine is still busy"
        time.sleep(0.05)
    assert text.endswith("event: done\ndata: {}\n\n")


def test_a_taken_port_is_a_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        with pytest.raises(InputError, match="choose another with --port"):
            serve(port=taken.getsockname()[1], browser=False)
        with pytest.raises(InputError, match="port 99999"):
            serve(port=99999, browser=False)


def test_the_command_exports(tmp_path: Any) -> None:
    import typer

    app = typer.Typer()
    app.command()(serve)
    done = CliRunner().invoke(app, ["--export", str(tmp_path / "site")])
    assert done.exit_code == 0
    assert (tmp_path / "site" / "index.html").is_file()


def test_orders_keep_only_what_was_asked() -> None:
    order = Order.of(ask(guarantee="law", seed=None))
    assert "seed" not in order.options
    assert order.options["guarantee"] == "law"
    assert not order.compare


def test_ctrl_c_ends_the_command() -> None:
    code = "from headstart.lesson.server import serve; serve(port=0, browser=False)"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("The lesson is at http://127.0.0.1:")
        process.send_signal(signal.SIGINT)
        _, complaints = process.communicate(timeout=20)
    finally:
        process.kill()
    assert "KeyboardInterrupt" in complaints.splitlines()[-1], "nothing but what Python itself says of Ctrl-C"
    assert "ERROR" not in complaints
