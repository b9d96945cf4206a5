"""Checks that everything is ready for a release: `python tests/release.py v1.0.0 https://github.com/OWNER/NAME`.

The release workflow runs it. `--notes` prints the version's section of the changelog instead.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
_SECTION = re.compile(r"^## \[(?P<version>[^\]]+)\](?: - (?P<date>\S+))?\n(?P<text>.*?)(?=^## \[|\Z)", re.M | re.S)
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def problems(root: Path, tag: str, address: str) -> Iterator[str]:
    """Yields every disagreement as a sentence.

    Args:
      root: root of the repository.
      tag: tag of the release, such as `v1.0.0`.
      address: address of the repository.
    """
    version = tag.removeprefix("v")
    if (own := _assigned(root / "nbtf" / "_install.py", "VERSION")) != version:
        yield f"nbtf/_install.py has version {own}, the tag has {version}"
    if (cited := _field(root / ".github" / "CITATION.cff", "version")) != version:
        yield f".github/CITATION.cff has version {cited}, the tag has {version}"
    sections = _sections(root)
    if version not in sections:
        yield f"CHANGELOG.md has no section [{version}]"
    elif not _DATE.fullmatch(sections[version][0]):
        yield f"the section [{version}] of CHANGELOG.md has no date"
    elif (dated := _field(root / ".github" / "CITATION.cff", "date-released")) != sections[version][0]:
        yield f".github/CITATION.cff is dated {dated}, the section [{version}] of CHANGELOG.md {sections[version][0]}"
    if not _assigned(root / "nbtf" / "_install.py", "SOURCE"):
        yield "nbtf/_install.py does not give the address that nbtf is installed from"
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    if address not in project.get("urls", {}).values():
        yield f"[project.urls] of pyproject.toml does not name {address}"


def notes(root: Path, tag: str) -> str:
    """Returns the changelog's section for a version.

    Raises:
      KeyError: if the changelog has no section for this version.
    """
    return _sections(root)[tag.removeprefix("v")][1].strip()


def _sections(root: Path) -> dict[str, tuple[str, str]]:
    """Returns date and text of the changelog's sections, by version."""
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    return {match["version"]: (match["date"] or "", match["text"]) for match in _SECTION.finditer(text)}


def _assigned(path: Path, name: str) -> str:
    """Returns the string that a module assigns to a name; the module is read, not run."""
    match = re.search(rf'^{name}(?:: \w+)? = "([^"]*)"', path.read_text(encoding="utf-8"), re.M)
    return match[1] if match else ""


def _field(path: Path, name: str) -> str:
    match = re.search(rf"^{name}: (\S+)$", path.read_text(encoding="utf-8"), re.M)
    return match[1] if match else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tag")
    parser.add_argument("address", nargs="?", default="")
    parser.add_argument("--notes", action="store_true")
    chosen = parser.parse_args()
    if chosen.notes:
        print(notes(ROOT, chosen.tag))
        return 0
    sentences = list(problems(ROOT, chosen.tag, chosen.address))
    print("\n".join(sentences) or f"{chosen.tag} is ready")
    return int(bool(sentences))


if __name__ == "__main__":
    sys.exit(main())
