"""Where does JupyterLab run for the browser tests? In a process with folders of its own; nobody's settings are read."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import quote
from urllib.request import urlopen

ROOT = Path(__file__).parents[2]
SECONDS = 300
"""How long the server may take to start, however busy the machine is; it takes four."""

# The pop-up that asks for news covers a corner of the page, and asking for updates leaves the machine.
SETTINGS = {
    "@jupyterlab/apputils-extension/notification.jupyterlab-settings": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/apputils-extension/kernels-settings.jupyterlab-settings": {"showStatusBarItem": False},
}
# It asks every kernel about itself, and writes an error onto the console when the kernel ends meanwhile.
NEVER = ("@jupyterlab/debugger-extension",)


@dataclass(frozen=True)
class LabServer:
    """A running JupyterLab."""

    home: Path
    address: str
    token: str
    process: subprocess.Popen[bytes]
    program: str = "jupyterlab"

    @property
    def notebooks(self) -> Path:
        """The folder that it serves."""
        return self.home / "notebooks"

    def page(self, notebook: str, workspace: str) -> str:
        """The address that opens a notebook, in a workspace without a past."""
        if self.program == "notebook":
            return f"{self.address}/notebooks/{quote(notebook)}?token={self.token}"
        return f"{self.address}/lab/workspaces/{workspace}/tree/{quote(notebook)}?token={self.token}&reset"

    def trust(self, notebook: Path) -> None:
        """Signs a notebook, so that JupyterLab draws its saved views."""
        from nbformat import read, sign

        folder = self.home / "data"
        folder.mkdir(exist_ok=True)
        notary = sign.NotebookNotary(data_dir=str(folder))
        notary.sign(read(notebook, as_version=4))
        notary.store.close()

    def disable(self, *extensions: str) -> None:
        """Has the pages that are opened from now on do without these extensions, too; none: with all but `NEVER`."""
        write(self._page_config, {"disabledExtensions": dict.fromkeys([*NEVER, *extensions], True)})

    def theme(self, name: str) -> None:
        """Has the pages that are opened from now on look `Light` or `Dark`."""
        write(self._themes, {"theme": f"JupyterLab {name}"})

    def settings(self) -> tuple[str, ...]:
        """What a page depends on that is opened now: the server, its extensions and its theme."""
        return (self.address, *(file.read_text(encoding="utf-8") for file in (self._page_config, self._themes)))

    @property
    def _page_config(self) -> Path:
        return self.home / "config" / "labconfig" / "page_config.json"

    @property
    def _themes(self) -> Path:
        return self.home / "settings" / "@jupyterlab" / "apputils-extension" / "themes.jupyterlab-settings"

    def stop(self) -> None:
        """Ends the server, and with it its kernels."""
        self.process.terminate()
        try:
            self.process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def environment(home: Path) -> dict[str, str]:
    """The environment of the server and its kernels: what a person has set, but for Jupyter's folders and ours."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("JUPYTER", "NBTF_"))}
    folders = {"CONFIG": "config", "DATA": "data", "RUNTIME": "runtime"}
    own = {f"JUPYTER_{name}_DIR": str(home / folder) for name, folder in folders.items()}
    own |= {"JUPYTERLAB_SETTINGS_DIR": str(home / "settings"), "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces")}
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return kept | own | {"IPYTHONDIR": str(home / "ipython"), "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}


def start_lab(home: Path, program: str = "jupyterlab") -> LabServer:
    """Starts JupyterLab, or Notebook 7, and waits until it answers."""
    (home / "notebooks").mkdir()
    for name, values in SETTINGS.items():
        write(home / "settings" / name, values)
    token, port = secrets.token_hex(16), free_port()
    command = [
        *(sys.executable, "-m", program, "--no-browser", "--allow-root", "--ip=127.0.0.1"),
        *(f"--ServerApp.port={port}", "--ServerApp.port_retries=0", f"--IdentityProvider.token={token}"),
        *(f"--ServerApp.root_dir={home / 'notebooks'}", "--LabApp.expose_app_in_browser=True"),
        "--JupyterNotebookApp.expose_app_in_browser=True",
        *("--LabApp.extension_manager=readonly", "--LabApp.news_url=None"),
        "--LanguageServerManager.autodetect=False",  # a type checker would start with each notebook
    ]
    with (home / "server.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment(home), cwd=home, stdout=log, stderr=subprocess.STDOUT)
    server = LabServer(home, f"http://127.0.0.1:{port}", token, process, program)
    server.disable()
    server.theme("Light")
    try:
        wait_until_it_answers(server)
    except BaseException:
        server.stop()
        raise
    return server


def wait_until_it_answers(server: LabServer) -> None:
    """Asks until JupyterLab answers; says what its log says if it never does."""
    end = time.monotonic() + SECONDS
    while server.process.poll() is None and time.monotonic() < end:
        try:
            with urlopen(f"{server.address}/api/status?token={server.token}", timeout=SECONDS):
                return
        except (URLError, ConnectionError):
            time.sleep(0.05)  # between two questions; nothing is told when a port opens
    raise RuntimeError(f"JupyterLab did not start:\n{(server.home / 'server.log').read_text()[-2000:]}")


def free_port() -> int:
    """A port that nobody listens to."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def write(file: Path, content: Any) -> None:
    """Writes JSON into a file, and makes its folder."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content), encoding="utf-8")
