"""`%%needs`: runs a cell only if the modules that it imports are installed."""

from __future__ import annotations

import importlib.util

from nbtf.notebook.magics.cell_magics import CellMagics
from nbtf.notebook.magics.options import options_of
from nbtf.notebook.session import say

_NAMES = {"cupy": "CuPy", "jax": "JAX", "tensorflow": "TensorFlow", "torch": "PyTorch"}


def add_needs_magic(cells: CellMagics) -> None:
    """Adds the magic."""
    options = options_of("%%needs", modules=_module)
    cells.add(
        "needs",
        options,
        lambda _: None,
        (lambda line: bool(_missing(line.split())), lambda chosen, _: _say_missing(chosen.modules)),
    )


def _module(text: str) -> str:
    if not text.isidentifier():
        raise ValueError(f"{text!r} is not the name of a module. Write it as in `import torch`, without a version.")
    return text


def _missing(modules: list[str]) -> list[str]:
    return [name for name in modules if not name.isidentifier() or importlib.util.find_spec(name) is None]


def _say_missing(modules: list[str]) -> None:
    names = [_NAMES.get(name, name) for name in _missing(modules)]
    say(f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} not installed, so this cell was not run.")
