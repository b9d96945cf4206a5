"""What do type checkers see of `tf.compat.v1`? Writes it: `python -m tests.compat.v1_types`.

The names are fetched on first use, which no type checker can follow; a stub says where each comes from.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import nbtf
from nbtf.compat import _v1

FOLDER = Path(nbtf.__file__).parent / "compat" / "v1"
OWN = "nbtf.compat._v1."
MIXED = {name: extra for name, extra in _v1._WRAPPED_NAMESPACES.items() if extra}
"""Namespaces of today with functions of TensorFlow 1 among them; each has a stub of its own."""


def stubs() -> dict[str, str]:
    """The texts of all stubs, by the names of their files."""
    return {"__init__.pyi": stub("`nbtf.compat.v1`", lines())} | {
        f"{name}.pyi": stub(f"`nbtf.compat.v1.{name}`", mixed_lines(name)) for name in MIXED
    }


def stub(subject: str, lines: list[str]) -> str:
    title = f"# What type checkers see of {subject}; written by `python -m tests.compat.v1_types`."
    return "\n".join([title, *lines, ""])


def lines() -> list[str]:
    """The imports first, then what has another name today, then what is neither."""
    written = [line_of(name) for name in dir(_v1)]
    homes = {line.split(" = _")[1].partition(".")[0] for line in written if " = _" in line}
    private = [f"from nbtf import {home} as _{home}" for home in homes - {"nbtf"}]
    imports = sorted({*private, *(line for line in written if " = _" not in line)})
    renamed = sorted({line for line in written if " = _" in line})
    return ["import nbtf as _nbtf", *imports, "", *renamed, "VERSION: str", "__version__: str"]


def line_of(name: str) -> str:
    """What brings a name of `compat.v1`, from where it is defined."""
    if name in _v1._FROM:
        module = _v1._FROM[name]
        return imported(module if module.startswith("nbtf.") else OWN + module, name)
    if name in _v1._NAMESPACES:
        return imported(OWN.rstrip("."), name)
    if name in MIXED:
        return imported("nbtf.compat.v1", name)
    if name in _v1._MOVED:
        namespace, _, today = _v1._MOVED[name].partition(".")
        return f"{name} = _{namespace or 'nbtf'}.{today}" if today else imported(f"nbtf.{namespace}", name)
    return imported("nbtf", name)


def imported(module: str, name: str) -> str:
    return f"from {module} import {name} as {name}"


def mixed_lines(namespace: str) -> list[str]:
    return sorted([*from_today(namespace), *from_tensorflow_1(namespace)], key=lambda line: line.rpartition(" ")[2])


def from_today(namespace: str) -> Iterator[str]:
    module = import_module(f"nbtf.{namespace}")
    for name in dir(module):
        if name[0] != "_" and name not in MIXED[namespace] and not isinstance(getattr(module, name), types.ModuleType):
            yield imported(module.__name__, name)


def from_tensorflow_1(namespace: str) -> Iterator[str]:
    for name, module in MIXED[namespace].items():
        yield imported(OWN + module, name)


if __name__ == "__main__":
    for file, text in stubs().items():
        (FOLDER / file).write_text(text, encoding="utf-8")
