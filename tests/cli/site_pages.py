"""The pages of a site as JupyterLite builds them, as far as `nbtf site` changes them."""

from __future__ import annotations

import json
from pathlib import Path

from nbtf.cli import site
from nbtf.cli.site_note import APPS


def build_pages(output: Path, pyodide: str | None = None, kernel: str = "") -> None:
    """Writes the settings, the pages and the kernel's program.

    Args:
      output: folder of the site.
      pyodide: the address of Pyodide in the settings; None if the kernel's own is used.
      kernel: the text of the kernel's program.
    """
    extension = site.SETTINGS.partition(":")[0]
    files = {
        "jupyter-lite.json": json.dumps(
            {"jupyter-config-data": {"litePluginSettings": {site.SETTINGS: {"pyodideUrl": pyodide} if pyodide else {}}}}
        ),
        f"extensions/{extension}/static/1.js": kernel,
        **{f"{app}/index.html": "<body><main></main></body>" for app in APPS},
    }
    for name, text in files.items():
        path = output / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
