"""What does a page say if the browser's Python cannot be loaded? A note below the cell that waits for it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from nbtf._own_files import own_json, own_text
from nbtf._storage import files
from nbtf._storage.reading import read_text
from nbtf.cli.command_error import CommandError

SECONDS = 20
"""How long a cell waits before the page looks whether the browser's Python can be loaded."""

TEXTS: Mapping[str, str] = own_json("nbtf.cli", "site_note.json")
"""The note in each language of the lessons."""

PROGRAM = "nbtf_note.js"
APPS = ("lab", "notebooks")

_ADDRESS = re.compile(r"https://[^\"'`\s]+/pyodide\.m?js")
"""How the kernel's program names Pyodide."""


def add_note(output: Path, settings: str) -> None:
    """Adds the program of the note to the pages of a site.

    Args:
      output: folder of the site that JupyterLite has built.
      settings: the name of the settings of the browser's kernel.

    Raises:
      CommandError: if the kernel does not name the address of Pyodide.
    """
    note = {"address": _address(output, settings), "seconds": SECONDS, "texts": TEXTS}
    program = f"const NOTE = {json.dumps(note, ensure_ascii=False)};\n{own_text('nbtf.cli', 'site_note.js')}"
    files.write(output / PROGRAM, program)
    for app in APPS:
        page = output / app / "index.html"
        files.write(page, read_text(page).replace("</body>", f'<script src="../{PROGRAM}"></script></body>', 1))


def _address(output: Path, settings: str) -> str:
    """Returns the address from which a page loads Pyodide: that of the settings or, without one, the kernel's own."""
    config = json.loads(read_text(output / "jupyter-lite.json"))["jupyter-config-data"]
    address = config.get("litePluginSettings", {}).get(settings, {}).get("pyodideUrl")
    if address:
        return str(address)
    programs = sorted((output / "extensions" / settings.partition(":")[0] / "static").glob("*.js"))
    addresses = [match.group() for program in programs for match in _ADDRESS.finditer(read_text(program))]
    if not addresses:
        raise CommandError(f"{settings} does not name the address of Pyodide; its page could not say why a cell waits")
    return addresses[0]
