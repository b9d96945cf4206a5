"""Joins the modules of `static/` into one ES module and one style sheet per widget.

The files stay valid ES modules, which node and editors can check. For a widget they are joined: imported modules come
first, and the `import` and `export` keywords are removed. Top-level names must therefore differ across all files. A
notebook is saved with the text of its widgets, so comments and indentation are removed, one sixth of the text; for the
same reason, no string of a program may span several lines. Some modules have no file, because Python and the page share
their contents: words (see catalogue.py), letter widths and measures. They share the colours as well (see palette.py).
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from nbtf.notebook import catalogue
from nbtf.notebook.stills import glyphs, measures, palette

CATALOGUE, LETTERS, MEASURES, PICTURE = "catalogue", "letters", "measures", "picture"
WITHOUT_FILE = (CATALOGUE, LETTERS, MEASURES)

IMPORT = re.compile(r'^import\s+\{[^}]*\}\s+from\s+"\./(\w+)\.js";[ \t]*\n?', re.MULTILINE)
EXPORT = re.compile(r"^export\s+(?=(?:async\s+)?(?:function|class|const|let)\b)", re.MULTILINE)

NEEDLESS = re.compile(r"^[ \t]*//.*\n|^[ \t]+", re.MULTILINE)
NEEDLESS_IN_STYLE = re.compile(r"/\*.*?\*/\s*|^\s+", re.MULTILINE | re.DOTALL)


@cache
def script(name: str, view: str) -> str:
    """Returns the ES module of a widget.

    Args:
      name: the file in `static/` with the view, without its extension.
      view: the view that it exports.
    """
    begin, draw = "initialize: ({ model }) => followStates(model)", f"render: (context) => frame(context, {view})"
    return f"{joined(in_order(name))}\nexport default {{ {begin}, {draw} }};\n"


def joined(modules: list[str]) -> str:
    """Returns the joined program of modules; their imports must be among them."""
    texts = {module: _program(module) for module in modules if module != CATALOGUE}
    english = catalogue.module(catalogue.sections_in("".join(texts.values())))
    return "\n".join([f"// {module}.js\n{_bare(texts.get(module, english))}" for module in modules])


@cache
def style(name: str) -> str:
    """Returns the style sheet of a widget: those of all its modules that have one."""
    return joined_styles(in_order(name))


def joined_styles(modules: list[str]) -> str:
    """Returns the joined style sheets of the modules that have one."""
    styles = [_read(f"{module}.css") for module in modules if (_static() / f"{module}.css").is_file()]
    colours = [palette.style_sheet()] if PICTURE in modules else []
    return "".join([NEEDLESS_IN_STYLE.sub("", text) for text in [*colours, *styles]])


def _bare(text: str) -> str:
    for needless in (IMPORT, NEEDLESS, EXPORT):
        text = needless.sub("", text)
    return text


def in_order(name: str, first: str = "frame") -> list[str]:
    """Returns a module after everything that it imports, directly or indirectly, preceded by the common frame."""
    modules: list[str] = []
    _add(first, modules, ())
    _add(name, modules, ())
    return modules


def _add(name: str, modules: list[str], importers: tuple[str, ...]) -> None:
    if name in importers:
        raise ValueError(f"Modules import each other: {' -> '.join((*importers, name))}")
    if name not in modules:
        for imported in IMPORT.findall("" if name in WITHOUT_FILE else _read(f"{name}.js")):
            _add(imported, modules, (*importers, name))
        modules.append(name)


def _program(module: str) -> str:
    generators = {LETTERS: glyphs.module, MEASURES: measures.module}
    return generators[module]() if module in generators else _read(f"{module}.js")


def _read(file: str) -> str:
    return (_static() / file).read_text(encoding="utf-8")


def _static() -> Traversable:
    return files("nbtf.notebook") / "static"
