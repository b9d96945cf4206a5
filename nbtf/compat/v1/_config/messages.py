"""Messages in the manner of protocol buffers: fixed fields with defaults, a text form, and errors for misuse."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, ClassVar, Self, cast


class Many(list[Any]):
    """A field that stands several times; of messages `add` makes the next one."""

    def __init__(self, kind: type) -> None:
        """Starts empty, for values of a type."""
        super().__init__()
        self.kind = kind

    def add(self, **fields: Any) -> Any:
        """Appends a new message and returns it."""
        self.append(self.kind(**fields))
        return self[-1]


class Message:
    """A record whose fields are listed in `FIELDS`: a type for one value, `[type]` for many, `{}` for numbers by text.

    The order of the fields is that of their numbers, in which they are printed.
    """

    FIELDS: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, **fields: Any) -> None:
        """Sets fields; a message field takes a message or a dictionary."""
        own: dict[str, Any] = {name: _empty(kind) for name, kind in self.FIELDS.items()}
        object.__setattr__(self, "_values", own)
        for name, value in fields.items():
            if name not in self.FIELDS:
                raise ValueError(f'Protocol message {type(self).__name__} has no "{name}" field.')
            self._fill(name, value)

    def _fill(self, name: str, value: Any) -> None:
        kind, own = self.FIELDS[name], self.__dict__["_values"]
        if isinstance(own[name], Many):
            own[name].extend(value)
        elif isinstance(kind, dict):
            own[name].update(value)
        elif issubclass(kind, Message):
            own[name] = kind(**value) if isinstance(value, dict) else _checked(self, name, kind, deepcopy(value))
        else:
            setattr(self, name, value)

    def __getattr__(self, name: str) -> Any:
        """Returns a field."""
        values = self.__dict__.get("_values", {})
        if name not in values:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return values[name]

    def __setattr__(self, name: str, value: Any) -> None:
        """Sets a field that is one value; the fields of a message inside are set one by one."""
        kind = self.FIELDS.get(name)
        if kind is None:
            raise AttributeError(f'Protocol message {type(self).__name__} has no "{name}" field.')
        if not isinstance(kind, type) or issubclass(kind, Message):
            raise AttributeError(
                f'Assignment not allowed to message, map, or repeated field "{name}" in protocol message object.'
            )
        self.__dict__["_values"][name] = _checked(self, name, cast("type[Any]", kind), value)

    def CopyFrom(self, other: Self) -> None:  # noqa: N802  # the name of protocol buffers
        """Takes over all fields of another message."""
        self.__dict__["_values"] = deepcopy(other.__dict__["_values"])

    def HasField(self, name: str) -> bool:  # noqa: N802  # the name of protocol buffers
        """Tells whether a message field says anything.

        Raises:
          ValueError: there is no such message field.
        """
        kind = self.FIELDS.get(name)
        if not isinstance(kind, type) or not issubclass(kind, Message):
            raise ValueError(f'Protocol message {type(self).__name__} has no message field "{name}".')
        return bool(str(getattr(self, name)))

    def __eq__(self, other: object) -> bool:
        """Tells whether both are the same kind of message and say the same."""
        return self.__class__ is other.__class__ and self.__dict__ == other.__dict__

    __hash__ = None  # pyright: ignore[reportAssignmentType]  # can be changed

    def __str__(self) -> str:
        """Returns what differs from the defaults, a line each: `allow_growth: true`."""
        return "".join([_text(name, value) for name, value in self.__dict__["_values"].items()])

    __repr__ = __str__


def _empty(kind: Any) -> Any:
    if isinstance(kind, list):
        return Many(kind[0])  # pyright: ignore[reportUnknownArgumentType]
    return {} if isinstance(kind, dict) else kind()


def _checked(message: Message, name: str, kind: type, value: Any) -> Any:
    """Returns a value as a field has it; `TypeError` if it does not suit."""
    allowed = {bool: (bool, int), int: (int,), float: (float, int)}.get(kind, (kind,))
    if not isinstance(value, allowed):
        raise TypeError(
            f"bad argument type for built-in operation: {type(message).__name__}.{name} is {kind.__name__}, "
            f"not {type(value).__name__}"
        )
    return value if issubclass(kind, Message) else kind(value)


def _text(name: str, value: Any) -> str:
    if isinstance(value, Many):
        return "".join([_one(name, item) for item in value])
    if isinstance(value, dict):
        pairs: list[tuple[str, int]] = sorted(value.items())  # pyright: ignore[reportUnknownArgumentType]
        return "".join([f'{name} {{\n  key: "{key}"\n  value: {number}\n}}\n' for key, number in pairs])
    return _one(name, value) if (str(value) if isinstance(value, Message) else value) else ""


def _one(name: str, value: Any) -> str:
    if isinstance(value, Message):
        return f"{name} {{\n" + "".join([f"  {line}\n" for line in str(value).splitlines()]) + "}\n"
    if isinstance(value, bool):
        return f"{name}: {str(value).lower()}\n"
    if isinstance(value, float) and value.is_integer():
        return f"{name}: {int(value)}\n"
    return f'{name}: "{value}"\n' if isinstance(value, str) else f"{name}: {value}\n"
