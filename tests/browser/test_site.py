"""Does the page without a server open, list the lessons, and know where nbtf is, asking no other host?

Pyodide itself comes from another host, and is not run here: `NBTF_SITE` is a site as `nbtf site` builds it by default.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

import pytest

import nbtf as tf
from nbtf.cli.lab import lessons
from nbtf.cli.site_note import TEXTS
from tests.rings import with_nightly

CDN = "cdn.jsdelivr.net"
"""Pyodide's; asked for when a notebook is opened, and not found here."""


@pytest.fixture(scope="module")
def site() -> Path:
    """The folder of a site. Without one the tests skip, but fail where `CI` is set."""
    folder = os.environ.get("NBTF_SITE", "")
    if not folder:
        end = pytest.fail if os.environ.get("CI") else pytest.skip
        end("needs NBTF_SITE: the folder of a site that `nbtf site` has built")
    return Path(folder)


class Quiet(SimpleHTTPRequestHandler):
    """A file server that says nothing, also not when a page is closed while it loads."""

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def handle(self) -> None:
        try:
            super().handle()
        except ConnectionError:
            self.close_connection = True


class Served(NamedTuple):
    """A page, the address of the site, and what went on."""

    page: Any
    address: str
    asked: list[str]
    """Other hosts."""
    errors: list[str]


@contextmanager
def site_server(folder: Path) -> Generator[str]:
    """Serves a folder; yields the address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def served(site: Path, open_page: Callable[..., Any]) -> Iterator[Served]:
    """A page in a browser beside a file server, with the site below a folder, as many hosts have it."""
    with site_server(site.parent) as address:
        one = Served(open_page(), f"{address}/{site.name}", [], [])
        one.page.on("request", lambda request: one.asked.append(urlsplit(request.url).netloc))
        one.page.on("pageerror", lambda error: one.errors.append(str(error)))
        yield one
        one.page.close()


def others(served: Served) -> set[str]:
    return set(served.asked) - {urlsplit(served.address).netloc, ""}  # data: has no host


def test_shell_lists_the_lessons_and_asks_no_other_host(served: Served) -> None:
    served.page.goto(f"{served.address}/lab/index.html")
    names = served.page.locator(".jp-DirListing-itemText")
    names.get_by_text("00_start_here.ipynb").wait_for()

    top = {"drawings", *(lesson.relative_path.partition("/")[0] for lesson in lessons())}
    assert sorted(top) == sorted(name.strip() for name in names.all_inner_texts())
    assert (set(), []) == (others(served), served.errors)


def test_root_opens_the_first_lesson_which_asks_for_pyodide_only(served: Served) -> None:
    served.page.goto(f"{served.address}/")
    served.page.get_by_role("heading", name="What happened when I pressed Shift+Enter?").wait_for()
    served.page.locator(".jp-CodeCell .cm-content").first.wait_for()

    assert served.page.locator(".jp-CodeCell .cm-content").first.inner_text().startswith("%pip install -q nbtf\n")
    assert others(served) <= {CDN}


@pytest.mark.parametrize("language", with_nightly(["en"], ["ja", "zh_CN"]))
def test_a_cell_that_waits_for_python_says_that_there_is_no_network(served: Served, language: str) -> None:
    lesson = "00_start_here.ipynb" if language == "en" else f"{language}/00_start_here.ipynb"
    served.page.goto(f"{served.address}/lab/index.html?path={quote(lesson)}")
    served.page.get_by_text("Python (Pyodide) | Unknown").wait_for()  # before, a press asks for the kernel
    cell = served.page.locator(".jp-CodeCell").first
    cell.locator(".cm-content").click()
    served.page.keyboard.press("Shift+Enter")

    note = cell.get_by_role("alert")
    note.wait_for()
    assert TEXTS[language] == note.inner_text()
    assert "[*]" in cell.locator(".jp-InputPrompt").first.inner_text()


def test_index_of_wheels_has_this_nbtf_and_the_views(site: Path) -> None:
    index = json.loads((site / "pypi" / "all.json").read_text(encoding="utf-8"))
    (release,) = index["nbtf"]["releases"][tf.runtime.version]
    wheel = site / "pypi" / release["filename"]

    assert release["digests"]["sha256"] == hashlib.sha256(wheel.read_bytes()).hexdigest()
    assert {"ipywidgets", "anywidget", "ipython", "comm", "traitlets"} <= set(index)


def test_all_wheels_run_everywhere(site: Path) -> None:
    assert [] == [path.name for path in (site / "pypi").glob("*.whl") if not path.name.endswith("-none-any.whl")]


@pytest.mark.parametrize("folder", ["", "ja/", "zh_CN/"], ids=["en", "ja", "zh_CN"])
def test_a_lesson_shows_its_drawing(served: Served, folder: str) -> None:
    served.page.goto(f"{served.address}/lab/index.html?path={quote(f'{folder}02_where_did_it_run_and_why.ipynb')}")
    drawing = served.page.locator(".jp-MarkdownOutput img").first
    drawing.wait_for()

    served.page.wait_for_function("() => document.querySelector('.jp-MarkdownOutput img').naturalWidth > 0")
    assert 720 == drawing.evaluate("image => image.naturalWidth")
