"""Generates the pages that are not files of this folder: lessons, the API, magics, variables, TensorFlow's names."""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

from commands import commands_page
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from sphinx.pycode import ModuleAnalyzer

import nbtf
from nbtf.cli.images import copy_images
from nbtf.cli.notebook_file import read, write
from nbtf.cli.special_cells import is_install_cell
from nbtf.cli.variables import VARIABLES
from nbtf.notebook.magics.export import export_schema
from nbtf.notebook.session import SESSIONS

CHAPTERS = ("Functions", "Values", "Classes", "Records")

PAGES = {
    "runtime": ("runtime", CHAPTERS[:2]),
    "runtime_classes": ("runtime", CHAPTERS[2:]),
    "config": ("config", CHAPTERS),
    "notebook": ("notebook", CHAPTERS),
}
"""For each page, a namespace of `tf` and the kinds of names that the page lists."""


def write_sources(folder: Path) -> None:
    """Writes the generated pages of the reference to a folder."""
    reference = folder / "reference"
    for page, (name, chapters) in PAGES.items():
        (reference / f"{page}.rst").write_text(namespace_page(getattr(nbtf, name), chapters), encoding="utf-8")
    (reference / "magic_options.md").write_text(magics_page(), encoding="utf-8")
    (reference / "variables.md").write_text(variables_page(), encoding="utf-8")
    (reference / "tensorflow_names.md").write_text(names_page(), encoding="utf-8")
    changelog = (Path(__file__).parents[2] / "CHANGELOG.md").read_text(encoding="utf-8")
    (reference / "changelog.md").write_text(re.sub(r"\[([^\]]+)\]\([^)\s]+\)", r"\1", changelog), encoding="utf-8")
    commands = reference / "commands.md"
    commands.write_text(commands_page(commands.read_text(encoding="utf-8")), encoding="utf-8")
    (folder / "extra").mkdir()
    (folder / "extra" / "events.schema.json").write_text(json.dumps(export_schema(), indent=2), encoding="utf-8")


# ---- lessons


RUN_IT = {
    "en": "Run this lesson in this browser",
    "ja": "このレッスンをこのブラウザーで実行する",
    "zh_CN": "在这个浏览器里运行这一课",
}


def write_lessons(notebooks: Path, folder: Path, language: str, has_site: bool) -> None:
    """Copies lessons to where Sphinx expects them, with their stored outputs and their drawings.

    Args:
      notebooks: the folder of the lessons.
      folder: the folder to write to.
      language: the language of the lessons.
      has_site: whether the site has a page that runs each lesson in the browser.
    """
    for path in sorted(notebooks.glob("*.ipynb")):
        notebook = read(path)
        text = lesson(notebook).cells[0]
        if has_site:
            address = f"{path.name}" if language == "en" else f"{language}%2F{path.name}"
            up = "../" if language == "en" else "../../"
            button = f'<a class="nbtf-button" href="{up}try/lab/index.html?path={address}">{RUN_IT[language]}</a>'
            text.source = re.sub(r"^(# .*)$", rf"\1\n\n{button}", text.source, count=1, flags=re.MULTILINE)
        write(folder / path.name, notebook)
        copy_images(notebook, path.parent, folder)


def lesson(notebook: Any) -> Any:
    """Returns a lesson as a page: without its install cell and its line of languages; folded outputs stay folded."""
    cells = [cell for cell in notebook.cells if not is_install_cell(cell)]
    for cell in cells:
        if cell.cell_type == "markdown":
            cell.source = re.sub(r"^.*\[English\]\(.*\n\n?", "", cell.source, flags=re.MULTILINE)
            continue
        folded = cell.metadata.get("jupyter", {})
        for name, tag in (("source_hidden", "hide-input"), ("outputs_hidden", "hide-output")):
            if folded.get(name):
                cell.metadata["tags"] = [*cell.metadata.get("tags", []), tag]
        for drawing in drawings(cell):
            cell.metadata["mystnb"] = {"image": {"alt": drawing.get("aria-label", "")}}
    notebook.cells = cells
    return notebook


def drawings(cell: Any) -> Iterator[ElementTree.Element]:
    """Yields the SVG pictures among a cell's outputs."""
    for output in cell.outputs:
        if "image/svg+xml" in output.get("data", {}):
            yield ElementTree.fromstring(output.data["image/svg+xml"])


# ---- the API


def namespace_page(module: ModuleType, chapters: Sequence[str]) -> str:
    """Returns a page of a namespace: chapters of its names, followed on its first page by its inner namespaces."""
    title = module.__name__.replace("nbtf", "tf", 1)
    public = {name: getattr(module, name) for name in dir(module) if not name.startswith("_")}
    below = {name: value for name, value in public.items() if inspect.isclass(value) and name.islower()}
    is_first = chapters[0] == CHAPTERS[0]
    heading = title if is_first else f"{title}: {' and '.join(chapters).lower()}"
    directive = f".. py:module:: {title}" if is_first else f".. py:currentmodule:: {title}"
    lines = [directive, "", heading, "=" * len(heading), "", str(inspect.getdoc(module)) if is_first else "", ""]
    for chapter in chapters:
        names = [name for name, value in public.items() if name not in below and chapter_of(value) == chapter]
        if names:
            lines += [chapter, "-" * len(chapter), ""]
        for name in names:
            lines += [*entry(f"{title}.{name}", public[name]), ""]
    for name, value in below.items() if is_first else ():
        lines += inner_namespace(f"{title}.{name}", value)
    return "\n".join(lines)


def inner_namespace(title: str, namespace: type) -> list[str]:
    """Returns the chapter of a class that only groups functions, such as `tf.config.experimental`."""
    own_name = title.rpartition(".")[2]
    lines = [title, "-" * len(title), "", f".. py:class:: {own_name}", "   :no-typesetting:", ""]
    lines += [str(inspect.getdoc(namespace)), ""]
    for name, value in vars(namespace).items():
        if inspect.isclass(value):
            lines += [f".. py:class:: {own_name}.{name}", "", f"   The same as `tf.config.{value.__name__}`.", ""]
        elif not name.startswith("_"):
            lines += [f".. automethod:: {title}.{name}", ""]
    return lines


def chapter_of(value: object) -> str:
    """Returns the chapter of its page that lists a name."""
    if inspect.isclass(value):
        return "Records" if hasattr(value, "_fields") else "Classes"
    return "Functions" if callable(value) else "Values"


def entry(name: str, value: object) -> list[str]:
    """Returns the directive of a name. Fields of a record are left out: its signature lists them."""
    if chapter_of(value) == "Values":
        own_name = name.rpartition(".")[2]
        return [f".. py:data:: {own_name}", "", *(f"   {line}" for line in value_docstring(own_name, value))]
    if not inspect.isclass(value):
        return [f".. autofunction:: {name}"]
    fields = (*getattr(value, "_fields", ()), "with_traceback", "add_note")
    return [f".. autoclass:: {name}", "   :members:", f"   :exclude-members: {', '.join(fields)}"]


def value_docstring(name: str, value: object) -> list[str]:
    """Returns the docstring that follows a value in the module that defines it."""
    for path, module in list(sys.modules.items()):
        if path.startswith("nbtf.") and vars(module).get(name) is value:
            documented = ModuleAnalyzer.for_module(module.__name__).find_attr_docs()
            if ("", name) in documented:
                return documented["", name]
    raise LookupError(f"no module documents {name}")


# ---- magics and variables


def magics_page() -> str:
    """Returns the page of the help text of each magic."""
    shell = InteractiveShell.instance()
    nbtf.load_ipython_extension(shell)
    lines = ["# Options of the magics", "", MAGICS_INTRODUCTION, ""]
    for magic in sorted(SESSIONS[shell].magic_words, key=lambda name: (name.lstrip("%"), name)):
        anchor = f"{'cell' if magic.startswith('%%') else 'line'}-{magic.lstrip('%')}"
        lines += [f"({anchor})=", "", f"## `{magic}`", "", "```text", help_of(shell, magic), "```", ""]
    nbtf.unload_ipython_extension(shell)
    return "\n".join(lines)


MAGICS_INTRODUCTION = """\
`%load_ext nbtf` adds these magics to a notebook. Each section shows the magic's help text (`-h`). For examples, see
[The magics](MAGICS.md)."""


def help_of(shell: InteractiveShell, magic: str) -> str:
    """Returns the help text of a magic."""
    with capture_output() as captured:
        shell.run_cell(f"{magic} -h\n" + ("pass" if magic.startswith("%%") else ""))
    return str(captured.stdout).strip()


def variables_page() -> str:
    """Returns the page of environment variables."""
    lines = ["# Environment variables", "", "`nbtf doctor` checks the values of the variables that are set.", ""]
    for variable in VARIABLES:
        words = " · ".join(f"`{word}`" for word in variable.words)
        lines += [f"({variable.name})=", "", f"## `{variable.name}`", "", variable.purpose, ""]
        lines += [f"Values: {words}", ""] if words else []
    return "\n".join(lines)


# ---- TensorFlow's names

OWN = ("tf.runtime", "tf.notebook", "tf.experimental.numpy.", "tf.keras.backend.functions", "tf.compat.v1.")
"""Namespaces, or beginnings of their names, that are not listed: ours, and the modules behind TensorFlow's."""

NAMES_INTRODUCTION = """\
# Supported TensorFlow names

nbtf has {count:,} names of the TensorFlow API, grouped below by namespace. They are called and documented as in
TensorFlow 2.21; [Differences from TensorFlow](../differences.md) lists the exceptions. Using a name that is not on this
page raises an error that names it and, if nbtf has another function for the purpose, that function.

`tf.compat.v1` has its names beside those of `tf`; the namespaces below it follow the same pattern.
"""


def names_page() -> str:
    """Returns the page of the names of TensorFlow that nbtf has, by namespace."""
    spaces = {title: names for title, names in namespaces(nbtf, "tf") if names}
    lines = [NAMES_INTRODUCTION.format(count=sum(map(len, spaces.values()))), ""]
    for title, names in sorted(spaces.items()):
        lines += [f"## `{title}`", "", ", ".join(f"`{name}`" for name in names), ""]
    return "\n".join(lines)


def namespaces(module: ModuleType, title: str) -> Iterator[tuple[str, list[str]]]:
    """Yields a TensorFlow namespace with its names, then the namespaces below it."""
    yield title, [name for name in dir(module) if is_tensorflows(name, getattr(module, name))]
    for name in dir(module):
        value, below = getattr(module, name), f"{title}.{name}"
        if not name.startswith("_") and inspect.ismodule(value) and value.__name__.startswith("nbtf."):
            if not below.startswith(OWN):
                yield from namespaces(value, below)


def is_tensorflows(name: str, value: object) -> bool:
    """Tells whether a name of a namespace is part of the TensorFlow API, and not an import of the module behind it."""
    if name.startswith("_") or inspect.ismodule(value) or name in ("annotations", "load_ipython_extension"):
        return False
    return str(getattr(value, "__module__", "nbtf")).startswith(("nbtf", "builtins", "numpy"))
