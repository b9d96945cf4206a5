"""One JupyterLab and one browser for all tests here, a page for each. Without a browser they skip, in CI they fail."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.browser.lab_server import LabServer, start_lab

# No GPU, no sandbox (a container's root has none), and nothing that asks the network by itself.
ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--font-render-hinting=none"),
)


@pytest.fixture(scope="package")
def server(browser: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """JupyterLab, once for all tests."""
    pytest.importorskip("jupyterlab", reason="needs the lab extra")
    running = start_lab(tmp_path_factory.mktemp("lab"))
    yield running
    running.stop()


@pytest.fixture(scope="package")
def chromium(browser: str) -> Iterator[Any]:
    """The browser, once for all tests here, and no longer: playwright's event loop gets in the way of others."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=browser, args=ARGUMENTS)
        yield running
        running.close()


@pytest.fixture
def new_lab(server: LabServer, chromium: Any, request: pytest.FixtureRequest) -> Iterator[Callable[..., Any]]:
    """Makes pages; each must end without an error on its console and without having asked another machine."""
    from tests.browser.lab import Lab

    pages: list[Lab] = []
    options = {"viewport": {"width": 1100, "height": 760}, "reduced_motion": "reduce"}
    options |= {"locale": "en-US", "timezone_id": "UTC"}

    with ExitStack() as stack:

        def make(**more: Any) -> Lab:
            context = chromium.new_context(**{**options, **more})
            stack.callback(context.close)
            name = re.sub(r"\W+", "-", request.node.name).strip("-")
            pages.append(Lab(context.new_page(), server, f"{name}-{len(pages)}"))
            return pages[-1]

        yield make
        for one in pages:
            one.end()
    assert [] == [url for one in pages for url in one.asked]
    assert [] == [error for one in pages for error in one.errors]


@pytest.fixture
def lab(new_lab: Callable[..., Any]) -> Any:
    """A page of JupyterLab."""
    return new_lab()
