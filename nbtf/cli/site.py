"""`nbtf site`: how do the lessons become a page that needs no server? JupyterLite with nbtf's wheel and its needs."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from nbtf._counts import counted
from nbtf._install import pip_install
from nbtf._storage import files, folders
from nbtf.cli.arguments import add_parser
from nbtf.cli.command_error import CommandError, require, writing
from nbtf.cli.images import copy_images
from nbtf.cli.in_browser import in_browser
from nbtf.cli.lab import Lesson, lessons
from nbtf.cli.notebook_choice import notebooks_in
from nbtf.cli.notebook_file import read, write
from nbtf.cli.own_wheel import has_digits, own_wheel
from nbtf.cli.pyodide_folder import copy_pyodide
from nbtf.cli.site_note import add_note

PYTHON = "3.14"
"""The Python of the Pyodide that jupyterlite-pyodide-kernel 0.8 loads."""

PURE = ("ipywidgets", "anywidget", "ipython", "jedi", "comm", "traitlets")
"""Packages that a page's kernel and the live views need; pip adds their requirements."""

STUB = "widgetsnbextension"
"""Replaced because JupyterLite brings an empty one."""

SETTINGS = "@jupyterlite/pyodide-kernel-extension:kernel"

OPEN = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>nbtf</title>
<script id="jupyter-config-data" type="application/json" data-jupyter-lite-root=".">{{}}</script>
<meta http-equiv="refresh" content="0; url={first}">
<p><a href="{first}">Open the first lesson</a></p>
"""
"""The page at the root. JupyterLite's pages read their settings from it; this one sets none."""


def add_command(commands: Any) -> None:
    """Adds `site` to the command line."""
    add_parser(commands, "site", site)


def site(chosen: argparse.Namespace) -> int:
    """Builds the site and prints how to view it."""
    require(
        ["jupyterlite_core", "jupyterlite_pyodide_kernel", "jupyter_server", "ipywidgets", "anywidget", "nbformat"],
        "nbtf site",
        pip_install("site"),
    )
    _check_output(chosen.output)
    contents = [Lesson(path, path.name) for path in notebooks_in(chosen.notebooks)] if chosen.notebooks else lessons()
    with writing(chosen.output), folders.open_draft(chosen.output) as draft:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            packages: Sequence[str] = []
            if chosen.pyodide is not None:
                _tell_step(f"Copying Pyodide from {chosen.pyodide}")
                packages = copy_pyodide(chosen.pyodide, folder / "static" / "pyodide")
            prepare(folder, contents, offline=bool(packages))
            _tell_step("JupyterLite builds the pages; this takes about half a minute")
            build(folder, Path(draft))
        add_note(Path(draft), SETTINGS)
        files.write(Path(draft) / "index.html", OPEN.format(first=_address(contents[0].relative_path)))
    print(describe_site(chosen.output, len(contents), packages))
    return 0


def prepare(folder: Path, contents: Sequence[Lesson], offline: bool) -> None:
    """Puts notebooks, wheels and settings where JupyterLite looks for them.

    Args:
      folder: empty except for Pyodide.
      contents: notebooks, each with its place in the site.
      offline: whether pages must work without a package index.
    """
    _tell_step(f"Copying {counted(len(contents), 'notebook')}")
    copy_notebooks(contents, folder / "contents")
    wheels = folder / "wheels"
    wheels.mkdir()
    _tell_step("pip fetches what a page's Python needs")
    fetch_wheels(wheels)
    _tell_step("Packing nbtf itself")
    own_wheel(wheels)
    settings = {"litePluginSettings": {SETTINGS: {"disablePyPIFallback": offline}}}
    config = {"jupyter-lite-schema-version": 0, "jupyter-config-data": {"appName": "nbtf", **settings}}
    files.write(folder / "jupyter-lite.json", json.dumps(config))


def copy_notebooks(contents: Sequence[Lesson], folder: Path) -> None:
    """Copies notebooks in a form that runs in a page, with their images.

    Args:
      contents: notebooks, each with its place in the folder.
      folder: created if necessary.

    Raises:
      CommandError: if two notebooks have the same place, or one cannot be read or written.
    """
    for path, relative_path in contents:
        target = folder / relative_path
        if target.exists():
            raise CommandError(f"two notebooks are called {relative_path}")
        target.parent.mkdir(parents=True, exist_ok=True)
        notebook = read(path)
        write(target, in_browser(notebook), has_lists_of_lines=False)  # JupyterLite shows a list with commas
        copy_images(notebook, path.parent, target.parent, for_page=True)


def fetch_wheels(folder: Path) -> None:
    """Downloads the pure Python wheels with pip, for the page's Python and not for this one.

    Raises:
      CommandError: if pip failed.
    """
    target = ("--python-version", PYTHON, "--platform", "any", "--implementation", "py", "--abi", "none")
    pip = (sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check")
    _run([*pip, "--only-binary", ":all:", *target, "--dest", str(folder), *PURE], "pip could not get the wheels")
    for stub in folder.glob(f"{STUB}-*.whl"):
        stub.unlink()


def build(folder: Path, output: Path) -> None:
    """Runs JupyterLite over a folder.

    Raises:
      CommandError: if it failed.
    """
    lite = (sys.executable, "-m", "jupyterlite_core", "build", "--lite-dir", str(folder), "--output-dir")
    less = ("--no-sourcemaps", "--no-unused-shared-packages", "--apps", "lab", "--apps", "notebooks")
    brought = ("--contents", str(folder / "contents"), "--piplite-wheels", str(folder / "wheels"))
    _run([*lite, str(output.resolve()), *less, *brought], "JupyterLite could not build the site", folder)


def describe_site(output: Path, notebooks: int, packages: Sequence[str]) -> str:
    """Returns the text printed once the site is built."""
    size = sum(path.stat().st_size for path in output.rglob("*") if path.is_file())
    python = "included; no other host is contacted" if packages else "loaded from its CDN when a notebook is opened"
    lines = [
        f"Site: {output.resolve()} ({notebooks} notebooks, {size / 2**20:.0f} MiB)",
        f"Pyodide, the browser's Python: {python}",
        f"To view it: {Path(sys.executable).name} -m http.server --directory {output}",
    ]
    if not has_digits():
        lines.append("tf.keras.datasets.digits will not work in it: it needs scikit-learn, which is not installed.")
    return "\n".join(lines)


def _tell_step(text: str) -> None:
    """Prints the current step immediately, even when the output goes into a file or a pipe."""
    print(f"{text} ...", flush=True)


def _address(relative_path: str) -> str:
    return f"lab/index.html?path={quote(relative_path)}"


def _check_output(output: Path) -> None:
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise CommandError(f"{output} already exists and is not empty. Delete it, or choose another folder with -o.")


def _run(command: Sequence[str], failed: str, folder: Path | None = None) -> None:
    quiet = {**os.environ, "PYTHONWARNINGS": "ignore"}
    process = subprocess.run(
        command, cwd=folder, env=quiet, capture_output=True, text=True, errors="replace", check=False
    )
    if process.returncode:
        last_lines = [line for line in (process.stdout + process.stderr).splitlines() if line.strip()][-8:]
        raise CommandError("\n".join([f"{failed}:", *last_lines]))
