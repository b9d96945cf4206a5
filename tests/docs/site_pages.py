"""Reads the pages of a built site: their ids, their links and the files they load."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest


@dataclass
class Page(HTMLParser):
    """A page of a site, with its links and the files that it loads, as written in the page."""

    path: Path
    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Reads the file."""
        super().__init__()
        self.feed(self.path.read_text(encoding="utf-8"))

    def __hash__(self) -> int:
        return hash(self.path)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collects the ids, links and files of an element."""
        said = {name: value or "" for name, value in attrs}
        self.ids |= {said[name] for name in ("id", "name") if name in said}
        if tag == "a" and "href" in said:
            self.links.append(said["href"])
        elif tag == "link" and said.get("rel") not in ("canonical", "search"):
            self.shown.append(said.get("href", ""))
        self.shown += [said[name] for name in ("src", "data", "poster") if said.get(name) and tag != "input"]


def built_site() -> Path:
    """Returns the folder of a documentation site. Without one, a test is skipped, or fails if `CI` is set."""
    folder = os.environ.get("NBTF_DOCS", "")
    if not folder:
        end = pytest.fail if os.environ.get("CI") else pytest.skip
        end("needs NBTF_DOCS: the folder of a site that `python .github/docs/build.py` has built")
    return Path(folder).resolve()


@cache
def pages_of(site: Path) -> dict[Path, Page]:
    """Returns the pages of a site by their paths, except those that run lessons."""
    paths = sorted(path for path in site.rglob("*.html") if site / "try" not in path.parents)
    return {path: Page(path) for path in paths if not path.is_relative_to(site / "_static")}
