"""The fields of a message, and the containers of repeated fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, MutableMapping, MutableSequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from nbtf._storage.messages.field_types import FieldType

if TYPE_CHECKING:
    from nbtf._storage.messages.message import Message


class Field(NamedTuple):
    """A field. `value_type` is its value type or message class; for a map, `key` is the type of its keys."""

    name: str
    number: int
    full_name: str
    value_type: Any
    repeated: bool = False
    key: FieldType | None = None
    oneof: str = ""
    """The group that it belongs to; only one field of a group can be set."""

    @property
    def of_messages(self) -> bool:
        """Whether its values are messages."""
        return not isinstance(self.value_type, FieldType)


class OneOf(NamedTuple):
    """A line in a field table: a field of a group in which only one can be set."""

    group: str
    value_type: Any


def field_of(name: str, number: int, owner: str, declared: Any) -> Field:
    """Returns a field from its table entry: a type, `[type]` for repeated fields, `{key: type}` for maps."""
    full_name = f"{owner}.{name}"
    if isinstance(declared, OneOf):
        return Field(name, number, full_name, declared.value_type, oneof=declared.group)
    if isinstance(declared, list):
        return Field(name, number, full_name, declared[0], repeated=True)
    if isinstance(declared, dict):
        ((key, value),) = declared.items()  # pyright: ignore[reportUnknownVariableType]
        return Field(name, number, full_name, value, repeated=True, key=key)  # pyright: ignore[reportUnknownArgumentType]
    return Field(name, number, full_name, declared)


class Repeated(MutableSequence[Any]):
    """The values of a repeated field; each is checked."""

    __hash__ = None  # pyright: ignore[reportAssignmentType]  # mutable

    def __init__(self, field: Field, changed: Callable[[], None]) -> None:
        self._field = field
        self._changed = changed
        self._items: list[Any] = []

    def _checked(self, value: Any) -> Any:
        return self._field.value_type.checked(value, self._field.full_name)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...  # pyright: ignore[reportIncompatibleMethodOverride]
    def __getitem__(self, index: Any) -> Any:
        """Returns a value or a list of values."""
        return self._items[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        """Replaces one or several values."""
        self._items[index] = (
            [self._checked(item) for item in value] if isinstance(index, slice) else self._checked(value)
        )
        self._changed()

    def __delitem__(self, index: Any) -> None:
        """Removes one or several values."""
        del self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def insert(self, index: int, value: Any) -> None:
        """Inserts a value before an index."""
        self._items.insert(index, self._checked(value))
        self._changed()

    def extend(self, values: Iterable[Any]) -> None:
        """Appends values."""
        if not hasattr(values, "__iter__"):
            raise TypeError("must assign iterable")
        for value in [*values]:
            self.append(value)

    def sort(self, **options: Any) -> None:
        """Sorts the values in place."""
        self._items.sort(**options)

    def MergeFrom(self, items: Iterable[Any]) -> None:  # noqa: N802  # the name in protocol buffers
        """Appends the values of another repeated field."""
        self.extend(items)

    def __eq__(self, other: object) -> bool:
        return self._items == (other._items if isinstance(other, Repeated) else other)

    def __repr__(self) -> str:
        return repr(self._items)


class RepeatedMessages(Repeated):
    """The messages of a repeated field."""

    def _checked(self, value: Any) -> Any:
        if isinstance(value, dict):
            return self._field.value_type(**value)
        if not isinstance(value, self._field.value_type):
            raise TypeError(f"Expected a message object, but got {value!r}.")
        return deepcopy(value)

    def add(self, **fields: Any) -> Any:
        """Appends a new message and returns it."""
        message: Message = self._field.value_type(**fields)
        self._items.append(message)
        self._changed()
        return message


class Map(MutableMapping[Any, Any]):
    """The entries of a map field. Reading a key that does not exist adds an entry, as in protocol buffers."""

    __hash__ = None  # pyright: ignore[reportAssignmentType]  # mutable

    def __init__(self, field: Field, changed: Callable[[], None]) -> None:
        self._field = field
        self._changed = changed
        self._items: dict[Any, Any] = {}

    def _key(self, key: Any) -> Any:
        assert self._field.key is not None
        return self._field.key.checked(key, self._field.full_name)

    def __getitem__(self, key: Any) -> Any:
        """Returns the value of a key, adding an entry if it is missing."""
        key = self._key(key)
        if key not in self._items:
            self._items[key] = self._field.value_type.default
            self._changed()
        return self._items[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        """Sets the value of a key."""
        self._items[self._key(key)] = self._field.value_type.checked(value, self._field.full_name)
        self._changed()

    def __delitem__(self, key: Any) -> None:
        """Removes a key."""
        if key not in self._items:
            raise KeyError("Key not present in map")
        del self._items[key]

    def __contains__(self, key: object) -> bool:
        return key in self._items

    def get(self, key: Any, default: Any = None) -> Any:
        """Returns the value of a key, or the default; adds no entry."""
        return self._items.get(key, default)

    def pop(self, key: Any, *default: Any) -> Any:
        """Removes a key and returns its value."""
        return self._items.pop(key, *default)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """Returns the value of a key. A missing key is added with the default."""
        if key not in self._items:
            self[key] = default
        return self._items[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def MergeFrom(self, entries: Any) -> None:  # noqa: N802  # the name in protocol buffers
        """Adds the entries of another map."""
        self.update(entries)

    def __eq__(self, other: object) -> bool:
        return self._items == (other._items if isinstance(other, Map) else other)

    def __repr__(self) -> str:
        return repr(self._items)


class MapOfMessages(Map):
    """The entries of a map field whose values are messages. Reading a missing key adds an empty message."""

    def __getitem__(self, key: Any) -> Any:
        """Returns the message of a key, adding an empty one if it is missing."""
        key = self._key(key)
        if key not in self._items:
            self._items[key] = self._field.value_type()
            self._changed()
        return self._items[key]

    def get_or_create(self, key: Any) -> Any:
        """Returns the message of a key, adding an empty one if it is missing."""
        return self[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        """Raises an error: set the fields of a message one by one, or use `CopyFrom`.

        Raises:
          ValueError: always.
        """
        raise ValueError("Message objects may not be assigned")

    def update(self, *entries: Any, **fields: Any) -> None:
        """Adds messages, or dictionaries of their fields, by key."""
        for key, value in dict(*entries, **fields).items():
            message = value if isinstance(value, self._field.value_type) else self._field.value_type(**value)
            self[key].CopyFrom(message)

    def MergeFrom(self, entries: Any) -> None:  # noqa: N802  # the name in protocol buffers
        """Adds the messages of another map; existing keys are replaced."""
        self.update(entries)
