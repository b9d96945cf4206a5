"""Where does the PyTorch core keep its virtual functions? Read from the C++ headers that PyTorch comes with."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from nbtf._storage.reading import read_text

_GUARD = "c10/core/impl/DeviceGuardImplInterface.h"
_HOOKS = ("ATen/detail/AcceleratorHooksInterface.h", "ATen/detail/CUDAHooksInterface.h")


class CoreLayout(NamedTuple):
    """The slots of virtual functions in two classes of the core, by their C++ names, and how many each class has."""

    guard: Mapping[str, int]
    """Slots in `c10::impl::DeviceGuardImplInterface`."""
    guard_count: int
    hooks: Mapping[str, int]
    """Slots in `at::CUDAHooksInterface`."""
    hooks_count: int


def layout_in_headers(folder: Path) -> CoreLayout:
    """Returns the layout of a core, given the folder of its headers.

    Raises:
      OSError: if the folder lacks a header.
    """
    guard = _virtual_functions(folder / _GUARD)
    hooks = [name for file in _HOOKS for name in _virtual_functions(folder / file)]
    return CoreLayout(_slots(guard), len(guard), _slots(hooks), len(hooks))


def _virtual_functions(header: Path) -> list[str]:
    """Returns the virtual functions of the first class in a header, in their order; a destructor has two slots."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", read_text(header), flags=re.DOTALL)
    body = text[re.search(r"^struct \w+ \w+Interface\b", text, re.MULTILINE).end() :]  # pyright: ignore
    names: list[str] = []
    for name in re.findall(r"\bvirtual\s[^{;]*?(~?\w+)\s*\(", body[: body.index("\n};")]):
        names += [name] * (2 if name.startswith("~") else 1)
    return names


def _slots(names: list[str]) -> dict[str, int]:
    return {name: slot for slot, name in enumerate(names)}
