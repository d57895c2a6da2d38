"""The lesson's files as a site: the policy, the copy for a static host, and the live mark."""

from __future__ import annotations

from pathlib import Path

import pytest

from headstart.errors import InputError
from headstart.lesson import site


def test_the_page_forbids_what_it_does_not_need() -> None:
    page = site.index(live=False)
    policy = page.split('Content-Security-Policy" content="')[1].split('"')[0]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == rules["connect-src"] == "'self'"
    assert "unsafe" not in policy
    assert "<script>" not in page
    assert "style=" not in page


def test_only_the_served_page_says_that_an_engine_is_there() -> None:
    assert site.LIVE not in site.index(live=False)
    assert site.LIVE in site.index(live=True)


def test_the_export_is_the_whole_site_and_nothing_else(tmp_path: Path) -> None:
    site.export(tmp_path / "site")
    files = {
        path.relative_to(tmp_path / "site").as_posix() for path in (tmp_path / "site").rglob("*") if path.is_file()
    }
    assert {"index.html", "words.en.html", "words.zh.html", "js/main.js", "css/page.css", "traces/passes.json"} <= files
    assert {Path(name).suffix for name in files} <= {".html", ".css", ".js", ".json", ".jsonl"}


def test_the_export_does_not_write_into_a_full_folder(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="is not an empty folder"):
        site.export(tmp_path)
    with pytest.raises(InputError, match="is not an empty folder"):
        site.export(tmp_path / "mine.txt")
