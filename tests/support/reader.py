"""Someone who reads the lesson: a browser, an address, and the words on the page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from headstart.lesson import site
from support.chromium import Chromium

__all__ = ["Reader", "cache", "chapters"]


@dataclass
class Reader:
    """Someone who reads the lesson: a browser, and where the lesson is."""

    browser: Chromium
    address: str

    def open(
        self, state: str, *, width: int = 1100, calm: bool = True, dark: bool = False, lang: str | None = "en"
    ) -> None:
        """Enter the lesson cold by a link; ``state`` is the hash without its #."""
        joined = state if lang is None else f"{state}{'&' if '?' in state else '?'}lang={lang}"
        self.browser.screen(width, calm=calm, dark=dark)
        self.browser.open(f"{self.address}#{joined}")
        chapter = state.split("?")[0]
        self.browser.until(f"document.querySelector('article.chapter')?.dataset.id === '{chapter}'")
        self.settle()

    def settle(self) -> None:
        """Wait until nothing is left to load or to compute."""
        self.browser.run("new Promise((done) => setTimeout(() => requestAnimationFrame(() => done(1)), 30))")
        self.browser.until("document.querySelector('[data-loading]') === null")

    def text(self, selector: str) -> str:
        """What an element says, white space made even."""
        return str(self.browser.run(f"document.querySelector({selector!r}).innerText.replace(/\\s+/g, ' ').trim()"))

    def texts(self, selector: str) -> list[str]:
        """What all the matching, visible elements say."""
        script = f"[...document.querySelectorAll({selector!r})].filter((e) => e.getClientRects().length)"
        return list(self.browser.run(f"{script}.map((e) => e.innerText.replace(/\\s+/g, ' ').trim())"))

    def press_by_text(self, text: str) -> None:
        """Press the button that says this, with the mouse."""
        script = f"[...document.querySelectorAll('main button')].find((b) => b.innerText.trim() === {text!r} && b.getClientRects().length)"
        self.browser.until(f"Boolean({script})")
        self.browser.run(f"({script}).dataset.aim = ''")
        self.browser.click("[data-aim]")
        self.browser.run("document.querySelectorAll('[data-aim]').forEach((e) => delete e.dataset.aim)")

    def well(self) -> None:
        """Nothing was complained about, and nothing was asked for elsewhere."""
        host = urlsplit(self.address).netloc
        asked = {urlsplit(url) for url in self.browser.requests()}
        outside = [url.geturl() for url in asked if url.scheme not in ("data", "about", "blob") and url.netloc != host]
        assert outside == []
        assert self.browser.complaints() == []


def chapters() -> list[str]:
    """Ids of the chapters, in order."""
    index = (site.FOLDER / "js" / "chapters" / "index.js").read_text(encoding="utf-8")
    names = index.split("CHAPTERS = [")[1].split("]")[0]
    files = {
        line.split()[1]: line.split("'")[1].removeprefix("./")
        for line in index.splitlines()
        if line.startswith("import")
    }
    ids = []
    for name in names.replace("\n", " ").split(","):
        if name.strip():
            source = (site.FOLDER / "js" / "chapters" / files[name.strip()]).read_text(encoding="utf-8")
            ids.append(source.split("id: '")[1].split("'")[0])
    return ids


def cache() -> Path:
    """Where things that are fetched for tests stay between runs."""
    from platformdirs import user_cache_path

    return user_cache_path("headstart-tests", ensure_exists=True)
