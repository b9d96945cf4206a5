"""Makes the documentation site: `python .github/docs/build.py [DIR]`. Needs the extra `docs`, and no network."""

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
"""The first stands at the root of the site, each other in a folder of its own."""

PICTURES = ("hero.svg", "live_view.png")


def main() -> int:
    """Builds the site in all languages; the status is that of the first one that Sphinx refuses."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path, nargs="?", default=Path("build/docs"), help="default: build/docs")
    parser.add_argument("--try", dest="site", type=Path, metavar="DIR", help="a site that `nbtf site` has built")
    parser.add_argument("--catalogues", action="store_true", help="puts new texts into the catalogues, builds nothing")
    chosen = parser.parse_args()
    with TemporaryDirectory() as scratch:
        if chosen.catalogues:
            return update_catalogues(lay_out(Path(scratch) / "en", "en", has_site=False), Path(scratch) / "templates")
        for language in LANGUAGES:
            source = lay_out(Path(scratch) / language, language, has_site=chosen.site is not None)
            target = chosen.output if language == "en" else chosen.output / language
            if status := sphinx("html", source, target, language, has_site=chosen.site is not None):
                return status
            shutil.rmtree(target / "jupyter_execute", ignore_errors=True)  # the lessons again, to which nothing leads
    if chosen.site is not None:
        shutil.copytree(chosen.site, chosen.output / "try", dirs_exist_ok=True)
    print(f"Site: {(chosen.output / 'index.html').resolve()}")  # noqa: T201  # a command
    return 0


def lay_out(folder: Path, language: str, has_site: bool) -> Path:
    """Puts all that the pages of a language are made of into a folder, and returns it."""
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
    return folder


def sphinx(builder: str, source: Path, target: Path, language: str, has_site: bool = False) -> int:
    """Runs Sphinx, for which every warning and every reference that leads nowhere is an error."""
    options = ("-q", "-E", "-n", "-W", "--keep-going", "-b", builder, "-D", f"language={language}")
    environment = os.environ | {"NBTF_DOCS_TRY": "1" if has_site else "", "PYTHONPATH": str(ROOT)}
    doctrees = ("-d", str(source.parent / f"doctrees-{builder}-{language}"))
    command = [sys.executable, "-m", "sphinx", *options, *doctrees, str(source), str(target)]
    return subprocess.run(command, env=environment, check=False).returncode


def update_catalogues(source: Path, templates: Path) -> int:
    """Writes the texts that are new or have changed into the catalogues; what is translated stays."""
    if status := sphinx("gettext", source, templates, "en"):
        return status
    for path in [*templates.glob("reference"), *templates.glob("lessons/*_*"), templates / "sphinx.pot"]:
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    languages = [word for language in LANGUAGES[1:] for word in ("-l", language)]
    command = ["sphinx-intl", "update", "-p", str(templates), "-d", str(DOCS / "locale"), "-w", "0", *languages]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
