"""What is a piece of memory, who holds it, and what is it called?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from nbtf import runtime
from nbtf.notebook import catalogue
from nbtf.notebook.stills.schedule import layer_in_words

WEIGHTS, SLOTS, NAMES, ACTIVATIONS, GRADIENTS, TEMPORARY = GROUPS = (
    "weights",
    "optimizer slots",
    "Python names",
    "activations",
    "gradients",
    "temporary",
)
"""Who holds memory, from what lives longest to what lives shortest."""

COLOURS = {WEIGHTS: "wgt", SLOTS: "upd", NAMES: "py", ACTIVATIONS: "fwd", GRADIENTS: "bwd", TEMPORARY: "tmp"}
"""What groups are filled with."""

MARGIN, LEFT = 16.0, 66.0
"""Px of the edge of a picture, and where its scale begins; sizes stand on its left."""

Words = Mapping[str, str]

_CONSTANT = "_EagerConst"
"""The op that makes tensors of Python values."""

_HOLDERS = {"input": NAMES}
"""Groups of what memory is kept for, where they are called differently."""

_ALONE = {WEIGHTS: "weight", SLOTS: "optimizer slot"}
"""What pieces are called that ops say little about."""


def picture_words() -> Words:
    """Returns the texts of pictures of memory in the environment's language; phases are called as on a timeline."""
    return {**catalogue.words("timeline"), **catalogue.words("memoryPicture")}


class Band(NamedTuple):
    """A piece of memory from birth to death, in steps; `death` is the number of steps if it is still in use.

    `start` is its address where regions stand one after another, and `name` what a program calls it, if that is known;
    the rest is as in `Allocated`.
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
        """The shape that it was made for, as Python writes it; empty where nobody knows."""
        return "" if self.label is None else str(list(self.label.shape))

    def title(self, words: Words) -> str:
        """Returns its name; while nobody knows one, layer and op."""
        if self.name:
            return self.name
        layer = "" if self.event is None else layer_in_words(self.event.layer.rpartition("/")[2])
        if self.group in _ALONE:
            return " · ".join(filter(None, (layer, words[_ALONE[self.group]])))
        op = "" if self.label is None else self.label.op
        if op == _CONSTANT:
            op = words["input" if self.event is not None and self.event.holder == "input" else "constant"]
        if self.group == GRADIENTS and not layer:
            layer = words["gradient"]
        return " · ".join(filter(None, (layer, op))) or words["piece"]

    def about(self, words: Words) -> str:
        """Returns name, shape and group."""
        return f"{f'{self.title(words)} {self.shape}'.rstrip()} ({words[self.group]})"


def group_of(event: runtime.Allocated | None, label: runtime.Label | None, is_held: bool, holder: str) -> str:
    """Returns who holds a piece: what lives longer than the line that made it is held by a name.

    Args:
      event: that told of it; None where it was there before.
      label: what it was made for.
      is_held: whether it lived longer than its line.
      holder: what it was kept for when it was made, or when somebody looked.
    """
    group = _HOLDERS.get(holder, holder)
    if group in GROUPS and group != TEMPORARY:
        return group
    is_scratch = label is not None and label.op == "scratch"
    return NAMES if is_held and not is_scratch and (event is None or not event.phase) else TEMPORARY
