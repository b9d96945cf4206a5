"""Which tapes listen, and the calls they heard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol


class Call(NamedTuple):
    """One execution of an op, as its gradient needs to know it."""

    op: Any
    inputs: Sequence[Any]
    attrs: Mapping[str, Any]
    outputs: Sequence[Any]
    wanted: tuple[bool, ...] | None = None

    @property
    def output(self) -> Any:
        """The only result of an op that has one."""
        return self.outputs[0]

    def needs(self, position: int) -> bool:
        """Tells whether somebody asked for the gradient of this input."""
        return self.wanted is None or self.wanted[position]


class Tape(Protocol):
    """Something that hears calls: a step of the road, after an op has run."""

    def hear(self, op: Any, inputs: Sequence[Any], attrs: Mapping[str, Any], result: Any) -> None:
        """Is told of a call whose inputs it may watch; `result` is a tensor or a list of them."""
        ...
