"""Events for traces: the function, its arguments, and how they differ from earlier ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import time
from typing import Any

from nbtf._devices.sites import NOWHERE, find_call_site, site_of
from nbtf._graph.signature import ArgumentType, ObjectType, StructureType, TensorType, VariableType, accepts
from nbtf._record.events import TraceCause, Traced
from nbtf._record.rows import next_number, note_of_event
from nbtf._runtime.context import CURRENT

_LONGEST = 60
"""Most characters of a type's text: a structure may hold all weights of a model."""

_BRACKETS = {list: ("[", "]"), tuple: ("(", ")")}


def tell_trace(
    function: str,
    trace: int,
    names: Sequence[str],
    types: Sequence[ArgumentType],
    earlier: Sequence[Sequence[ArgumentType]] | None,
    has_made_variables: bool,
) -> None:
    """Notifies observers that a function is about to be traced, even inside another trace, which hides only ops.

    Args:
      function: the function's name.
      trace: how often it has been traced so far.
      names: names of the arguments.
      types: types of the arguments.
      earlier: types that the same replica traced before, the latest last; None if only other replicas have traced the
        function.
      has_made_variables: whether it is traced again because the previous trace made variables.
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
    """Returns name, new and old text of the arguments that the most similar trace rejects; of several the latest."""
    tries: list[list[tuple[str, ArgumentType, ArgumentType]]] = [
        [row for row in zip(names, types, earlier_types, strict=True) if not accepts(row[2], row[1])]
        for earlier_types in reversed(earlier)
    ]
    nearest = min(tries, key=len) if tries else []
    texts = [(name, short_text(new), short_text(old)) for name, new, old in nearest]
    return tuple([(name, new, f"another {old}" if new == old else old) for name, new, old in texts])


def short_text(argument: ArgumentType) -> str:
    """Returns a short text for a type, such as `float32[2, 3]`; `?` is an unknown length."""
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
