"""Can this environment's JupyterLab draw the live views? A JupyterLab elsewhere cannot be checked from here."""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from nbtf._storage.reading import read_text
from nbtf.cli.command_error import LAB
from nbtf.cli.finding import Finding

# The browser part of each package: its folder in share/jupyter/labextensions.
EXTENSIONS: Mapping[str, str] = {
    "anywidget": "anywidget",
    "ipywidgets": "@jupyter-widgets/jupyterlab-manager",
}
ELSEWHERE = Finding(
    "note",
    "JupyterLab elsewhere",
    "the live views need anywidget where JupyterLab runs, not only in this kernel; nbtf cannot check that from here",
)


def front_end(data: Sequence[Path] | None = None, config: Sequence[Path] | None = None) -> Iterator[Finding]:
    """Yields what is known about the browser part of the live views.

    Args:
      data: the share/jupyter folders; by default those of this environment.
      config: the folders with Jupyter's settings; by default those of this environment.
    """
    data = jupyter_folders("jupyter_path", Path("share/jupyter")) if data is None else data
    config = jupyter_folders("jupyter_config_path", Path("etc/jupyter")) if config is None else config
    off = disabled(config)
    for package, extension in EXTENSIONS.items():
        yield _extension(package, extension, data, off)
    yield ELSEWHERE


def jupyter_folders(function: str, default: Path) -> list[Path]:
    """Returns the folders that JupyterLab searches in this environment."""
    try:
        folders: list[str] = getattr(importlib.import_module("jupyter_core.paths"), function)()
    except ImportError:
        return [sys.prefix / default]
    return [Path(folder) for folder in folders]


def disabled(config: Sequence[Path]) -> set[str]:
    """Returns the lab extensions that are switched off."""
    names: set[str] = set()
    for folder in config:
        off = _read(folder / "labconfig" / "page_config.json").get("disabledExtensions", {})
        names |= {name for name in off if not isinstance(off, dict) or off[name]}
    return names


def import_error(package: str) -> str | None:
    """Returns why an installed package cannot be imported; None if it can."""
    try:
        importlib.import_module(package)
    except Exception as error:  # a broken installation may raise anything
        return f"{type(error).__name__}: {error}"
    return None


def _extension(package: str, extension: str, data: Sequence[Path], off: set[str]) -> Finding:
    subject = f"{package} in JupyterLab"
    extension_folder = next((folder / "labextensions" / extension for folder in data if _has(folder, extension)), None)
    if extension_folder is None:
        return Finding("missing", subject, f"its lab extension, for the live views: {LAB}")
    if any(re.fullmatch(rf"{re.escape(extension)}(:.*)?", name) for name in off):
        return Finding("wrong", subject, f"switched off: jupyter labextension enable {extension}")
    return Finding(
        "ok",
        subject,
        f"{_read(extension_folder / 'package.json').get('version', 'version unknown')} in {extension_folder}",
    )


def _has(folder: Path, extension: str) -> bool:
    return (folder / "labextensions" / extension / "package.json").is_file()


def _read(file: Path) -> dict[str, Any]:
    try:
        content: Any = json.loads(read_text(file))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}  # pyright: ignore[reportUnknownVariableType]
