"""``headstart`` as a process: signals, pipes, terminals, odd surroundings."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from headstart.trace import check
from support.commands import SOURCE, process, run, tiny_model


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(tmp_path_factory.mktemp("models"))


def long_answer(model: Path) -> list[object]:
    """A generation of some seconds: row by row in NumPy, without drafts."""
    return ["generate", "hello", "-m", model, "--backend", "reference", "--drafter", "none", "-n", 1500, "--ignore-eos"]


PROMPT = b"> "
"""After it a person takes a moment; CPython sees a Ctrl-C that comes before it waits for keys only at the next key."""


def on_terminal(command: Sequence[object], steps: Sequence[tuple[bytes, bytes]], **env: str) -> tuple[int, bytes]:
    """Run a command on a terminal; each step waits for some output after the last one and then types."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update({"TERM": "xterm", **env})
        os.execv(sys.executable, [sys.executable, "-m", "headstart", *map(str, command)])
    out, seen, steps, deadline = b"", 0, list(steps), time.monotonic() + 60
    try:
        while time.monotonic() < deadline:
            if steps and (at := out.find(steps[0][0], seen)) >= 0:
                seen = at + len(steps[0][0])
                if steps[0][0].endswith(PROMPT):
                    time.sleep(0.3)
                os.write(terminal, steps.pop(0)[1])
            if select.select([terminal], [], [], 0.05)[0]:
                try:
                    more = os.read(terminal, 65536)
                except OSError:  # Linux's way to say that the other side is gone
                    break
                if not more:
                    break
                out += more
        else:
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        return os.waitstatus_to_exitcode(status), out
    finally:
        os.close(terminal)


def test_ctrl_c_ends_the_answer_and_keeps_what_was_written(model: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    with process(*long_answer(model), "--trace", trace) as running:
        assert running.stdout is not None
        first = os.read(running.stdout.fileno(), 3)
        running.send_signal(signal.SIGINT)
        rest, err = running.communicate(timeout=60)
    assert running.returncode == 130
    text = (first + rest).decode()
    assert text.endswith("\n")
    assert b"stopped by Ctrl-C" in err
    assert b"tokens per pass" in err
    assert b"Traceback" not in err
    checked = run("trace", "check", trace)
    assert checked.code == 0, checked.err
    assert not checked.out.startswith("1500 rounds")


def test_ctrl_c_while_the_model_is_loaded(model: Path) -> None:
    code, out = on_terminal(long_answer(model), [(b"loading", b"\x03")])
    # where it came inside of an exec, as in a dataclass being made, CPython ends by the signal itself: 130 to any shell
    assert code in (130, -signal.SIGINT)
    assert b"stopped by Ctrl-C" in out
    assert b"Traceback" not in out


def test_ctrl_c_while_the_model_is_loaded_is_not_lost_in_a_destructor(model: Path) -> None:
    """Python prints and forgets an exception there."""
    script = """
import os, signal, sys
from headstart.cli import main
import headstart.engine

class Presses:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(10):
            pass

class Engine(headstart.engine.Engine):
    def __init__(self, *args, **options):
        Presses()
        super().__init__(*args, **options)

headstart.engine.Engine = Engine
main()
"""
    with subprocess.Popen(
        [sys.executable, "-c", script, *map(str, long_answer(model))], stderr=subprocess.PIPE
    ) as running:
        assert running.stderr is not None
        err = running.stderr.read()
        running.wait(timeout=60)
    assert running.returncode == 130
    assert b"Exception ignored in: <function Presses.__del__" in err  # else the test shows nothing
    assert err.endswith(b"headstart: stopped by Ctrl-C\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_being_terminated_ends_the_round_and_the_trace(model: Path, tmp_path: Path, number: signal.Signals) -> None:
    before = signal.signal(number, signal.SIG_DFL)  # nohup has one of them ignored, which the command would inherit
    with process(*long_answer(model), "--trace", tmp_path / "trace") as running:
        signal.signal(number, before)
        assert running.stdout is not None
        os.read(running.stdout.fileno(), 3)
        running.send_signal(number)
        running.communicate(timeout=60)
    assert running.returncode == 128 + number
    assert [path.name for path in tmp_path.iterdir()] == ["trace"]
    assert check(tmp_path / "trace").rounds > 0


def test_json_goes_where_only_ascii_can(model: Path) -> None:
    arguments = ("generate", "hi", "-m", model, "-n", 24, "--seed", 1, "-t", 2, "--json")
    plain, narrow = (
        run(*arguments, "--system", "é🎉", env={"PYTHONIOENCODING": encoding}) for encoding in ("utf-8", "ascii")
    )
    assert (narrow.code, plain.code) == (0, 0)
    assert narrow.out.isascii()
    assert not plain.out.isascii()
    assert json.loads(narrow.out)["text"] == json.loads(plain.out)["text"]


def test_a_reader_that_goes_away_is_no_error(model: Path) -> None:
    with process(*long_answer(model)) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        os.read(running.stdout.fileno(), 3)
        running.stdout.close()
        err = running.stderr.read()
        running.wait(timeout=60)
    assert (running.returncode, err) == (141, b"")


def test_a_full_disk_is_one_sentence(model: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with open("/dev/full", "wb") as full, process("generate", "hi", "-m", model, stdout=full) as running:
        _, err = running.communicate(timeout=60)
    assert running.returncode == 1
    assert err.decode().strip() == f"headstart: the output: {os.strerror(28)}"


def test_text_is_utf_8_wherever_it_is_piped(model: Path) -> None:
    """A model's bytes that are no character become U+FFFD, which ASCII cannot hold."""
    arguments = ("generate", "你好", "-m", model, "-n", 40)
    plain = run(*arguments)
    assert "\ufffd" in plain.out
    assert run(*arguments, env={"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}).out == plain.out


def test_a_terminal_shows_how_much_was_read(model: Path) -> None:
    code, out = on_terminal(["generate", "word " * 200, "-m", model, "-n", 4], [])
    assert code == 0
    counts = [line.split(b" of ")[0].split()[-1] for line in out.split(b"\x1b[K") if b"reading the prompt: " in line]
    assert counts[:3] == [b"256", b"512", b"768"]


def test_marks_are_colour_and_sign_and_only_on_a_terminal(model: Path) -> None:
    arguments = [
        "generate",
        "ab ab ab ab ab",
        "-m",
        model,
        "-n",
        30,
        "--show-origin",
        "--draft-length",
        3,
        "--ignore-eos",
    ]
    code, out = on_terminal(arguments, [])
    assert code == 0
    legend = next(line for line in out.splitlines() if b"bonus" in line).decode()
    assert all(sign in legend for sign in ("✓ accepted", "↺ recovered", "★ bonus", "· plain"))
    assert b"\x1b[32m" in out
    code, out = on_terminal(arguments, [], NO_COLOR="1")
    text = out.decode()
    assert code == 0
    assert "\x1b[3" not in text
    assert text.count("✓") > 1
    code, out = on_terminal(arguments, [], NO_COLOR="1", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert b"> accepted" in out
    piped = run(*arguments)
    assert "✓" not in piped.out
    assert "stdout is not a terminal" in piped.err


def test_a_models_text_cannot_steer_a_terminal(model: Path) -> None:
    """The tiny model says control characters; a terminal gets their pictures."""
    arguments = ["generate", "hello", "-m", model, "-n", 200, "--ignore-eos", "-t", 2, "--seed", 3]
    raw = run(*arguments).out
    controls = [char for char in raw if ord(char) < 32 and char not in "\n\t\r"]
    assert controls
    _, out = on_terminal(arguments, [], NO_COLOR="1")
    assert not any(char in out.decode("utf-8", "replace").replace("\x1b[K", "") for char in set(controls) - {"\x1b"})


def test_chat_turns_commands_and_interrupts(model: Path) -> None:
    chat = ["chat", "-m", model, "-n", 400, "--backend", "reference", "--drafter", "none"]
    code, out = on_terminal(
        chat,
        [
            (b"> ", b"hello\n"),
            (b"\xef\xbf\xbd", b"\x03"),  # once some of the answer is there
            (b"> ", b"/stats\n"),
            (b"not read again", b"/reset\n"),
            (b"a new conversation", b"/nonsense\n"),
            (b"/nonsense is unknown", b""),
            (b"Ctrl-C stops an answer\r\n> ", b"half a line\x03"),
            (b"Ctrl-C stops an answer\r\n> ", b"/exit\n"),
        ],
    )
    assert code == 0, out
    assert b"1 answered, " in out
    tokens = int(out.split(b"1 answered, ")[1].split(b" tokens")[0])
    assert 1 <= tokens < 400
    assert b"Traceback" not in out


def test_chat_from_a_pipe_remembers_what_was_said(model: Path) -> None:
    chat = ("chat", "-m", model, "-n", 12)
    both = run(*chat, stdin=b"hello\nand you?\n/stats\n")
    assert both.code == 0
    assert "2 answered" in both.err
    assert " 0 tokens were not read again" not in both.err
    first = run(*chat, stdin=b"hello\n").out
    again = run(*chat, stdin=b"hello\n/reset\nhello\n").out
    assert both.out.startswith(first)
    assert again == first + first
    assert both.out[len(first) :] != run(*chat, stdin=b"and you?\n").out


def test_a_turn_that_does_not_fit_is_as_if_not_said(model: Path) -> None:
    done = run("chat", "-m", model, "-n", 8, "--context", 120, stdin=b"hello\n" + b"x " * 200 + b"\nhello\n/stats\n")
    assert done.code == 0
    assert "the context holds 120" in done.err
    assert "2 answered" in done.err


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
def test_closed_streams_are_as_if_empty(model: Path, closed: str) -> None:
    command = f"{sys.executable} -m headstart generate - -m {model} {closed}"
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(
        ["bash", "-c", command], input=b"hello", env=env, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == (2 if closed == "<&-" else 0), done
    assert b"fault" not in done.stderr


def test_input_without_end_is_refused(model: Path) -> None:
    with open("/dev/zero", "rb") as endless, process("generate", "-", "-m", model, stdin=endless) as running:
        _, err = running.communicate(timeout=60)
    assert running.returncode == 2
    assert b"stdin holds more than 16 MiB" in err


def test_two_at_once_say_the_same(model: Path) -> None:
    arguments = ("generate", "hello", "-m", model, "-n", 60, "--ignore-eos")
    with process(*arguments) as one, process(*arguments) as other:
        first, second = one.communicate(timeout=60), other.communicate(timeout=60)
    assert first[0] == second[0]
    assert one.returncode == other.returncode == 0


def test_the_version_can_be_asked() -> None:
    assert run("--version").out.startswith("headstart")
