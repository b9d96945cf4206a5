"""What is told of a trace: which function, for which arguments, and what was new in them?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import time
from typing import Any

from nbtf._devices.sites import NOWHERE, find_call_site, site_of
from nbtf._graph.signature import ArgumentType, ObjectType, StructureType, TensorType, VariableType
from nbtf._runtime.context import CURRENT
from nbtf._runtime.events import Traced
from nbtf._runtime.notes import next_number, note_of_event

_LONGEST = 60
"""Letters of a type: a structure may hold all weights of a model."""

_BRACKETS = {list: ("[", "]"), tuple: ("(", ")")}


def tell_trace(
    function: str,
    trace: int,
    names: Sequence[str],
    types: Sequence[ArgumentType],
    earlier: Sequence[Sequence[ArgumentType]],
) -> None:
    """Tells who listens that a function is about to be traced; also inside another, which hides ops alone.

    Args:
      function: its name.
      trace: how often it has been traced by now.
      names: of the arguments.
      types: of the arguments.
      earlier: for which types it was traced before, the last of them last.
    """
    observers = CURRENT.context.observers
    if not observers.takers or (observers.functions and observers.telling):
        return
    texts = list(map(short_text, types))
    before = max(
        [[*map(short_text, others)] for others in reversed(earlier)],
        key=lambda others: sum(map(str.__eq__, texts, others)),
        default=texts,
    )
    arguments = tuple([f"{name}: {text}" for name, text in zip(names, texts, strict=True)])
    rows = zip(names, texts, before, strict=True)
    differences = tuple([(name, text, old) for name, text, old in rows if text != old])
    site = site_of(find_call_site(NOWHERE))
    observers.take(note_of_event(Traced(function, trace, arguments, differences, next_number(), time(), site)))


def short_text(argument: ArgumentType) -> str:
    """Returns a type in a few letters, such as `float32[2, 3]`; `?` stands for a length that is not known."""
    if isinstance(argument, TensorType | VariableType):
        lengths = ["?" if length is None else str(length) for length in argument.lengths or ()]
        shape = "..." if argument.lengths is None else ", ".join(lengths)
        return f"{'Variable ' if isinstance(argument, VariableType) else ''}{argument.dtype.name}[{shape}]"
    if isinstance(argument, ObjectType):
        return type(argument.reference()).__name__
    is_structure = isinstance(argument, StructureType)
    text = _structure_text(argument, [*map(short_text, argument.items)]) if is_structure else repr(argument.value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _structure_text(structure: StructureType, items: Sequence[str]) -> str:
    build: Any = structure.build
    if issubclass(build, Mapping):
        return f"{{{', '.join([f'{key}: {item}' for key, item in zip(structure.keys, items, strict=True)])}}}"
    first, last = _BRACKETS.get(build, (f"{build.__name__}(", ")"))
    return f"{first}{', '.join(items)}{last}"
