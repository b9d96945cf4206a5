"""How do the modules of `static/` become the one ES module and the one style sheet of a widget?

They stay valid ES modules of their own, which node and editors can check. A widget gets them joined: what is imported
comes first, and neither `import` nor `export` is left. So top-level names must differ over all files. A notebook is
saved with the text of its widgets: comments and indentation are left out, a sixth of it, and no text of a program may
have several lines. One module has no file: that of the words, which are data (see catalogue.py).
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from nbtf.notebook import catalogue

CATALOGUE = "catalogue"
"""The module without a file."""

IMPORT = re.compile(r'^import\s+\{[^}]*\}\s+from\s+"\./(\w+)\.js";[ \t]*\n?', re.MULTILINE)
EXPORT = re.compile(r"^export\s+(?=(?:async\s+)?(?:function|class|const|let)\b)", re.MULTILINE)

NEEDLESS = re.compile(r"^[ \t]*//.*\n|^[ \t]+", re.MULTILINE)
NEEDLESS_IN_STYLE = re.compile(r"/\*.*?\*/\s*|^\s+", re.MULTILINE | re.DOTALL)


@cache
def script(name: str, view: str) -> str:
    """Returns the ES module of a widget.

    Args:
      name: the file in `static/` that has the view, without its ending.
      view: the view that it exports.
    """
    modules = in_order(name)
    sections = catalogue.sections_in("".join([_read(f"{one}.js") for one in modules if one != CATALOGUE]))
    texts = {one: catalogue.module(sections) if one == CATALOGUE else _read(f"{one}.js") for one in modules}
    parts = [f"// {one}.js\n{_bare(text)}" for one, text in texts.items()]
    return "\n".join([*parts, f"export default {{ render: (context) => frame(context, {view}) }};\n"])


@cache
def style(name: str) -> str:
    """Returns the style sheet of a widget: those of its modules that have one."""
    styles = [_read(f"{one}.css") for one in in_order(name) if (_static() / f"{one}.css").is_file()]
    return "".join([NEEDLESS_IN_STYLE.sub("", text) for text in styles])


def _bare(text: str) -> str:
    for needless in (IMPORT, NEEDLESS, EXPORT):
        text = needless.sub("", text)
    return text


def in_order(name: str) -> list[str]:
    """Returns a module, after everything that it imports, directly or not, and after what frames every view."""
    found: list[str] = []
    _add("frame", found, ())
    _add(name, found, ())
    return found


def _add(name: str, found: list[str], importers: tuple[str, ...]) -> None:
    if name in importers:
        raise ValueError(f"modules that import each other: {' -> '.join((*importers, name))}")
    if name not in found:
        for imported in IMPORT.findall("" if name == CATALOGUE else _read(f"{name}.js")):
            _add(imported, found, (*importers, name))
        found.append(name)


def _read(file: str) -> str:
    return (_static() / file).read_text(encoding="utf-8")


def _static() -> Traversable:
    return files("nbtf.notebook") / "static"
