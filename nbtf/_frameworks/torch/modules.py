"""Which part of a model is running? Its path, such as `blocks.3.attn.qkv`, as in `named_modules`."""

from __future__ import annotations

import sys
from typing import Any
from weakref import WeakKeyDictionary, ref

from nbtf._frameworks.layers import OUTSIDE, Layer, layer_at

_PATHS: WeakKeyDictionary[Any, dict[int, tuple[ref[Any], str]]] = WeakKeyDictionary()
"""The paths of the modules within each outermost module, by address; an address may be reused later."""


class ModuleStack:
    """The modules that run on a thread, outermost first. An interrupt may leave some of them behind."""

    def __init__(self) -> None:
        """Starts outside models."""
        self.current = OUTSIDE
        self._open: list[tuple[Any, Layer]] = []

    def clear(self) -> None:
        """Discards what an interrupt has left behind."""
        self._open.clear()
        self.current = OUTSIDE

    def begin(self, module: Any) -> None:
        """Records that a module starts."""
        root = self._open[0][0] if self._open else module
        path = path_in(root, module)
        if (root is not module and path is None) or (self._open and root is module):
            if not _is_running(root):
                self.clear()
                root = module
            path = path_in(root, module) or path_in(module, module)
        layer = layer_at(path or str(path_in(module, module)))
        self._open.append((module, layer))
        self.current = layer

    def end(self, module: Any) -> None:
        """Records that a module ends, and with it the modules that it has called."""
        for at in reversed(range(len(self._open))):
            if self._open[at][0] is module:
                del self._open[at:]
                break
        self.current = self._open[-1][1] if self._open else OUTSIDE


def path_in(root: Any, module: Any) -> str | None:
    """Returns the path of a module within another, whose own path is its class name; None if it is not inside."""
    if module is root:
        return type(getattr(root, "_orig_mod", root)).__name__  # a compiled module has the name of the original
    entry = _PATHS.get(root, {}).get(id(module))
    if entry is None or entry[0]() is not module:
        _PATHS[root] = paths = {id(each): (ref(each), name) for name, each in root.named_modules()}
        entry = paths.get(id(module))
    return None if entry is None else entry[1]


def _is_running(module: Any) -> bool:
    """Returns whether a module is being called on this thread, according to its frames."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "_call_impl" and frame.f_locals.get("self") is module:
            return True
        frame = frame.f_back
    return False
