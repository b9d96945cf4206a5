"""Can everybody read the documentation, and search it, in the folder that was built, without a server?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.browser.test_site import CDN, site_server
from tests.docs.site_pages import built_site, pages_of

SIZES = {"wide": (1440, 900), "narrow": (400, 800)}
LANGUAGES = ("", "ja", "zh_CN")
SAMPLES = (
    "index.html",
    "try_it.html",
    "how_it_works.html",
    "guides/out_of_memory.html",
    "gallery.html",
    "reference/errors.html",
    "lessons/02_where_did_it_run_and_why.html",
    "reference/commands.html",
    "search.html",
)


@pytest.fixture(scope="module")
def site() -> Path:
    """The folder of the site."""
    return built_site()


@pytest.fixture
def new_page(open_page: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """Makes pages; each must end without an error on its console and without having asked any machine."""
    pages: list[Any] = []
    complaints: list[str] = []

    def make(**options: Any) -> Any:
        page = open_page(**options)
        page.on("request", lambda request: complaints.append(request.url) if is_outside(request.url) else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        pages.append(page)
        return page

    yield make
    for page in pages:
        page.close()
    assert [] == complaints


def is_outside(address: str) -> bool:
    return urlsplit(address).scheme not in ("file", "data", "blob")


def english(site: Path, first: int) -> list[Path]:
    """Every second page in English, without those that only lead to a new address."""
    pages = [path for path in pages_of(site) if path.relative_to(site).parts[0] not in (*LANGUAGES, "questions")]
    return sorted(pages)[first::2]


def by_languages(*languages: str) -> Callable[[Path], list[Path]]:
    """A page of each kind, in these languages in turn."""
    names = [f"{language}/{name}" for language, name in zip(cycle(languages), SAMPLES)]
    return lambda site: [site / name.lstrip("/") for name in names]


def axe(page: Any) -> list[str]:
    """What axe finds wrong in a page by the rules of WCAG 2 A and AA."""
    from axe_playwright_python.sync_playwright import Axe

    options = {"runOnly": ["wcag2a", "wcag2aa"], "preload": False, "resultTypes": ["violations"]}
    result = Axe().run(page, options=options).response
    assert result["passes"]  # else it looked at nothing
    return [f"{each['id']}: {node['html'][:200]}" for each in result["violations"] for node in each["nodes"]]


@pytest.mark.parametrize(
    ("choose", "scheme", "size"),
    [
        pytest.param(partial(english, first=0), "light", "wide", id="light, wide", marks=pytest.mark.nightly),
        pytest.param(partial(english, first=1), "dark", "narrow", id="dark, narrow", marks=pytest.mark.nightly),
        pytest.param(by_languages(""), "light", "narrow", id="light, narrow"),
        pytest.param(by_languages("ja", "zh_CN", ""), "dark", "wide", id="dark, wide"),
        pytest.param(by_languages("ja"), "light", "narrow", id="ja", marks=pytest.mark.nightly),
        pytest.param(by_languages("zh_CN"), "dark", "wide", id="zh_CN", marks=pytest.mark.nightly),
    ],
)
def test_nobody_is_kept_from_reading(
    site: Path, new_page: Callable[..., Any], choose: Callable[[Path], list[Path]], scheme: str, size: str
) -> None:
    width, height = SIZES[size]
    page = new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    wrong: dict[str, list[str]] = {}
    for path in choose(site):
        page.goto(path.as_uri())
        is_wide = page.evaluate("() => document.documentElement.scrollWidth > innerWidth")
        complaints = axe(page) + (["wider than the window"] if is_wide else [])
        wrong |= {str(path.relative_to(site)): complaints} if complaints else {}

    assert {} == wrong


@pytest.mark.parametrize(
    ("language", "words", "title"),
    [
        ("", "simulate_gpus", "tf.runtime.simulate_gpus"),
        ("", "fragmentation", "Fix an out-of-memory error"),
        ("", "NBTF_SYNC", "Environment variables"),
        ("ja", "ソフト配置", "どこで実行されたのか"),
        ("zh_CN", "分配器", "工作原理"),
    ],
    ids=["name", "word", "variable", "ja", "zh_CN"],
)
def test_search_finds(site: Path, new_page: Callable[..., Any], language: str, words: str, title: str) -> None:
    page = new_page()
    page.goto((site / language / "index.html").as_uri())
    page.locator("input[name=q]").first.fill(words)
    page.keyboard.press("Enter")
    page.locator("#search-results ul.search li a", has_text=title).first.click()

    page.wait_for_function("title => document.body.innerText.includes(title)", arg=title)
    assert page.url.startswith((site / language).as_uri())
    assert "search.html" not in page.url


def test_a_page_is_one_click_away_in_other_languages(site: Path, new_page: Callable[..., Any]) -> None:
    page = new_page(viewport={"width": 1440, "height": 900}, color_scheme="light")
    page.goto((site / "guides" / "out_of_memory.html").as_uri())
    addresses = []
    for name in ("日本語", "简体中文", "English"):
        page.get_by_role("navigation", name="Languages").get_by_role("link", name=name).click()
        page.locator("h1").wait_for()
        addresses.append(page.url.removeprefix(f"{site.as_uri()}/").removesuffix("guides/out_of_memory.html"))

    assert ["ja/", "zh_CN/", ""] == addresses


def test_try_it_now_opens_a_lesson(site: Path, open_page: Callable[..., Any]) -> None:
    if not (site / "try").is_dir():
        pytest.skip("the site was built without the lessons that run in a browser: build.py --try")
    asked: set[str] = set()
    with site_server(site.parent) as address:
        page = open_page()
        page.on("request", lambda request: asked.add(urlsplit(request.url).netloc))
        page.goto(f"{address}/{site.name}/ja/try_it.html")
        page.locator(".nbtf-button").click()
        page.locator(".jp-CodeCell .cm-content").first.wait_for()
        page.get_by_role("heading", name="Shift+Enterを押したとき、何が起きたのか").wait_for()
        page.close()

    assert asked <= {urlsplit(address).netloc, CDN, ""}
