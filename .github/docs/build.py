"""Builds the documentation site: `python .github/docs/build.py [DIR]`. Needs the extra `docs` and no network."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

DOCS = Path(__file__).parent
ROOT = DOCS.parents[1]
sys.path[:0] = [str(DOCS), str(ROOT)]

LANGUAGES = ("en", "ja", "zh_CN")
"""The first is at the root of the site, each of the others in a folder of its own."""

PICTURES = ("hero.svg", "live_view.png")

MOVED = ("questions", "guides")
"""A folder that was renamed: its old addresses lead to the new ones."""


def main() -> int:
    """Builds the site in every language and returns the exit status of the first build that fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path, nargs="?", default=Path("build/docs"), help="default: build/docs")
    parser.add_argument("--try", dest="site", type=Path, metavar="DIR", help="add a site that `nbtf site` has built")
    parser.add_argument("--language", choices=LANGUAGES, help="build only this language")
    parser.add_argument("--catalogues", action="store_true", help="update the translation catalogues; build nothing")
    chosen = parser.parse_args()
    with TemporaryDirectory() as scratch:
        if chosen.catalogues:
            return update_catalogues(lay_out(Path(scratch) / "en", "en", has_site=False), Path(scratch) / "templates")
        for language in [chosen.language] if chosen.language else LANGUAGES:
            source = lay_out(Path(scratch) / language, language, has_site=chosen.site is not None)
            target = chosen.output if language == "en" else chosen.output / language
            if status := sphinx("html", source, target, language, has_site=chosen.site is not None):
                return status
            shutil.rmtree(
                target / "jupyter_execute", ignore_errors=True
            )  # copies of the lessons; no page links to them
            write_redirects(target)
    if chosen.site is not None:
        shutil.copytree(chosen.site, chosen.output / "try", dirs_exist_ok=True)
    print(f"Site: {(chosen.output / 'index.html').resolve()}")  # noqa: T201  # a command
    return 0


def lay_out(folder: Path, language: str, has_site: bool) -> Path:
    """Collects the sources of one language's pages in a folder, and returns the folder."""
    from sources import write_lessons, write_sources

    shutil.copytree(DOCS, folder, ignore=shutil.ignore_patterns("__pycache__", "*.mo"))
    for name in PICTURES:
        shutil.copy(DOCS.parent / name, folder / name)
    for name in ("MAGICS.md", "EVENTS.md"):
        shutil.copy(DOCS.parent / name, folder / "reference" / name)
    notebooks = ROOT / "notebooks"
    lessons = notebooks if language == "en" else notebooks / language
    write_lessons(lessons, folder / "lessons", language, has_site)
    write_sources(folder)
    write_gallery(folder, language)
    return folder


def write_gallery(folder: Path, language: str) -> None:
    """Draws the gallery's pictures in a process of its own, with texts in the language of the page."""
    environment = os.environ | {"NBTF_LANG": language, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(DOCS / "pictures.py"), str(folder / "gallery.md"), str(folder)]
    subprocess.run(command, env=environment, check=True)


def write_redirects(target: Path) -> None:
    """Writes a page at each address of the renamed folder that leads to the page's new address."""
    old, new = MOVED
    (target / old).mkdir(exist_ok=True)
    for page in (target / new).glob("*.html"):
        address = f"../{new}/{page.name}"
        (target / old / page.name).write_text(
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>This page has moved</title>'
            f'<meta http-equiv="refresh" content="0; url={address}"><link rel="canonical" href="{address}"></head>'
            f'<body><p><a href="{address}">This page has moved.</a></p></body></html>\n',
            encoding="utf-8",
        )


def sphinx(builder: str, source: Path, target: Path, language: str, has_site: bool = False) -> int:
    """Runs Sphinx and treats every warning and every broken reference as an error."""
    options = ("-q", "-E", "-n", "-W", "--keep-going", "-b", builder, "-D", f"language={language}")
    environment = os.environ | {"NBTF_DOCS_TRY": "1" if has_site else "", "PYTHONPATH": str(ROOT)}
    doctrees = ("-d", str(source.parent / f"doctrees-{builder}-{language}"))
    command = [sys.executable, "-m", "sphinx", *options, *doctrees, str(source), str(target)]
    return subprocess.run(command, env=environment, check=False).returncode


def update_catalogues(source: Path, templates: Path) -> int:
    """Adds new and changed texts to the translation catalogues; existing translations are kept."""
    if status := sphinx("gettext", source, templates, "en"):
        return status
    for path in [*templates.glob("reference"), *templates.glob("lessons/*_*"), templates / "sphinx.pot"]:
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    languages = [word for language in LANGUAGES[1:] for word in ("-l", language)]
    command = ["sphinx-intl", "update", "-p", str(templates), "-d", str(DOCS / "locale"), "-w", "0", *languages]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
