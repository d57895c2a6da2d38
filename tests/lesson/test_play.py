"""Every chapter is played: in both languages, with the mouse and with the keyboard alone, at three widths."""

from __future__ import annotations

import pytest

from support.reader import Reader, chapters

CHAPTERS = chapters()
LANGUAGES = ("en", "zh")
QUESTIONS = {"lunch": "cost", "proof": "worse", "residual": "resample", "guess": "longer"}
WIDTHS = (320, 768, 1440)

VISIBLE = "(e) => e.getClientRects().length && !e.disabled && !e.closest('[hidden]')"
LONG_TASKS = (
    "new PerformanceObserver((l) => { window.slow = (window.slow || []).concat(l.getEntries().map((e) => e.duration)); })"
    ".observe({type: 'longtask', buffered: false})"
)


def unfilled(reader: Reader) -> list[str]:
    """Placeholders and word ids that reached the page."""
    return list(
        reader.browser.run(
            "(document.querySelector('main').innerText.match(/\\{\\w+\\}|undefined|NaN|\\[object/g) || [])"
        )
    )


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_is_played_with_the_mouse(reader: Reader, chapter: str, lang: str) -> None:
    """Every bet is placed and every button pressed; nothing breaks, and no task is long."""
    reader.open(chapter, lang=lang)
    browser = reader.browser
    browser.run(LONG_TASKS)
    while browser.run("[...document.querySelectorAll('.bet:not(.placed)')].some((e) => e.getClientRects().length)"):
        browser.click(".bet:not(.placed) .bet-option")
        reader.settle()
    marked = f"[...document.querySelectorAll('main button, main summary')].filter({VISIBLE})"
    for number in range(int(browser.run(f"{marked}.length"))):
        browser.run(f"{{ const all = {marked}; if (all[{number}]) all[{number}].dataset.aim = ''; }}")
        if browser.run("document.querySelector('[data-aim]') !== null"):
            browser.click("[data-aim]")
            browser.run("document.querySelectorAll('[data-aim]').forEach((e) => delete e.dataset.aim)")
    reader.settle()
    assert unfilled(reader) == []
    assert browser.run("document.querySelectorAll('.bet:not(.placed)').length") == 0
    assert browser.run("(window.slow || []).filter((ms) => ms > 200)") == []


def lap(reader: Reader) -> int:
    """Tab once through the chapter and work every control that was not met before; how many those were."""
    browser, reached = reader.browser, 0
    browser.run("document.querySelector('.skip').focus()")
    browser.press("Enter")
    for _ in range(100):
        browser.press("Tab")
        kind = browser.run(
            "(() => { const e = document.activeElement; if (!e.closest('main')) return 'out'; if (e.dataset.done) return 'done';"
            " e.dataset.done = 1; return e.tagName + (e.type ? ':' + e.type : ''); })()"
        )
        if kind == "out":
            break
        reached += kind != "done"
        if kind == "INPUT:range":
            browser.press("ArrowRight")
        elif kind.startswith("SELECT"):
            browser.press("ArrowDown")
        elif kind in ("BUTTON:button", "SUMMARY"):
            browser.press("Enter")
    return reached


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_is_played_with_the_keyboard_alone(reader: Reader, chapter: str, lang: str) -> None:
    """Tab reaches every control; Enter, Space and the arrows work them all."""
    reader.open(chapter, lang=lang)
    browser = reader.browser
    reached = sum(lap(reader) for _ in range(3))  # more than once: some controls come into being by others
    reader.settle()
    left = browser.run(
        f"[...document.querySelectorAll('main button, main input, main select, main summary')].filter({VISIBLE})"
        ".filter((e) => !e.dataset.done).map((e) => e.outerHTML.slice(0, 80))"
    )
    assert left == []
    assert reached > 3
    assert unfilled(reader) == []
    assert browser.run("document.querySelectorAll('.bet:not(.placed)').length") == 0


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_fits_its_page(reader: Reader, chapter: str, width: int) -> None:
    """Nothing sticks out sideways, in either language and theme, before and after every bet."""
    for lang, dark in (("en", False), ("zh", True)):
        reader.open(chapter, lang=lang, width=width, dark=dark)
        for _ in range(3):
            wide = reader.browser.run("document.documentElement.scrollWidth")
            assert wide <= width, f"{chapter} is {wide} px wide at {width}"
            if not reader.browser.run("document.querySelector('.bet:not(.placed) .bet-option') !== null"):
                break
            reader.browser.click(".bet:not(.placed) .bet-option")
            reader.settle()


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_language_changes_in_place(reader: Reader, chapter: str) -> None:
    """State, focus and figures stay; every word changes; the address follows."""
    reader.open(f"{chapter}?seed=5", lang="en")
    before = reader.browser.run("[document.querySelector('h1').innerText, document.querySelectorAll('main *').length]")
    reader.browser.click('[data-lang="zh"]')
    reader.browser.until("document.documentElement.lang === 'zh-Hans'")
    reader.settle()
    after = reader.browser.run("[document.querySelector('h1').innerText, document.querySelectorAll('main *').length]")
    assert after[0] != before[0]
    assert abs(after[1] - before[1]) <= 4
    reader.browser.until("location.hash.includes('lang=zh') && location.hash.includes('seed=5')")
    latin = reader.browser.run(
        "[...document.querySelectorAll('main [data-w]')].filter((e) => e.getClientRects().length && !e.children.length"
        " && /^[A-Za-z ,.’]{12,}$/.test(e.innerText.trim())).map((e) => e.innerText)"
    )
    assert latin == []


def test_the_readers_own_language_is_the_default(reader: Reader) -> None:
    browser = reader.browser
    for tag, wanted in (("zh-CN", "zh-Hans"), ("en-GB", "en"), ("fr-FR", "en")):
        browser.call("Emulation.setUserAgentOverride", userAgent="test", acceptLanguage=tag)
        reader.open("two", lang=None)
        assert browser.run("document.documentElement.lang") == wanted
    browser.call("Emulation.setUserAgentOverride", userAgent="", acceptLanguage="en")


def test_chapters_follow_one_another(reader: Reader) -> None:
    """From the first to the last by the big button, and the shared knobs travel along."""
    reader.open(f"{CHAPTERS[0]}?p=70&seed=9")
    for chapter in CHAPTERS[1:]:
        reader.browser.click(".turn .next")
        reader.browser.until(f"document.querySelector('article').dataset.id === '{chapter}'")
        assert reader.browser.run("document.activeElement.id") == "chapter"
    assert "p=70" in reader.browser.run("location.hash")
    assert "seed=9" in reader.browser.run("location.hash")
    assert reader.browser.run("document.querySelector('.turn .next')") is None


@pytest.mark.parametrize(("chapter", "place"), [pair for pair in QUESTIONS.items() if pair[0] in CHAPTERS])
def test_questions_have_a_place_with_its_own_link(reader: Reader, chapter: str, place: str) -> None:
    """The link opens the answer, also where it stands behind a bet."""
    reader.open(f"{chapter}?at={place}")
    top, height = reader.browser.until(
        f"(() => {{ const e = document.querySelector('[data-place={place}]'); if (!e?.getClientRects().length) return null;"
        " const r = e.getBoundingClientRect(); return [r.top, innerHeight]; })()"
    )
    assert top < height
    assert len(reader.text(f"[data-place={place}] .prose")) > 150


def test_motion_is_calm_where_that_is_wanted(reader: Reader) -> None:
    """With reduced motion nothing starts by itself and nothing slides; without, the race runs at once."""
    reader.open("race", calm=True)
    assert reader.browser.run("getComputedStyle(document.querySelector('.lane .fill')).transitionDuration") == "0s"
    assert reader.text(".count").startswith("0 /")
    reader.open("race", calm=False)
    reader.browser.until("Number(document.querySelector('.count').textContent.split('/')[0]) > 0")


def test_the_theme_is_the_readers_and_can_be_changed(reader: Reader) -> None:
    paper = "getComputedStyle(document.documentElement).backgroundColor"
    reader.open("two", dark=False)
    light = reader.browser.run(paper)
    reader.open("two", dark=True)
    dark = reader.browser.run(paper)
    assert light != dark
    reader.browser.click("#theme")
    assert reader.browser.run(paper) == light
    reader.browser.run("localStorage.removeItem('theme')")


def test_the_printed_page_holds_the_text_and_not_the_controls(reader: Reader) -> None:
    reader.open("two")
    reader.browser.call("Emulation.setEmulatedMedia", media="print")
    shown = reader.browser.run(
        "['.prose', '.fig', '.toc', '.controls', '.turn'].map((s) => document.querySelector(s).getClientRects().length > 0)"
    )
    reader.browser.call("Emulation.setEmulatedMedia", media="")
    assert shown == [True, True, False, False, False]
