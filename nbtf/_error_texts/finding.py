"""What is found in an error text? Messages with their figures, the arithmetic, the cause, and lines to type.

Sentences are names of texts in the catalogue, so that a finding is the same in every language.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from nbtf._error_texts.bfc_dump import Dump


class Nbytes(int):
    """A number of bytes, which sentences show as a size."""


Value: TypeAlias = "Nbytes | int | str"


class Figure(NamedTuple):
    """A figure of a message.

    Attributes:
      name: name of its text.
      value: bytes of a size; other figures are numbers or words.
      written: the figure as the message has it.
    """

    name: str
    value: Value
    written: str


class Statement(NamedTuple):
    """A sentence: the name of its text, and the values in it."""

    name: str
    values: Mapping[str, Value] = {}


class Action(NamedTuple):
    """Something to try: the name of its text, and the line to type or write, which may be empty."""

    name: str
    line: str = ""
    values: Mapping[str, Value] = {}


@dataclass(frozen=True, slots=True)
class Finding:
    """One message of a text, explained.

    Attributes:
      message: name of the message.
      library: the library or program that wrote it.
      quote: the sentence as the text has it.
      line: number of the line where it begins, from 1.
      figures: the figures in the sentence.
      arithmetic: what follows from them.
      causes: one cause; several if the figures do not decide between them; none for a mention without figures.
      also: what contributes without being the cause.
      actions: lines to type, the most promising first.
      values: the values that all statements share.
      times: how often the text contains the message.
      dump: TensorFlow's list of chunks, if the text has one.
    """

    message: str
    library: str
    quote: str
    line: int
    figures: Sequence[Figure] = ()
    arithmetic: Sequence[Statement] = ()
    causes: Sequence[Statement] = ()
    also: Sequence[Statement] = ()
    actions: Sequence[Action] = ()
    values: Mapping[str, Value] = field(default_factory=dict[str, "Value"])
    times: int = 1
    dump: Dump | None = None

    def plain(self) -> dict[str, Any]:
        """Returns the finding as JSON-compatible values; sizes are in bytes."""
        return {
            "message": self.message,
            "library": self.library,
            "quote": self.quote,
            "line": self.line,
            "times": self.times,
            "figures": [figure._asdict() for figure in self.figures],
            "values": dict(self.values),
            "arithmetic": [_plain(statement) for statement in self.arithmetic],
            "causes": [_plain(statement) for statement in self.causes],
            "also": [_plain(statement) for statement in self.also],
            "actions": [
                {"name": action.name, "line": action.line, "values": dict(action.values)} for action in self.actions
            ],
            "dump": None if self.dump is None else self.dump.plain(),
        }


def _plain(statement: Statement) -> dict[str, Any]:
    return {"name": statement.name, "values": dict(statement.values)}
