"""Is everything ready for a release? Run by its workflow: `python tests/release.py v1.0.0 https://github.com/OWNER/NAME`.

`--notes` prints what the changelog says of the version instead.
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
    """Yields what does not agree, in sentences.

    Args:
      root: of the repository.
      tag: of the release, such as `v1.0.0`.
      address: of the repository.
    """
    version = tag.removeprefix("v")
    if (own := _assigned(root / "nbtf" / "runtime" / "__init__.py", "version")) != version:
        yield f"nbtf/runtime/__init__.py says version {own}, the tag says {version}"
    if (cited := _field(root / ".github" / "CITATION.cff", "version")) != version:
        yield f".github/CITATION.cff says version {cited}, the tag says {version}"
    sections = _sections(root)
    if version not in sections:
        yield f"CHANGELOG.md has no section [{version}]"
    elif not _DATE.fullmatch(sections[version][0]):
        yield f"the section [{version}] of CHANGELOG.md has no date"
    elif (dated := _field(root / ".github" / "CITATION.cff", "date-released")) != sections[version][0]:
        yield f".github/CITATION.cff is of {dated}, the section [{version}] of CHANGELOG.md of {sections[version][0]}"
    if not _assigned(root / "nbtf" / "_install.py", "SOURCE"):
        yield "nbtf/_install.py does not say where nbtf is installed from"
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    if address not in project.get("urls", {}).values():
        yield f"[project.urls] of pyproject.toml does not name {address}"


def notes(root: Path, tag: str) -> str:
    """Returns what the changelog says of a version.

    Raises:
      KeyError: it has no section for it.
    """
    return _sections(root)[tag.removeprefix("v")][1].strip()


def _sections(root: Path) -> dict[str, tuple[str, str]]:
    """The changelog's sections by version: date and text."""
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    return {match["version"]: (match["date"] or "", match["text"]) for match in _SECTION.finditer(text)}


def _assigned(path: Path, name: str) -> str:
    """The text that a module gives to a name; read, not run."""
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
