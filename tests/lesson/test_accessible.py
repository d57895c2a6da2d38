"""An accessibility checker finds nothing serious in any chapter, in both themes and languages."""

from __future__ import annotations

import io
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from support.reader import Reader, cache, chapters

AXE = "4.10.3"


@pytest.fixture(scope="module")
def axe() -> str:
    """The checker's source, fetched from npm once and kept in the cache folder."""
    kept = cache() / f"axe-{AXE}.min.js"
    if not kept.is_file():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("the accessibility checker comes from npm, and npm is not installed; install npm")
        packed = subprocess.run(
            [npm, "pack", "--silent", f"axe-core@{AXE}"], cwd=kept.parent, capture_output=True, text=True, timeout=120
        )
        if packed.returncode:
            pytest.skip(f"the accessibility checker axe-core {AXE} could not be fetched from npm")
        package = kept.parent / packed.stdout.split()[-1]
        _extract(package, kept)
        package.unlink()
    return kept.read_text(encoding="utf-8")


def _extract(package: Path, target: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(package.read_bytes())) as tar:
        member = tar.extractfile("package/axe.min.js")
        assert member is not None
        target.write_bytes(member.read())


SERIOUS = """
axe.run(document, {resultTypes: ['violations']}).then((found) => found.violations
  .filter((v) => ['serious', 'critical'].includes(v.impact))
  .flatMap((v) => v.nodes.map((n) => `${v.id}: ${n.html.slice(0, 120)} ${(n.any[0] || n.all[0] || n.none[0] || {}).message || ''}`)))
"""


@pytest.mark.parametrize("chapter", chapters())
def test_nothing_serious_is_found(reader: Reader, axe: str, chapter: str) -> None:
    for lang, dark in (("en", False), ("zh", True)):
        reader.open(f"{chapter}?t=4", lang=lang, dark=dark, width=1100)
        while reader.browser.run("document.querySelector('.bet:not(.placed) .bet-option') !== null"):
            reader.browser.click(".bet:not(.placed) .bet-option")
            reader.settle()
        reader.browser.run(f"{axe}; 1")
        assert reader.browser.run(SERIOUS) == [], f"{lang}, {'dark' if dark else 'light'}"


def test_the_checker_finds_what_is_planted(reader: Reader, axe: str) -> None:
    """It would be noticed: pale text on pale ground, and a button without a name."""
    reader.open("two")
    reader.browser.run(
        "{ const b = document.createElement('button'); const p = document.createElement('p'); p.textContent = 'pale';"
        " p.style.setProperty('color', '#eee'); document.querySelector('main').append(b, p); }"
    )
    reader.browser.run(f"{axe}; 1")
    found = " ".join(reader.browser.run(SERIOUS))
    assert "button-name" in found
    assert "color-contrast" in found
