"""The layers of other libraries' models, and the program lines of the ops inside them, as events need them."""

from __future__ import annotations

from typing import Any

from nbtf._devices.sites import CallSite, Part
from nbtf._runtime.phases import ALL_REDUCE, BACKWARD, FORWARD, INPUT, METRICS, UPDATE

HOLDERS = {
    FORWARD: "activations",
    BACKWARD: "gradients",
    ALL_REDUCE: "gradients",
    INPUT: "input",
    UPDATE: "temporary",
    METRICS: "temporary",
    "": "temporary",
}
"""The purpose of results that ops create in a phase."""
_PLACES = 4096
_REMEMBERED = 4096


class LayerPart(Part):
    """The phase and the layer in an event."""

    layer_of: Layer


class Layer:
    """A path in a model, with the fields of events in each phase; empty outside models."""

    def __init__(self, path: str) -> None:
        """Creates it without fields."""
        self.path = path
        self._parts: dict[tuple[str, str, int | None], LayerPart] = {}

    def step_part(self, phase: str, holder: str = "", replica: int | None = None) -> LayerPart:
        """Returns the fields of events in a phase, for a replica of a strategy if one runs."""
        key = phase, holder, replica
        step_part = self._parts.get(key)
        if step_part is None:
            step_part = LayerPart(None, replica, phase, self.path, holder or HOLDERS[phase])
            step_part.layer_of = self
            self._parts[key] = step_part
        return step_part


OUTSIDE = Layer("")
_LAYERS: dict[str, Layer] = {"": OUTSIDE}


def layer_at(path: str) -> Layer:
    """Returns the layer at a path in a model."""
    layer = _LAYERS.get(path)
    if layer is None:
        if len(_LAYERS) >= _REMEMBERED:
            _LAYERS.clear()
            _LAYERS[""] = OUTSIDE
        layer = _LAYERS[path] = Layer(path)
    return layer


def place_in(frame: Any, step_part: LayerPart) -> CallSite:
    """Returns the origin for a frame."""
    return (None, 0, step_part) if frame is None else place_at(frame.f_code, frame.f_lasti, step_part)


def place_at(code: Any, instruction: int, step_part: LayerPart) -> CallSite:
    """Returns the origin for an instruction: always the same object."""
    if code is None:
        return None, 0, step_part
    call_sites = step_part.call_sites
    call_site = call_sites.get(id(code) + instruction)
    if call_site is None or call_site[0] is not code:
        if len(call_sites) >= _PLACES:
            call_sites.clear()
        call_site = call_sites[id(code) + instruction] = code, instruction, step_part
    return call_site
