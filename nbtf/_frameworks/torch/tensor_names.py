"""Under which names does a user's program hold a PyTorch tensor, such as `model.layers[2].weight`?

`nbtf/notebook/holders` answers this for all memory of a process; this search is for one tensor, while an op fails.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from types import BuiltinFunctionType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

from nbtf._frameworks.torch.frames import user_frame

_OBJECTS = 10_000
"""Most objects that are searched from the variables of a frame."""
_UNSEARCHED = (ModuleType, type, FunctionType, BuiltinFunctionType, MethodType, FrameType, str, bytes, int, float)
_PARTS = ("_parameters", "_buffers", "_modules")
"""Where a module keeps what its attributes name."""


_DICT: Any = dict


class Named(NamedTuple):
    """A tensor, the variable that leads to it, and its whole name."""

    variable: str
    name: str
    tensor: Any


def names_of(tensor: Any, tensor_class: type[Any], caller: FrameType | None) -> Iterator[Named]:
    """Yields the names of a tensor, or of one that shares its memory, in the user's frames, innermost first.

    Args:
      tensor: the tensor.
      tensor_class: `torch.Tensor`.
      caller: frame from which the user's frames are searched.
    """
    searched: set[int] = set()
    frame, _ = user_frame(caller)
    while frame is not None:
        for variables in (frame.f_locals, frame.f_globals):
            if id(variables) not in searched:
                searched.add(id(variables))
                named = _nearest(tensor, tensor_class, variables)
                if named is not None:
                    yield named
        frame, _ = user_frame(frame.f_back)


def _nearest(tensor: Any, tensor_class: type[Any], variables: Mapping[str, Any]) -> Named | None:
    """Returns the name with the fewest steps: a variable, an attribute, an entry, or a part of a module."""
    storage = tensor.untyped_storage()._cdata
    own_last = sorted(variables.items(), key=lambda item: item[0].startswith("_") or item[0] in ("In", "Out"))
    waiting, visited = deque([(name, name, value) for name, value in own_last]), set[int]()
    while waiting and len(visited) < _OBJECTS:
        variable, name, value = waiting.popleft()
        if issubclass(type(value), tensor_class):  # `isinstance` may run code of the object
            if value is tensor or value.untyped_storage()._cdata == storage:
                return Named(variable, name, value)
        elif not issubclass(type(value), _UNSEARCHED) and id(value) not in visited:
            visited.add(id(value))
            waiting.extend((variable, f"{name}{step}", inner) for step, inner in _inside(value))
    return None


def _inside(value: Any) -> Iterator[tuple[str, Any]]:
    """Yields what an object refers to, each with what it adds to the name; runs no code of the object."""
    if issubclass(type(value), dict):
        yield from ((f"[{key!r}]", each) for key, each in [*_DICT.items(value)] if isinstance(key, str | int))
    elif issubclass(type(value), list | tuple):
        base: Any = list if issubclass(type(value), list) else tuple
        yield from ((f"[{index}]", each) for index, each in enumerate(base.__iter__(value)))
    else:
        try:
            attributes: dict[str, Any] = object.__getattribute__(value, "__dict__")
        except AttributeError:
            return
        for key, each in [*attributes.items()]:
            if key in _PARTS and isinstance(each, dict):
                members: list[tuple[str, Any]] = [*each.items()]  # pyright: ignore[reportUnknownArgumentType]
                yield from ((f"[{name}]" if name.isdigit() else f".{name}", member) for name, member in members)
            else:
                yield f".{key}", each
