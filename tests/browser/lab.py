"""What does a test do with a page of JupyterLab? Opens a notebook, runs cells without waiting, looks, and asks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.browser.lab_server import LabServer

if TYPE_CHECKING:  # it may be missing; then every test skips or fails with the reason
    from playwright.sync_api import Locator, Page, Route, WebSocket

SECONDS = 60
"""How long anything in a page may take; what fails here fails in seconds, so only a slow machine sees the end."""

NOTEBOOK = "jupyterapp.shell.currentWidget"
RUN = f"""index => {{
    const {{ content }} = {NOTEBOOK};
    content.activeCellIndex = index;
    content.deselectAll();
    return jupyterapp.commands.execute('notebook:run-cell');
}}"""
WATCH = Path(__file__).with_name("watch.js")


@dataclass
class Lab:
    """A page of JupyterLab. What it asks of other machines is refused and written down, and so are its errors."""

    page: Page
    server: LabServer
    name: str
    asked: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Listens."""
        self.page.set_default_timeout(SECONDS * 1000)
        self.page.add_init_script(path=WATCH)
        self.page.route("**/*", self._route)
        self.page.on("websocket", self._socket)
        self.page.on("pageerror", lambda error: self.errors.append(f"uncaught: {error}"))
        self.page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)

    # Notebooks

    def open(self, *cells: str | dict[str, Any], metadata: dict[str, Any] | None = None, kernel: bool = True) -> None:
        """Opens a notebook of these cells: code, or whole cells with their outputs. With outputs it is trusted."""
        file = self.server.notebooks / f"{self.name}.ipynb"
        whole = [code_cell(cell) if isinstance(cell, str) else cell for cell in cells]
        file.write_text(
            json.dumps(notebook(whole, {**(metadata or {}), **(PYTHON if kernel else {})})), encoding="utf-8"
        )
        if any(cell["outputs"] for cell in whole):
            self.server.trust(file)
        self.page.goto(self.server.page(file.name, self.name))
        self.wait(f"window.{NOTEBOOK}?.context?.isReady && {NOTEBOOK}.content?.widgets.length == {len(whole)}")
        if kernel:
            self.page.evaluate(f"() => {NOTEBOOK}.sessionContext.ready")
            self.wait(f"{self._kernel}?.status == 'idle'")
        else:
            self.page.get_by_role("button", name="No Kernel", exact=False).first.click()
            self.page.locator(".jp-Dialog").wait_for(state="detached")

    def start(self, index: int) -> None:
        """Starts a cell, and does not wait for it."""
        self.page.evaluate(f"index => {{ ({RUN})(index); }}", index)

    def run(self, *indexes: int) -> None:
        """Runs cells, each to its end."""
        for index in indexes:
            self.page.evaluate(f"index => ({RUN})(index).then(() => null)", index)
            self.wait(f"{self._kernel}.status == 'idle'")

    def output(self, index: int) -> Locator:
        """What stands below a cell."""
        return self.page.locator(".jp-Notebook .jp-Cell").nth(index).locator(".jp-Cell-outputArea")

    # The kernel

    @property
    def _kernel(self) -> str:
        return f"{NOTEBOOK}.sessionContext.session?.kernel"

    def status(self) -> str:
        """What the kernel does: `busy`, `idle`, ..."""
        return str(self.page.evaluate(f"() => {self._kernel}?.status"))

    def restart(self) -> None:
        """Restarts the kernel as the menu does."""
        self.page.evaluate(f"() => {NOTEBOOK}.sessionContext.restartKernel()")
        self.wait(f"{self._kernel}.status == 'idle'")

    def interrupt(self) -> None:
        """Interrupts the cell that runs."""
        self.page.evaluate(f"() => {self._kernel}.interrupt()")

    # Looking

    def wait(self, condition: str, argument: Any = None, polling: Any = 50) -> None:
        """Waits until a JavaScript expression holds; `argument` is known to it as `arg`."""
        self.page.wait_for_function(f"arg => {condition}", arg=argument, polling=polling)

    def theme(self, name: str) -> None:
        """Switches to `Light` or `Dark`."""
        self.page.evaluate(
            "name => jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab ' + name})", name
        )
        self.wait("document.body.dataset.jpThemeLight == arg", "true" if name == "Light" else "false")

    def forget(self) -> tuple[list[str], list[str]]:
        """Takes out what it asked of other machines, and its errors: a test has looked at them itself."""
        heard = self.asked.copy(), self.errors.copy()
        self.asked.clear()
        self.errors.clear()
        return heard

    def end(self) -> None:
        """Shuts the kernel down, hears the last messages, and closes the page."""
        self.page.evaluate(f"() => window.jupyterapp && {NOTEBOOK}?.sessionContext?.shutdown()")
        self.page.close()

    # Requests

    def _local(self, url: str) -> bool:
        local = url.startswith((self.server.address, self.server.address.replace("http", "ws", 1), "data:", "blob:"))
        if not local:
            self.asked.append(url)
        return local

    def _socket(self, socket: WebSocket) -> None:
        self._local(socket.url)

    def _route(self, route: Route) -> None:
        if self._local(route.request.url):
            route.continue_()
        else:
            route.abort()


PYTHON = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}


def code_cell(source: str, outputs: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    """A cell of a notebook file."""
    return {"cell_type": "code", "metadata": {}, "execution_count": None, "source": source, "outputs": list(outputs)}


def notebook(cells: list[dict[str, Any]], metadata: dict[str, Any]) -> dict[str, Any]:
    """A notebook file."""
    return {"nbformat": 4, "nbformat_minor": 4, "metadata": metadata, "cells": cells}
