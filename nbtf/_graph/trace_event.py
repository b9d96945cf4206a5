"""What is told of a trace: which function, for which arguments, and what was new in them?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import time
from typing import Any

from nbtf._devices.sites import NOWHERE, find_call_site, site_of
from nbtf._graph.signature import ArgumentType, ObjectType, StructureType, TensorType, VariableType, accepts
from nbtf._runtime.context import CURRENT
from nbtf._runtime.events import TraceCause, Traced
from nbtf._runtime.notes import next_number, note_of_event

_LONGEST = 60
"""Letters of a type: a structure may hold all weights of a model."""

_BRACKETS = {list: ("[", "]"), tuple: ("(", ")")}


def tell_trace(
    function: str,
    trace: int,
    names: Sequence[str],
    types: Sequence[ArgumentType],
    earlier: Sequence[Sequence[ArgumentType]] | None,
    has_made_variables: bool,
) -> None:
    """Tells who listens that a function is about to be traced; also inside another, which hides ops alone.

    Args:
      function: its name.
      trace: how often it has been traced by now.
      names: of the arguments.
      types: of the arguments.
      earlier: for which types it was traced before by the same replica, the last of them last; None where only others
        have traced it.
      has_made_variables: whether it is traced again because the trace before made variables.
    """
    observers = CURRENT.context.observers
    if not observers.takers or (observers.functions and observers.telling):
        return
    differences = () if has_made_variables else _differences(names, types, earlier or ())
    cause: TraceCause = "variables" if has_made_variables else "first" if trace == 1 else "arguments"
    if cause == "arguments" and not differences:
        cause = "replica" if earlier is None else "failure"
    arguments = tuple([f"{name}: {short_text(argument)}" for name, argument in zip(names, types, strict=True)])
    site = site_of(find_call_site(NOWHERE))
    event = Traced(function, trace, arguments, cause, differences, next_number(), time(), site)
    observers.take(note_of_event(event))


def _differences(
    names: Sequence[str], types: Sequence[ArgumentType], earlier: Sequence[Sequence[ArgumentType]]
) -> tuple[tuple[str, str, str], ...]:
    """Returns what the most similar trace does not accept, of several the last: name, what it is, what it was."""
    tries: list[list[tuple[str, ArgumentType, ArgumentType]]] = [
        [row for row in zip(names, types, others, strict=True) if not accepts(row[2], row[1])]
        for others in reversed(earlier)
    ]
    nearest = min(tries, key=len) if tries else []
    texts = [(name, short_text(now), short_text(before)) for name, now, before in nearest]
    return tuple([(name, now, f"another {before}" if now == before else before) for name, now, before in texts])


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
