"""The page in a real browser: Debian's chromium, headless."""

import shutil

import numpy as np
import pytest

from fewknots.report import write_report

from ..waiting import HANGS
from .conftest import LONG

playwright = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
_CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(_CHROMIUM is None, reason="needs chromium (apt install chromium)")


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=_CHROMIUM, timeout=HANGS * 1000)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(fitted, baselines, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    names = ["<script>", "a name that is much longer than any picture is wide " * 3, "plain"]
    write_report(
        path, *fitted, feature_names=names, baselines=baselines, about={"target": "x" * 300}
    )
    return path.as_uri()


@pytest.fixture(scope="module")
def table_address(of_a_table, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "table.html"
    write_report(path, *of_a_table[:3], **of_a_table.options(), about={"target": "late"})
    return path.as_uri()


@pytest.fixture
def open_page(browser, address):
    """Opens the report; a console error or a request to anywhere else fails the test."""
    complaints, contexts = [], []

    def opened(width=1200, address=address, **options):
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        context.set_default_timeout(HANGS * 1000)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request", lambda r: r.url.startswith(("file:", "data:")) or complaints.append(r.url)
        )
        page.goto(address)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []


def _table(page, caption):
    return page.locator("table").filter(has=page.locator("caption", has_text=caption))


def test_every_figure_is_there_and_has_words(open_page):
    page = open_page()
    pictures = page.locator("svg[role=img]")
    assert pictures.count() == 15
    for picture in pictures.all():
        box = picture.bounding_box()
        assert box["width"] > 250
        assert box["height"] > 40
        assert picture.get_attribute("aria-label")
    loaded = page.evaluate(
        """async () => { const image = new Image();
        image.src = document.querySelector("svg image").getAttribute("href");
        await image.decode(); return image.naturalWidth; }"""
    )
    assert loaded == 80
    assert page.locator("text=<script>").count() > 0


@pytest.mark.parametrize("column", [0, 1])
def test_tables_sort_on_a_click_and_turn_around_on_the_next(open_page, column):
    page = open_page()
    table = _table(page, "Rows the model knows least about")
    heading = table.locator("th").nth(column)

    def values():
        cells = table.locator(f"tbody td:nth-child({column + 1})").all()
        return [float(cell.get_attribute("data-value")) for cell in cells]

    before = values()
    assert len(set(before)) > 3
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    assert values() == sorted(before, reverse=True)
    heading.locator("button").press("Enter")  # the keyboard does as well
    assert heading.get_attribute("aria-sort") == "ascending"
    assert values() == sorted(before)


def test_texts_sort_as_texts(open_page):
    page = open_page()
    table = page.locator("table").first
    table.locator("th button").first.click()
    names = [cell.inner_text() for cell in table.locator("tbody td:first-child").all()]
    assert names == sorted(names, key=str.lower)


@pytest.mark.parametrize(
    ("width", "media"), [(320, "screen"), (400, "screen"), (1200, "screen"), (700, "print")]
)
def test_nothing_overflows(open_page, width, media):
    page = open_page(width)
    page.emulate_media(media=media)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    beyond = page.evaluate(
        """() => [...document.querySelectorAll("body *")]
        .filter((e) => !e.closest(".scroll *, svg *"))
        .filter((e) => e.getBoundingClientRect().right > innerWidth + 0.5)
        .map((e) => e.outerHTML.slice(0, 80))"""
    )
    assert beyond == []


def test_dark_mode_and_print_have_their_own_colours(open_page):
    def paper_and_ink(page):
        return page.evaluate(
            """() => { const style = getComputedStyle(document.body);
            return [style.backgroundColor, style.color]; }"""
        )

    light, dark = open_page(), open_page(color_scheme="dark")
    assert paper_and_ink(light) == ["rgb(255, 255, 255)", "rgb(29, 33, 38)"]
    assert paper_and_ink(dark) == ["rgb(21, 24, 28)", "rgb(232, 230, 225)"]
    dark.emulate_media(media="print")
    assert paper_and_ink(dark) == ["rgb(255, 255, 255)", "rgb(0, 0, 0)"]
    assert len(light.pdf()) > 10_000


def test_a_wide_table_says_that_it_scrolls_until_its_end_is_reached(open_page, table_address):
    page = open_page(1200, table_address)
    wide = page.locator(".wide").filter(has_text="Rows the model knows least about")
    hint, box = wide.locator(".more"), wide.locator(".scroll")

    def shades():
        return wide.locator(".edges").evaluate(
            """(e) => ["::before", "::after"].map((side) => getComputedStyle(e, side).opacity)"""
        )

    assert box.evaluate("(e) => e.scrollWidth > e.clientWidth")
    assert hint.is_visible()
    assert "scroll sideways" in hint.inner_text()
    assert shades() == ["0", "1"]
    assert box.get_attribute("role") == "region"
    assert box.get_attribute("aria-label").startswith("Rows the model knows least about")
    box.focus()  # the keyboard scrolls it
    page.keyboard.press("ArrowRight")
    page.wait_for_function("(e) => e.scrollLeft > 0", arg=box.element_handle())
    box.evaluate("(e) => { e.scrollLeft = e.scrollWidth; }")
    hint.wait_for(state="hidden")
    assert shades() == ["1", "0"]
    box.evaluate("(e) => { e.scrollLeft = 0; }")
    hint.wait_for(state="visible")
    page.emulate_media(media="print")
    assert not hint.is_visible()


def test_a_table_with_room_for_all_its_columns_says_nothing(open_page, table_address):
    page = open_page(1200, table_address)
    wide = page.locator(".wide").filter(has_text="Scores on the checked rows")
    assert not wide.locator(".more").is_visible()
    page.set_viewport_size({"width": 380, "height": 800})
    wide.locator(".more").wait_for(state="visible")
    # so it is for every table whose last column lies beyond the edge of its box
    silent = page.evaluate(
        """() => [...document.querySelectorAll(".scroll")]
        .filter((box) => box.scrollWidth > box.clientWidth + 1)
        .filter((box) => !box.closest(".wide").querySelector(".more").checkVisibility())
        .map((box) => box.ariaLabel)"""
    )
    assert silent == []


def test_long_labels_are_shortened_in_the_middle_and_whole_in_the_title(open_page, table_address):
    page = open_page(1200, table_address)
    cell = page.locator(f'td span[title="{LONG}"]').first
    assert cell.inner_text().startswith("Wholesale of")
    assert cell.inner_text().endswith("raw materials")
    assert "…" in cell.inner_text()
    drawn = page.locator("svg text").filter(has=page.locator("title", has_text=LONG)).first
    assert drawn.evaluate("(e) => e.lastChild.data").endswith("materials")
    box, figure = drawn.bounding_box(), drawn.locator("xpath=ancestor::figure").bounding_box()
    assert box["x"] >= figure["x"] - 0.5


def _confusion(page):
    """What the page shows, as numbers: threshold, four counts, four shares in per cent."""
    counts = {
        name: int(page.locator(f'[data-count="{name}"]').inner_text().replace(",", ""))
        for name in ("hits", "misses", "alarms", "rejections", "called", "others")
    }
    shares = {
        name: page.locator(f'[data-share="{name}"]').inner_text().replace("\u00a0%", "")
        for name in ("precision", "recall", "accuracy", "called")
    }
    return float(page.locator(".threshold output").inner_text()), counts, shares


def _expected(p, y, threshold):
    called = p > threshold
    hits, alarms = int((called & y).sum()), int((called & ~y).sum())
    counts = {
        "hits": hits, "misses": int(y.sum()) - hits, "alarms": alarms,
        "rejections": int((~y).sum()) - alarms, "called": hits + alarms,
        "others": len(y) - hits - alarms,
    }  # fmt: skip
    shares = {
        "precision": 100 * hits / (hits + alarms) if hits + alarms else None,
        "recall": 100 * hits / y.sum(),
        "accuracy": 100 * np.mean(called == y),
        "called": 100 * np.mean(called),
    }
    return counts, shares


def test_confusion_matrix_is_exact_wherever_its_slider_stands(open_page, table_address, of_a_table):
    page = open_page(1200, table_address)
    p = np.exp(of_a_table.classifier.predict_log_proba(of_a_table.X)[:, 1])
    y = of_a_table.y == "yes"
    slider = page.get_by_role("slider")
    last = int(slider.get_attribute("max"))
    seen = []
    for place in [None, *range(0, last + 1, 7), last]:
        if place is not None:
            slider.evaluate(
                "(e, at) => { e.value = at; e.dispatchEvent(new Event('input')); }", place
            )
        threshold, counts, shares = _confusion(page)
        expected_counts, expected_shares = _expected(p, y, threshold)
        assert counts == expected_counts
        for name, share in expected_shares.items():
            if share is None:
                assert shares[name] == "–"
            else:
                assert float(shares[name]) == pytest.approx(share, abs=0.051)
        seen.append(threshold)
    assert seen[0] == 0.5
    assert seen[1:] == sorted(seen[1:])
    assert (seen[1], seen[-1]) == (0.0, 1.0)


def test_slider_listens_to_the_keyboard_and_speaks_its_threshold(open_page, table_address):
    page = open_page(1200, table_address)
    slider = page.get_by_role("slider")
    slider.focus()
    page.keyboard.press("ArrowRight")
    threshold, _, _ = _confusion(page)
    assert 0.5 < threshold <= 0.51
    assert float(slider.get_attribute("aria-valuetext")) == threshold
    page.keyboard.press("End")
    assert _confusion(page)[1]["called"] == 0
    page.emulate_media(media="print")
    assert not slider.is_visible()


def test_without_javascript_the_matrix_stands_at_one_half(open_page, table_address, of_a_table):
    page = open_page(1200, table_address, java_script_enabled=False)
    assert page.locator("input[type=range]").is_hidden()
    threshold, counts, _ = _confusion(page)
    p = np.exp(of_a_table.classifier.predict_log_proba(of_a_table.X)[:, 1])
    assert (threshold, counts) == (0.5, _expected(p, of_a_table.y == "yes", 0.5)[0])


@pytest.mark.parametrize("width", [320, 1200])
def test_nothing_of_a_table_overflows(open_page, table_address, width):
    page = open_page(width, table_address)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
