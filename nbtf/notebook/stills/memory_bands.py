"""A piece of memory as a band: its name, its colour, and what holds it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from nbtf import runtime
from nbtf.notebook import catalogue
from nbtf.notebook.stills.schedule import CONSTANT, layer_in_words

WEIGHTS, SLOTS, NAMES, ACTIVATIONS, GRADIENTS, TEMPORARY = GROUPS = (
    "weights",
    "optimizer slots",
    "Python names",
    "activations",
    "gradients",
    "temporary",
)
"""Groups of holders, from the longest-lived to the shortest-lived."""

OF_GROUP = {WEIGHTS: "wgt", SLOTS: "upd", NAMES: "py", ACTIVATIONS: "fwd", GRADIENTS: "bwd", TEMPORARY: "tmp"}
"""The fill of each group."""

Words = Mapping[str, str]

_HOLDERS = {"input": NAMES}
"""The group of each purpose, if the two have different names."""

_ALONE = {WEIGHTS: "weight", SLOTS: "optimizer slot"}
"""Names of pieces whose ops say little about them."""


def picture_words() -> Words:
    """Returns the texts of memory pictures in the environment's language, with the names of phases as on a timeline."""
    return {**catalogue.words("timeline"), **catalogue.words("memoryPicture")}


class Band(NamedTuple):
    """A piece of memory from birth to death, in steps; `death` is the number of steps if it is still in use.

    `start` is its address with all regions laid end to end, and `name` its name in the program, if known; the other
    fields are as in `Allocated`.
    """

    start: int
    size: int
    requested: int
    group: str
    name: str
    birth: int
    death: int
    region: int
    offset: int
    label: runtime.Label | None = None
    event: runtime.Allocated | None = None

    @property
    def shape(self) -> str:
        """The shape of its tensor, as Python writes it; empty if unknown."""
        return "" if self.label is None else str(list(self.label.shape))

    def title(self, words: Words) -> str:
        """Returns its name or, if unknown, its layer and op."""
        if self.name:
            return self.name
        layer = "" if self.event is None else layer_in_words(self.event.layer.rpartition("/")[2])
        if self.group in _ALONE:
            return " · ".join(filter(None, (layer, words[_ALONE[self.group]])))
        op = "" if self.label is None else self.label.op
        if op == CONSTANT:
            op = words["input" if self.event is not None and self.event.holder == "input" else "constant"]
        if self.group == GRADIENTS and not layer:
            layer = words["gradient"]
        return " · ".join(filter(None, (layer, op))) or words["piece"]

    def about(self, words: Words) -> str:
        """Returns name, shape and group."""
        return f"{f'{self.title(words)} {self.shape}'.rstrip()} ({words[self.group]})"


def group_of(event: runtime.Allocated | None, label: runtime.Label | None, is_held: bool, holder: str) -> str:
    """Returns the group of a piece: whatever outlives the line that created it is held by a name.

    Args:
      event: the event that reported it; None if it existed before.
      label: the tensor it was created for.
      is_held: whether it outlived its line.
      holder: its purpose, as determined at its creation or in a search.
    """
    group = _HOLDERS.get(holder, holder)
    if group in GROUPS and group != TEMPORARY:
        return group
    is_scratch = label is not None and label.op == "scratch"
    return NAMES if is_held and not is_scratch and (event is None or not event.phase) else TEMPORARY
