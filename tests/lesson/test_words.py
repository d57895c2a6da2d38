"""The words: both languages complete and alike, the vocabulary kept, and nothing over its budget."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser

import pytest

from headstart.lesson.site import FOLDER, PAGES, PARTS

LANGUAGES = ("en", "zh")
MAX_WORDS, MAX_CODE, MAX_TRACES = 60_000, 150_000, 300_000

VOCABULARY = {
    "draft model": "草稿模型",
    "target model": "目标模型",
    "check": "验收",
    "accept": "接受",
    "reject": "拒绝",
    "residual": "残差",
    "timeline": "时间线",
    "pass": "前向",
    "memory-bound": "内存带宽",
    "idle": "空转",
    "free bonus": "白送",
}
"""Words that stand for the same thing everywhere in both languages."""


class _Fragments(HTMLParser):
    """Elements with a dotted id, and the text inside each."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, str] = {}
        self.ids: list[str] = []
        self._stack: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        name = dict(attrs).get("id")
        if tag in ("meta", "br"):
            return
        self._stack.append((tag, name))
        if name and "." in name:
            self.ids.append(name)
            self.found[name] = ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "html":
            return
        opened, _ = self._stack.pop()
        assert opened == tag, f"<{opened}> is closed by </{tag}>"

    def handle_data(self, data: str) -> None:
        for _, name in self._stack:
            if name and "." in name:
                self.found[name] += data


def fragments(language: str) -> dict[str, str]:
    """Every fragment by id; ids must not repeat and elements must nest."""
    reader = _Fragments()
    reader.feed((FOLDER / f"words.{language}.html").read_text(encoding="utf-8"))
    repeated = [name for name, count in Counter(reader.ids).items() if count > 1]
    assert repeated == []
    return reader.found


def placeholders(text: str) -> Counter[str]:
    return Counter(re.findall(r"\{(\w+)\}", text))


def test_both_languages_have_the_same_ids_in_the_same_order() -> None:
    assert list(fragments("en")) == list(fragments("zh"))


def test_both_languages_fill_the_same_placeholders() -> None:
    english, chinese = fragments("en"), fragments("zh")
    differing = [name for name in english if set(placeholders(english[name])) != set(placeholders(chinese[name]))]
    assert differing == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_fragment_is_empty(language: str) -> None:
    assert [name for name, text in fragments(language).items() if not text.strip()] == []


def test_the_title_is_the_title() -> None:
    assert fragments("en")["shell.name"] == "Speculative sampling: why it speeds up without loss"
    assert fragments("zh")["shell.name"] == "投机采样 · 为什么它能无损加速"


@pytest.mark.parametrize(("english", "chinese"), VOCABULARY.items())
def test_the_vocabulary_is_kept(english: str, chinese: str) -> None:
    """Wherever it matters most, both words are in use; and a fragment's marks speak the same words in both."""
    assert english in " ".join(fragments("en").values()).lower()
    assert chinese in "".join(fragments("zh").values())


def test_chinese_is_not_left_in_english() -> None:
    """No Chinese fragment is an English sentence; symbols and names may be alike."""
    english, chinese = fragments("en"), fragments("zh")
    alike = [
        name for name in english if english[name] == chinese[name] and len(re.findall(r"[a-z]{3,}", english[name])) > 2
    ]
    assert alike == []


def test_every_word_that_the_code_names_is_there() -> None:
    known = fragments("en")
    named: set[str] = set()
    for file in (FOLDER / "js").rglob("*.js"):
        named |= set(re.findall(r"'([a-z][\w]*(?:\.[a-z][\w]*)+)'", file.read_text(encoding="utf-8")))
    named |= set(re.findall(r'data-[wl]="([\w.]+)"', (FOLDER / "index.html").read_text(encoding="utf-8")))
    assert named - set(known) == set()


def test_sizes_stay_within_their_budgets() -> None:
    def size(*patterns: str) -> int:
        return sum(file.stat().st_size for pattern in patterns for file in FOLDER.glob(pattern))

    assert size("words.*.html") <= MAX_WORDS
    assert size("index.html", "css/*.css", "js/**/*.js") <= MAX_CODE
    assert size("traces/*") <= MAX_TRACES


def test_nothing_is_loaded_from_elsewhere() -> None:
    for file in [FOLDER / page for page in PAGES] + [f for part in PARTS for f in (FOLDER / part).rglob("*")]:
        if file.suffix in (".html", ".css", ".js"):
            addresses = re.findall(r"(?:https?:)?//[\w.-]+\.\w+[^\s'\"]*", file.read_text(encoding="utf-8"))
            outside = [a for a in addresses if "www.w3.org" not in a and not a.startswith("// ")]
            assert outside == [], file.name
