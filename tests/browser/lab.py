"""What does a test do with a page of JupyterLab? Opens a notebook, runs cells without waiting, looks, and asks."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.browser.lab_server import LabServer

if TYPE_CHECKING:  # it may be missing; then every test skips or fails with the reason
    from playwright.sync_api import CDPSession, ConsoleMessage, Locator, Page, Request, WebSocket

NOTEBOOK = "window.jupyterapp?.shell?.currentWidget"
RUN = f"""index => {{
    const {{ content }} = {NOTEBOOK};
    content.activeCellIndex = index;
    content.deselectAll();
    return jupyterapp.commands.execute('notebook:run-cell');
}}"""
SHUT_DOWN = """() => {
    const notebooks = [...(window.jupyterapp?.shell?.widgets('main') ?? [])].filter(each => each.sessionContext);
    return Promise.all(notebooks.map(each => each.sessionContext.shutdown())).then(() => notebooks.length > 0);
}"""
"""Shuts down the kernels of all notebooks; tells whether there are notebooks."""
CLOSE = """() => {
    const opened = [...window.jupyterapp.shell.widgets('main')].filter(each => each.context || each.content);
    opened.forEach(each => each.dispose());
    window.__nbtf = {};
    return document.querySelectorAll('.jp-Dialog, .jp-Notebook, .nbtf-view').length == 0;
}"""
"""Closes all notebooks without saving them; tells whether the page is then as it was."""
WATCH = Path(__file__).with_name("watch.js")
UNREADABLE = Path(__file__).with_name("unreadable.js")


@dataclass
class Lab:
    """A page of JupyterLab. What it asks of other machines is refused and written down, and so are its errors."""

    page: Page
    server: LabServer
    name: str
    asked: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)
    loaded: tuple[str, ...] | None = None
    """The server and its settings when the page was loaded; None before."""
    is_ending: bool = False
    """Whether its kernels are shut down: JupyterLab's own code can fail while a notebook loses its kernel."""
    is_altered: bool = False
    """Whether a test has left something in the page that the next would see: a style, a listener, another time."""
    _metrics: CDPSession | None = None

    def __post_init__(self) -> None:
        """Listens."""
        if self.loaded is None:
            self.page.add_init_script(path=WATCH)
        for event, listener in self._listeners().items():
            self.page.on(event, listener)  # pyright: ignore[reportCallIssue, reportArgumentType]

    # Notebooks

    def open(self, *cells: str | dict[str, Any], metadata: dict[str, Any] | None = None, afresh: bool = False) -> None:
        """Opens a notebook of these cells: code, or whole cells with their outputs; then it is a trusted one.

        A page that another test has left does not load JupyterLab again, unless views are saved in the notebook or
        `afresh` asks for it. JupyterLab draws saved widgets only after it has started a kernel, whatever that kernel
        knows.
        """
        whole = [code_cell(cell) if isinstance(cell, str) else cell for cell in cells]
        file = self.write(f"{self.name}.ipynb", whole, metadata)
        if any(cell.get("outputs") for cell in whole):
            self.server.trust(file)
        is_loaded = self.loaded == self.server.settings()
        if is_loaded and "widgets" not in (metadata or {}) and not afresh:
            self.page.evaluate("path => void jupyterapp.commands.execute('docmanager:open', {path})", file.name)
        else:
            self.page.goto(self.server.page(file.name, self.name))
            self.loaded = self.server.settings()
        self.wait(f"{NOTEBOOK}?.context?.path == arg && {NOTEBOOK}.context.isReady", file.name)
        self.wait(f"{NOTEBOOK}.content?.widgets.length == {len(whole)}")
        self.page.evaluate("() => jupyterapp.shell.collapseLeft()")  # all the width there is
        self.page.evaluate(f"() => {NOTEBOOK}.sessionContext.ready")
        self.wait(f"{self.kernel}?.status == 'idle'")

    def write(self, name: str, cells: list[dict[str, Any]], metadata: dict[str, Any] | None = None) -> Path:
        """Writes a notebook where the server finds it, and returns its file."""
        file = self.server.notebooks / name
        file.write_text(json.dumps(notebook(cells, {**PYTHON, **(metadata or {})})), encoding="utf-8")
        return file

    def start(self, index: int) -> None:
        """Starts a cell, and does not wait for it."""
        self.page.evaluate(f"index => {{ ({RUN})(index); }}", index)

    def run(self, *indexes: int) -> None:
        """Runs cells, each to its end."""
        for index in indexes:
            self.page.evaluate(f"index => ({RUN})(index).then(() => null)", index)
            self.wait(f"{self.kernel}.status == 'idle'")

    def output(self, index: int) -> Locator:
        """What stands below a cell."""
        return self.page.locator(".jp-Notebook .jp-Cell").nth(index).locator(".jp-Cell-outputArea")

    # The kernel

    @property
    def kernel(self) -> str:
        """The kernel in JavaScript."""
        return f"{NOTEBOOK}.sessionContext.session?.kernel"

    def status(self) -> str | None:
        """What the kernel does: `busy`, `idle`, ...; None without a kernel."""
        status: str | None = self.page.evaluate(f"() => {self.kernel}?.status")
        return status

    def restart(self) -> None:
        """Restarts the kernel as the menu does."""
        self.page.evaluate(f"() => {NOTEBOOK}.sessionContext.restartKernel()")
        self.wait(f"{self.kernel}.status == 'idle'")

    def reload(self) -> None:
        """Loads the page again, as a reader does; another test then gets a new page."""
        self.is_altered = True
        self.page.reload()

    def speak(self, language: str) -> None:
        """Gives the page a language; another test then gets a new page."""
        self.is_altered = True
        self.page.evaluate("language => document.documentElement.lang = language", language)

    def interrupt(self) -> None:
        """Interrupts the cell that runs."""
        self.page.evaluate(f"() => {self.kernel}.interrupt()")
        self.wait(f"{self.kernel}.status == 'idle'")

    def shut_down(self) -> None:
        """Shuts the kernel down; there is none from then on."""
        self.page.evaluate(f"() => {NOTEBOOK}?.sessionContext?.shutdown()")
        self.wait(f"!{self.kernel}")

    # The views

    def badge(self, view: str) -> str:
        """What a view says of itself: `live`, `idle`, ..."""
        return self.page.locator(f"{view} .nbtf-badge").text_content() or ""

    def wait_for_more(self, view: str, than: int | None = None) -> None:
        """Waits until a view tells of more events than it does now, or than so many."""
        told = f"Number(document.querySelector('{view} .nbtf-total').textContent.replace(/\\D/g, ''))"
        self.wait(f"{told} > arg", self.page.evaluate(told) if than is None else than)

    def press(self, view: str, name: str) -> None:
        """Presses a button of a view, and waits until it has done its work."""
        self.page.locator(view).get_by_role("button", name=name, exact=True).click()
        self.next_frame()

    def walk(self, selector: str, key: str, tell: str) -> list[str]:
        """Focuses what can be reached with Tab among some elements, and presses a key twice; tells of each in focus."""
        self.page.locator(f"{selector}[tabindex='0']").first.focus()
        told: list[str] = [self.page.evaluate(f"() => ({tell})(document.activeElement)")]
        for _ in range(2):
            self.page.keyboard.press(key)
            told.append(self.page.evaluate(f"() => ({tell})(document.activeElement)"))
        return told

    def overflow(self, view: str) -> int:
        """How many pixels of a view are too wide for it."""
        return int(self.page.locator(view).evaluate("node => node.scrollWidth - node.clientWidth"))

    def unreadable(self, view: str) -> list[str]:
        """The texts of a view that stand on one another, and those that something cuts off, but for what scrolls."""
        return list(self.page.locator(view).evaluate(f"view => ({UNREADABLE.read_text(encoding='utf-8')})(view)"))

    def axe(self, view: str) -> list[str]:
        """What axe finds wrong in a view by the rules of WCAG 2 A and AA."""
        from axe_playwright_python.sync_playwright import Axe

        result = Axe().run(self.page, view, {"runOnly": ["wcag2a", "wcag2aa"]}).response
        assert result["passes"]  # else it looked at nothing
        return [f"{one['id']}: {node['html']}" for one in result["violations"] for node in one["nodes"]]

    def picture(self, view: str) -> bytes:
        """A picture of a view as PNG."""
        return self.page.locator(view).screenshot(animations="disabled", caret="hide")

    def messages(self) -> int:
        """How many widget messages the page has had."""
        return int(self.page.evaluate("() => window.__seen.messages"))

    def work(self) -> float:
        """How many milliseconds the page has kept a processor busy, whatever other programs did with it meanwhile."""
        if self._metrics is None:
            self._metrics = self.page.context.new_cdp_session(self.page)
            self._metrics.send("Performance.enable", {"timeDomain": "threadTicks"})
        metrics = self._metrics.send("Performance.getMetrics")["metrics"]
        return 1000 * next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")

    def let_seconds_pass(self, seconds: float) -> None:
        """Puts the page's clock forward; its timers go on as they were."""
        self.is_altered = True
        self.page.clock.set_fixed_time(datetime.now() + timedelta(seconds=seconds))

    # Looking

    def wait(self, condition: str, argument: Any = None, polling: Any = 50) -> None:
        """Waits until a JavaScript expression holds; `argument` is known to it as `arg`."""
        self.page.wait_for_function(f"arg => {condition}", arg=argument, polling=polling)

    def next_frame(self) -> None:
        """Waits until what a press has changed is drawn."""
        self.page.evaluate(
            "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done())))"
        )

    def forget(self) -> tuple[list[str], list[str]]:
        """Takes out what it asked of other machines, and its errors: a test has looked at them itself."""
        heard = self.asked.copy(), self.errors.copy()
        self.asked.clear()
        self.errors.clear()
        return heard

    def is_of_its_program(self, error: str) -> bool:
        """Whether a test expects an error, or it is Notebook 7's own: it writes one before anything runs."""
        if error.startswith(tuple(self.expected)):
            return True
        return self.server.program == "notebook" and "reading 'schema'" in error

    def end(self) -> bool:
        """Shuts the kernels down and hears the last messages. Returns whether the page can serve another test.

        A page that cannot is closed.
        """
        self.is_ending = True
        has_notebooks = self.page.evaluate(SHUT_DOWN)
        for event, listener in self._listeners().items():  # what a closed notebook says is JupyterLab's own
            self.page.remove_listener(event, listener)
        can_serve = has_notebooks and not self.is_altered and self.server.program == "jupyterlab"
        if not can_serve or not self.page.evaluate(CLOSE):
            self.page.close()
            return False
        self.page.mouse.move(0, 0)
        self.next_frame()
        return True

    # What leaves the machine; the browser's own rules refuse it

    def _listeners(self) -> dict[str, Callable[[Any], None]]:
        return {
            "request": self._request,
            "websocket": self._socket,
            "pageerror": self._error,
            "console": self._message,
        }

    def _error(self, error: Any) -> None:
        stack = error.stack or ""
        if self.is_ending and stack and "blob:" not in stack:  # scripts of widgets are blobs
            return
        self.errors.append(f"uncaught: {error}\n{stack}".strip())

    def _message(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(message.text)

    def _request(self, request: Request) -> None:
        self._hear(request.url)

    def _socket(self, socket: WebSocket) -> None:
        self._hear(socket.url)

    def _hear(self, url: str) -> None:
        address = self.server.address
        if not url.startswith((f"{address}/", f"{address.replace('http', 'ws', 1)}/", "data:", "blob:")):
            self.asked.append(url)


PYTHON = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}


def code_cell(source: str, outputs: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    """A cell of a notebook file."""
    return {"cell_type": "code", "metadata": {}, "execution_count": None, "source": source, "outputs": list(outputs)}


def notebook(cells: list[dict[str, Any]], metadata: dict[str, Any]) -> dict[str, Any]:
    """A notebook file."""
    return {"nbformat": 4, "nbformat_minor": 4, "metadata": metadata, "cells": cells}
