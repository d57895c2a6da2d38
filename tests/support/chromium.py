"""A headless Chromium on a pipe: the few commands the lesson's tests need, with the standard library alone.

The browser listens on two inherited file descriptors (``--remote-debugging-pipe``), so there is no driver to install,
no port and no version to match. Mouse and keyboard go through the browser's own input queue, like a person's.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--remote-debugging-pipe",
)

KEYS = {
    "Tab": 9,
    "Enter": 13,
    "Space": 32,
    "ArrowLeft": 37,
    "ArrowUp": 38,
    "ArrowRight": 39,
    "ArrowDown": 40,
    "End": 35,
    "Home": 36,
}


def find() -> str | None:
    """Path of a Chromium on this machine, or None."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next((path for name in names if (path := shutil.which(name))), None)


class PageError(AssertionError):
    """A script failed in the page, or the page did not do in time what was waited for."""


class Chromium:
    """One browser with one page."""

    def __init__(self, binary: str) -> None:
        self.events: list[dict[str, Any]] = []
        self._profile = tempfile.mkdtemp(prefix="lesson-browser-")
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        command = f'exec "$@" 3<&{to_browser} 4>&{from_browser}'
        self._process = subprocess.Popen(
            ["bash", "-c", command, "bash", binary, *FLAGS, f"--user-data-dir={self._profile}", "about:blank"],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Chromium:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the browser and forget its profile."""
        os.close(self._out)
        os.close(self._in)
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._profile, ignore_errors=True)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """One command of the DevTools protocol; events that arrive meanwhile are kept in ``events``."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive(60)
            if answer.get("id") != self._number:
                self.events.append(answer)
            elif "error" in answer:
                raise PageError(f"{method}: {answer['error']['message']}")
            else:
                return dict(answer["result"])

    def _receive(self, timeout: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            if not select.select([self._in], [], [], timeout)[0]:
                raise PageError(f"the browser said nothing for {timeout} s")
            chunk = os.read(self._in, 1 << 20)
            if not chunk:
                raise PageError("the browser has ended")
            self._buffer += chunk
        message, self._buffer = self._buffer.split(b"\0", 1)
        return dict(json.loads(message))

    def run(self, script: str) -> Any:
        """Value of a JavaScript expression; promises are awaited."""
        answer = self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True, userGesture=True
        )
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise PageError(f"{script}: {details.get('exception', {}).get('description', details['text'])}")
        return answer["result"].get("value")

    def until(self, script: str, *, seconds: float = 10) -> Any:
        """Wait for an expression to become true."""
        end = time.monotonic() + seconds
        while not (value := self.run(script)):
            if time.monotonic() > end:
                raise PageError(f"after {seconds} s this was still not so: {script}")
            time.sleep(0.02)
        return value

    def open(self, address: str) -> None:
        """Load an address from scratch, also where only its hash differs from the one shown."""
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=address)
        self.until("document.readyState === 'complete'")

    def screen(self, width: int, height: int = 900, *, calm: bool = False, dark: bool = False) -> None:
        """Set the size of the window and what the reader prefers."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        features = [
            {"name": "prefers-reduced-motion", "value": "reduce" if calm else "no-preference"},
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
        ]
        self.call("Emulation.setEmulatedMedia", features=features)

    def click(self, selector: str) -> None:
        """Press the mouse in the middle of the first element that matches."""
        found = f"document.querySelector({json.dumps(selector)})"
        self.until(f"{found} !== null && {found}.getClientRects().length > 0")
        spot = self.run(
            f"(() => {{ const e = {found}; e.scrollIntoView({{block: 'center', behavior: 'instant'}});"
            " const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=spot[0], y=spot[1], button="left", clickCount=1)

    def drag(self, selector: str, share: float) -> None:
        """Drag a slider's handle to a share of its length, with the mouse."""
        found = f"document.querySelector({json.dumps(selector)})"
        self.until(f"{found} !== null")
        x, y, width, at = self.run(
            f"(() => {{ const e = {found}; e.scrollIntoView({{block: 'center', behavior: 'instant'}}); const r ="
            " e.getBoundingClientRect(); const v = (e.value - e.min) / (e.max - e.min);"
            " return [r.x, r.y + r.height / 2, r.width, v]; })()"
        )
        knob = 20
        spot = [x + knob / 2 + v * (width - knob) for v in (at, share)]
        self.call("Input.dispatchMouseEvent", type="mousePressed", x=spot[0], y=y, button="left", clickCount=1)
        for step in (0.3, 0.7, 1.0):
            between = spot[0] + step * (spot[1] - spot[0])
            self.call("Input.dispatchMouseEvent", type="mouseMoved", x=between, y=y, button="left", buttons=1)
        self.call("Input.dispatchMouseEvent", type="mouseReleased", x=spot[1], y=y, button="left", clickCount=1)

    def press(self, key: str, *, times: int = 1, shift: bool = False) -> None:
        """Press a key on whatever has the focus."""
        code = KEYS[key]
        name = " " if key == "Space" else key
        text = {"Enter": "\r", "Space": " "}.get(key)
        common = {"key": name, "code": key, "windowsVirtualKeyCode": code, "modifiers": 8 if shift else 0}
        for _ in range(times):
            down = {"type": "keyDown", "text": text} if text else {"type": "rawKeyDown"}
            self.call("Input.dispatchKeyEvent", **down, **common)
            self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def picture(self, path: Path) -> None:
        """Save what the page looks like, in its whole height."""
        height = min(int(self.run("document.documentElement.scrollHeight")), 6000)
        width = int(self.run("innerWidth"))
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        time.sleep(0.15)
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def complaints(self) -> list[str]:
        """Console errors and warnings, exceptions and failed loads since the last call."""
        self.run("1")
        events, self.events = self.events, []
        return [text for event in events if (text := _complaint(event))]

    def requests(self) -> list[str]:
        """Addresses asked for so far; call before ``complaints``, which clears the record."""
        sent = [event for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in sent]


def _complaint(event: dict[str, Any]) -> str | None:
    method, params = event.get("method"), event.get("params", {})
    if method == "Runtime.exceptionThrown":
        details = params["exceptionDetails"]
        return str(details.get("exception", {}).get("description", details["text"]))
    if method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
        return " ".join(str(arg.get("value", arg.get("description"))) for arg in params["args"])
    if method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
        return f"{params['entry']['text']} {params['entry'].get('url', '')}"
    return None
