"""One JupyterLab and one browser for all tests here, a page for each. Without a browser they skip, in CI they fail."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
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
def windows(browser: str) -> Iterator[Callable[..., Any]]:
    """Returns a function that gives the browser's window of some kind, opened once: it keeps what it has fetched.

    The browser is closed after these tests: playwright's event loop gets in the way of others.
    """
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=browser, args=ARGUMENTS)
        opened: dict[str, Any] = {}

        def window(**options: Any) -> Any:
            if str(options) not in opened:
                opened[str(options)] = running.new_context(**{**USUAL, **options})
            return opened[str(options)]

        yield window
        running.close()


@pytest.fixture
def new_lab(
    server: LabServer, windows: Callable[..., Any], request: pytest.FixtureRequest
) -> Iterator[Callable[..., Any]]:
    """Makes pages; each must end without an error on its console and without having asked another machine."""
    from tests.browser.lab import Lab

    pages: list[Lab] = []
    name = re.sub(r"\W+", "-", request.node.name).strip("-")
    server.theme("Light")

    def make(elsewhere: LabServer | None = None, **options: Any) -> Lab:
        pages.append(Lab(windows(**options).new_page(), elsewhere or server, f"{name}-{len(pages)}"))
        return pages[-1]

    yield make
    for one in pages:
        one.end()
    assert [] == [url for one in pages for url in one.asked]
    assert [] == [error for one in pages for error in one.errors if not one.is_of_its_program(error)]


@pytest.fixture
def lab(new_lab: Callable[..., Any]) -> Any:
    """A page of JupyterLab."""
    return new_lab()
