"""One JupyterLab, one browser and one page for most tests here. Without a browser they skip, in CI they fail."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from typing import Any

import pytest

from tests.browser.lab_server import LabServer, start_lab
from tests.browser.saved import CELLS, Saved, run

# No GPU, no sandbox (a container's root has none), and no other machine: its name is not found.
ARGUMENTS = (
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--font-render-hinting=none"),
)
SECONDS = 180
"""How long anything in a page may take, however busy the machine is; what is as it should be takes a few."""

USUAL: dict[str, Any] = {
    "viewport": {"width": 1000, "height": 760},
    "reduced_motion": "reduce",
    "locale": "en-US",
    "timezone_id": "UTC",
}


@pytest.fixture(scope="package")
def server(browser: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """JupyterLab, once for all tests."""
    pytest.importorskip("jupyterlab", reason="needs the lab extra")
    running = start_lab(tmp_path_factory.mktemp("lab"))
    yield running
    running.stop()


@pytest.fixture(scope="package")
def notebook_server(browser: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """Notebook 7, once for all tests."""
    running = start_lab(tmp_path_factory.mktemp("notebook"), "notebook")
    yield running
    running.stop()


@pytest.fixture(scope="package")
def saved(server: LabServer) -> Saved:
    """A notebook with both views, run once for all tests."""
    return run(server, *CELLS)


@pytest.fixture(scope="package")
def open_page(browser: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Any]]:
    """Returns a function that opens a page, of some size or other options of a context.

    Most are of one profile, which keeps what it has fetched and compiled: JupyterLab loads in two thirds of the time.
    The browser is closed after these tests: playwright's event loop gets in the way of others.
    """
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright, ExitStack() as closing:
        start: dict[str, Any] = {"executable_path": browser, "args": ARGUMENTS}

        @cache
        def usual() -> Any:
            profile = tmp_path_factory.mktemp("profile")
            return closing.enter_context(playwright.chromium.launch_persistent_context(profile, **start, **USUAL))

        @cache
        def other() -> Any:
            return closing.enter_context(playwright.chromium.launch(**start))

        @cache
        def unusual(**options: Any) -> Any:
            return other().new_context(**USUAL, **options)

        def page(viewport: Any = USUAL["viewport"], **options: Any) -> Any:
            context = unusual(**options) if options else usual()
            opened = context.new_page()
            opened.set_viewport_size(viewport)
            opened.set_default_timeout(SECONDS * 1000)
            return opened

        yield page


@pytest.fixture(scope="package")
def left_labs() -> list[Any]:
    """Pages of JupyterLab that are as they were when they were loaded: the next test opens its notebook there."""
    return []


@pytest.fixture
def new_lab(
    server: LabServer, open_page: Callable[..., Any], left_labs: list[Any], request: pytest.FixtureRequest
) -> Iterator[Callable[..., Any]]:
    """Makes pages; each must end without an error on its console and without having asked another machine."""
    from tests.browser.lab import Lab

    labs: list[Lab] = []
    name = re.sub(r"\W+", "-", request.node.name).strip("-")
    server.theme("Light")

    def make(elsewhere: LabServer | None = None, **options: Any) -> Lab:
        if left_labs and elsewhere in (None, server) and not options.keys() - {"viewport"}:
            left = left_labs.pop()
            page, loaded = left.page, left.loaded
            page.set_viewport_size(options.get("viewport", USUAL["viewport"]))
        else:
            page, loaded = open_page(**options), None
        labs.append(Lab(page, elsewhere or server, f"{name}-{len(labs)}", loaded=loaded))
        labs[-1].is_altered = bool(options.keys() - {"viewport"})
        return labs[-1]

    yield make
    left_labs += [lab for lab in labs if lab.end()]
    assert [] == [url for lab in labs for url in lab.asked]
    assert [] == [error for lab in labs for error in lab.errors if not lab.is_of_its_program(error)]


@pytest.fixture
def lab(new_lab: Callable[..., Any]) -> Any:
    """A page of JupyterLab."""
    return new_lab()
