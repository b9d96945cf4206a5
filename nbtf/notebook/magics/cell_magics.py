"""How does a cell magic run the body of its cell without getting in its way?

The first line is replaced by a call that prepares; the other lines stay unchanged. So `await`, magics, shell commands,
line numbers and the value of the last expression work as in a plain cell. The preparation is undone after the cell.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from nbtf.notebook.magics.call_site import is_value_dropped
from nbtf.notebook.magics.options import Options, before_comment
from nbtf.notebook.session import Session
from nbtf.notebook.usage_error import UsageError

Begin = Callable[[Any], object]
Take = Callable[[Any, str], object]
Takes = Callable[[str], bool]


class CellMagic(NamedTuple):
    """The options and the actions of a cell magic; see `CellMagics.add`."""

    options: Options
    begin: Begin
    take: tuple[Takes, Take] | None


class LineMagic(NamedTuple):
    """The options of a line magic; `answer` returns the value of the line for them."""

    options: Options
    answer: Callable[[Any], object]


class CellMagics:
    """The cell magics of a session, by name."""

    def __init__(self, session: Session) -> None:
        """Registers a transformation of the shell's cells until the session stops."""
        self._session = session
        self._names: list[str] = []
        self._taking: dict[str, Takes] = {}
        transforms = session.shell.input_transformers_cleanup
        transform = self._transform  # kept, because every access to a method makes a new object
        transforms.append(_Transform(transform))
        session.on_stop(lambda transform=transforms[-1]: transforms.remove(transform))

    def add(self, name: str, options: Options, begin: Begin, take: tuple[Takes, Take] | None = None) -> None:
        """Adds a magic; `begin` receives its options before the body runs.

        Args:
          name: the magic's name without `%%`.
          options: its options.
          begin: prepares the cell.
          take: two functions. The first returns, from the options as typed, whether the body must not run; in that
            case the second receives the options and the body.
        """

        def magic(line: str, cell: str) -> object:
            chosen = options.read(line)
            if chosen is None:
                return None
            if take is not None and take[0](before_comment(line)):
                return take[1](chosen, cell)
            if cell.strip():
                own_name = cell.split()[0]
                above = f"write {own_name} above it, as the first line of the cell."
                raise UsageError(
                    f"%%{name}: {above if own_name.startswith('%%') else 'run it as a cell, with run_cell.'}"
                )
            begin(chosen)
            return None

        self._session.magics[options.prog] = CellMagic(options, begin, take)
        self._names.append(name)
        if take is not None:
            self._taking[name] = take[0]
        _register(self._session, options, magic, "cell", name)

    def _transform(self, lines: list[str]) -> list[str]:
        pattern = rf"%%({'|'.join(self._names)})(?:\s+(.*?))?\s*$"
        heads: list[str] = []
        for line in lines:
            match = re.match(pattern, line)
            if match is None:
                break
            name, options = match[1], before_comment(match[2] or "").rstrip()
            heads.append(f"get_ipython().run_cell_magic({name!r}, {options!r}, '\\n')\n")
            if {"-h", "--help"} & set(options.split()):
                return [heads[-1]]  # the body must not run when only help was requested
            if name in self._taking and self._taking[name](options):
                body = "".join(lines[len(heads) :])
                return [*heads[:-1], f"get_ipython().run_cell_magic({name!r}, {options!r}, {body!r})\n"]
        body = "".join(lines[len(heads) :]).strip()
        # Without a body, IPython raises an error; below another magic, our line would be part of that magic's body.
        return [*heads, *lines[len(heads) :]] if heads and body and not body.startswith("%%") else lines


def has_option(options: str, option: str) -> bool:
    """Returns whether an option is among the options of a magic."""
    return any(word.partition("=")[0] == option for word in options.split())


class _Transform:
    """An input transformer that is skipped when IPython checks whether a cell is complete: it expects a blank line."""

    has_side_effects = True

    def __init__(self, transform: Callable[[list[str]], list[str]]) -> None:
        self._transform = transform

    def __call__(self, lines: list[str]) -> list[str]:
        return self._transform(lines)


def _register(session: Session, options: Options, magic: Callable[..., object], magic_type: str, name: str) -> None:
    """Adds a magic function to the shell until the session stops; `magic_type` is `line` or `cell`."""
    manager = session.shell.magics_manager
    magic.__doc__ = options.format_help()
    session.magic_words[options.prog] = options.words
    manager.register_function(magic, magic_kind=magic_type, magic_name=name)
    session.on_stop(lambda: manager.magics[magic_type].pop(name, None))


def add_line_magic(session: Session, name: str, options: Options, answer: Callable[[Any], object]) -> None:
    """Adds a line magic; the value of the line is what `answer` returns for its options.

    The value is displayed where the magic is called if the calling code would drop it, as a loop does.
    """

    def magic(line: str) -> object:
        chosen = options.read(line)
        value = None if chosen is None else answer(chosen)
        if value is not None and is_value_dropped():
            show: Any = import_module("IPython.display").display
            show(value)
        return value

    session.magics[options.prog] = LineMagic(options, answer)
    _register(session, options, magic, "line", name)
