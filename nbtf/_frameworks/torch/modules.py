"""Which part of a model runs: its path, `blocks.3.attn.qkv`, as `named_modules` has it."""

from __future__ import annotations

import sys
from typing import Any
from weakref import WeakKeyDictionary, ref

from nbtf._devices.sites import Part
from nbtf._runtime.phases import BACKWARD, FORWARD, INPUT, UPDATE

_HOLDERS = {FORWARD: "activations", BACKWARD: "gradients", INPUT: "input", UPDATE: "temporary", "": "temporary"}


class LayerPart(Part):
    """What events say besides the line: the phase, and the layer to which it belongs."""

    layer_of: Layer


class Layer:
    """A path in a model, with what events say of it in each phase; empty outside of models."""

    def __init__(self, path: str) -> None:
        """Begins without parts."""
        self.path = path
        self._parts: dict[tuple[str, str], LayerPart] = {}

    def step_part(self, phase: str, holder: str = "") -> LayerPart:
        """Returns what events say."""
        key = phase, holder
        step_part = self._parts.get(key)
        if step_part is None:
            step_part = LayerPart(None, None, phase, self.path, holder or _HOLDERS[phase])
            step_part.layer_of = self
            self._parts[key] = step_part
        return step_part


OUTSIDE = Layer("")

_PATHS: WeakKeyDictionary[Any, dict[int, tuple[ref[Any], str]]] = WeakKeyDictionary()
"""Of each outermost module the paths of those inside, by their addresses, at which others may be later."""
_LAYERS: dict[str, Layer] = {}
_REMEMBERED = 4096


def _layer(path: str) -> Layer:
    layer = _LAYERS.get(path)
    if layer is None:
        if len(_LAYERS) >= _REMEMBERED:
            _LAYERS.clear()
        layer = _LAYERS[path] = Layer(path)
    return layer


class ModuleStack:
    """The modules that run on a thread, the outermost first. An interrupt may leave some of them behind."""

    def __init__(self) -> None:
        """Begins outside of models."""
        self.current = OUTSIDE
        self._open: list[tuple[Any, Layer]] = []

    def clear(self) -> None:
        """Forgets what an interrupt has left behind."""
        self._open.clear()
        self.current = OUTSIDE

    def begin(self, module: Any) -> None:
        """Is told that a module begins."""
        root = self._open[0][0] if self._open else module
        path = path_in(root, module)
        if (root is not module and path is None) or (self._open and root is module):
            if not _is_running(root):
                self.clear()
                root = module
            path = path_in(root, module) or path_in(module, module)
        layer = _layer(path or str(path_in(module, module)))
        self._open.append((module, layer))
        self.current = layer

    def end(self, module: Any) -> None:
        """Is told that a module ends: those that it has called, too."""
        for at in reversed(range(len(self._open))):
            if self._open[at][0] is module:
                del self._open[at:]
                break
        self.current = self._open[-1][1] if self._open else OUTSIDE


def path_in(root: Any, module: Any) -> str | None:
    """Returns the path of a module in another one, whose own path is the name of its class; None where it is none."""
    if module is root:
        return type(getattr(root, "_orig_mod", root)).__name__  # of a compiled one the name of what was compiled
    entry = _PATHS.get(root, {}).get(id(module))
    if entry is None or entry[0]() is not module:
        _PATHS[root] = paths = {id(each): (ref(each), name) for name, each in root.named_modules()}
        entry = paths.get(id(module))
    return None if entry is None else entry[1]


def _is_running(module: Any) -> bool:
    """Tells whether a module is being called on this thread, as its frames say."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "_call_impl" and frame.f_locals.get("self") is module:
            return True
        frame = frame.f_back
    return False
