"""Which part of a model is running? Its path, such as `blocks.3.attn.qkv`, as in `named_modules`."""

from __future__ import annotations

import sys
from typing import Any
from weakref import WeakKeyDictionary, ref

from nbtf._devices.sites import Part
from nbtf._runtime.phases import BACKWARD, FORWARD, INPUT, UPDATE

_HOLDERS = {FORWARD: "activations", BACKWARD: "gradients", INPUT: "input", UPDATE: "temporary", "": "temporary"}


class LayerPart(Part):
    """The phase and the layer in an event."""

    layer_of: Layer


class Layer:
    """A path in a model, with the fields of events in each phase; empty outside models."""

    def __init__(self, path: str) -> None:
        """Creates it without fields."""
        self.path = path
        self._parts: dict[tuple[str, str], LayerPart] = {}

    def step_part(self, phase: str, holder: str = "") -> LayerPart:
        """Returns the fields of events in a phase."""
        key = phase, holder
        step_part = self._parts.get(key)
        if step_part is None:
            step_part = LayerPart(None, None, phase, self.path, holder or _HOLDERS[phase])
            step_part.layer_of = self
            self._parts[key] = step_part
        return step_part


OUTSIDE = Layer("")

_PATHS: WeakKeyDictionary[Any, dict[int, tuple[ref[Any], str]]] = WeakKeyDictionary()
"""The paths of the modules within each outermost module, by address; an address may be reused later."""
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
        layer = _layer(path or str(path_in(module, module)))
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
