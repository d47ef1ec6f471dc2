"""The page in a real browser: Debian's chromium, headless."""

import shutil

import pytest

from fewknots.report import write_report

from ..waiting import HANGS

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


@pytest.fixture
def open_page(browser, address):
    """Opens the report; a console error or a request to anywhere else fails the test."""
    complaints, contexts = [], []

    def opened(width=1200, **options):
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


def test_every_figure_is_there_and_has_words(open_page):
    page = open_page()
    pictures = page.locator("svg[role=img]")
    assert pictures.count() == 13
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
    table = page.locator("table").nth(1)
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
