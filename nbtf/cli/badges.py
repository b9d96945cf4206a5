"""Which buttons open a notebook without installing anything? Binder's and Colab's, for a project hosted on GitHub."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import quote

from nbtf._storage.reading import read_text
from nbtf.cli.command_error import reading

BINDER = "https://mybinder.org"
COLAB = "https://colab.research.google.com"
BRANCH = "main"

_GITHUB = re.compile(r"https://github\.com/([\w.-]+)/([\w.-]+?)(?:\.git)?/?")
_BADGE = r"\[!\[[^\[\]]*\]\([^()]*\)\]\([^()]*\)"
_LINE = re.compile(rf"\n\n{_BADGE}(?: {_BADGE})*")


def address_in(project: Path) -> str:
    """Returns a project's address on GitHub, from `[project.urls]` of its pyproject.toml; empty without one.

    Args:
      project: the pyproject.toml file.
    """
    with reading(project):
        text = read_text(project)
    urls = tomllib.loads(text).get("project", {}).get("urls", {})
    return next((str(url) for url in urls.values() if _GITHUB.fullmatch(str(url))), "")


def badges(address: str, notebook: str) -> str:
    """Returns a notebook's buttons as one line of Markdown.

    Args:
      address: `https://github.com/OWNER/NAME`, from which Binder and Colab load the notebook.
      notebook: its path in the repository.

    Returns:
      The buttons; empty if `address` is empty or not on GitHub.

    >>> "mybinder.org/v2/gh/me/course/main?" in badges("https://github.com/me/course", "a.ipynb")
    True
    """
    match = _GITHUB.fullmatch(address)
    if match is None:
        return ""
    repository, path = f"{match[1]}/{match[2]}", quote(notebook)
    binder = f"{BINDER}/v2/gh/{repository}/{BRANCH}?urlpath=lab/tree/{path}"
    colab = f"{COLAB}/github/{repository}/blob/{BRANCH}/{path}"
    return (
        f"[![Open in Binder]({BINDER}/badge_logo.svg)]({binder}) "
        f"[![Open in Colab]({COLAB}/assets/colab-badge.svg)]({colab})"
    )


def with_badges(notebook: Any, line: str) -> Any:
    """Puts the buttons below a notebook's title, replacing any that are already there.

    Args:
      notebook: as nbformat reads it; changed in place. A notebook without a title is not changed.
      line: the buttons; empty to remove them.
    """
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and cell.source.startswith("# "):
            title, _, text = _LINE.sub("", cell.source, count=1).partition("\n")
            cell.source = title + (f"\n\n{line}" if line else "") + (f"\n{text}" if text else "")
            break
    return notebook
