"""Messages in the manner of protocol buffers: fixed fields with defaults, a text form, and errors for misuse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

from nbtf._storage.messages import encoding
from nbtf._storage.messages.field_types import Enum, FieldType
from nbtf._storage.messages.fields import Field, Map, MapOfMessages, Repeated, RepeatedMessages, field_of


class Descriptor(NamedTuple):
    """The name of a class of messages, and its fields in the order of their numbers."""

    name: str
    full_name: str
    fields: tuple[Field, ...]

    @property
    def fields_by_name(self) -> dict[str, Field]:
        """The fields by name."""
        return {field.name: field for field in self.fields}


Fields = Mapping[str, tuple[int, Any]]
"""Number and kind of each field."""


class Message:
    """A record whose fields `FIELDS` lists: number and kind by name; `[kind]` stands for many, `{key: kind}` for a map.

    A message inside another one is there once something in it was set, even to its default.
    """

    FIELDS: ClassVar[Fields] = {}
    DESCRIPTOR: ClassVar[Descriptor]
    _by_name: ClassVar[dict[str, Field]] = {}

    __hash__ = None  # pyright: ignore[reportAssignmentType]  # can be changed

    def __init_subclass__(cls) -> None:
        """Makes fields of the table, and constants of enums."""
        full_name = f"tensorflow.{cls.__qualname__}"
        fields = [field_of(name, number, full_name, declared) for name, (number, declared) in cls.FIELDS.items()]
        ordered = tuple(sorted(fields, key=lambda field: field.number))
        cls.DESCRIPTOR = Descriptor(cls.__name__, full_name, ordered)  # pyright: ignore[reportConstantRedefinition]
        cls._by_name = {field.name: field for field in ordered}
        for field in ordered:
            setattr(cls, f"{field.name.upper()}_FIELD_NUMBER", field.number)
        for enum in [value for value in vars(cls).values() if isinstance(value, Enum)]:
            for name, number in enum.items():
                setattr(cls, name, number)

    def __init__(self, *none: Any, **fields: Any) -> None:
        """Sets fields; a message field takes a message or a dictionary."""
        if none:
            raise TypeError("No positional arguments allowed")
        self._begin(None)
        for name, value in fields.items():
            field = self._field(name)
            if value is not None:
                self._fill(field, value)

    def _begin(self, owner: Message | None, field: Field | None = None) -> None:
        attributes = self.__dict__
        attributes["_values"], attributes["_owner"], attributes["_there"] = {}, owner, owner is None
        attributes["_group"] = field if field is not None and field.oneof else None

    @classmethod
    def _field(cls, name: Any) -> Field:
        if not isinstance(name, str):
            raise ValueError(f"Expected a field name, but got non-string argument {name!r}.")
        if name not in cls._by_name:
            raise ValueError(f'Protocol message {cls.__name__} has no "{name}" field.')
        return cls._by_name[name]

    def _fill(self, field: Field, value: Any) -> None:
        """Sets a field from an argument of the constructor."""
        if field.key is not None:
            self._of(field).update(value)
        elif field.repeated:
            self._of(field).extend(value)
        elif not field.of_messages:
            setattr(self, field.name, value)
        elif isinstance(value, dict):
            inner = self._of(field)
            inner.CopyFrom(field.value_type(**value))
            inner.SetInParent()
        elif isinstance(value, field.value_type):
            inner = self._of(field)
            inner.CopyFrom(value)
            inner.SetInParent()
        else:
            raise TypeError(
                "Parameter to initialize message field must be dict or instance of same class: "
                f"expected {field.value_type} got {type(value)}."
            )

    def _of(self, field: Field) -> Any:
        """Returns what a field holds; a container or a message that is kept from now on, and of which all know."""
        values = self._values
        content = values.get(field.name)
        if content is not None:
            return content
        if field.key is not None:
            content = (MapOfMessages if field.of_messages else Map)(field, self.SetInParent)
        elif field.repeated:
            content = (RepeatedMessages if field.of_messages else Repeated)(field, self.SetInParent)
        elif field.of_messages:
            content = field.value_type.__new__(field.value_type)
            content._begin(self, field)
        else:
            return field.value_type.default
        values[field.name] = content
        return content

    def __getattr__(self, name: str) -> Any:
        """Returns a field."""
        field = self._by_name.get(name)
        if field is None:
            raise AttributeError(name, name=name, obj=self)  # Python adds `Did you mean: 'gpu_options'?`
        return self._of(field)

    def __setattr__(self, name: str, value: Any) -> None:
        """Sets a field that is one value; the fields of a message inside are set one by one."""
        field = self._by_name.get(name)
        if field is None:
            raise AttributeError(f'Protocol message {type(self).__name__} has no "{name}" field.')
        if field.repeated or field.of_messages:
            noun = "map, or repeated" if field.repeated else "message"
            raise AttributeError(f'Assignment not allowed to {noun} field "{name}" in protocol message object.')
        try:
            self._values[name] = field.value_type.checked(value, field.full_name)
        except (TypeError, ValueError) as error:
            error.add_note(f"{name} of {type(self).__name__} takes {field.value_type.name}. Got {value!r}")
            raise
        self.SetInParent()

    def __delattr__(self, name: str) -> None:
        """Refuses: `ClearField` is what empties a field."""
        raise AttributeError("Cannot delete field attribute")

    def __dir__(self) -> list[str]:
        inherited = [name for name in super().__dir__() if not name.endswith("_FIELD_NUMBER") and name != "FIELDS"]
        return sorted({*inherited, *self._by_name})

    # The methods of protocol buffers

    def SetInParent(self) -> None:  # noqa: N802
        """Makes the message be there in the one around it, even if it says nothing."""
        attributes = self.__dict__
        if not attributes["_there"]:
            attributes["_there"] = True
            if attributes["_group"] is not None:
                attributes["_owner"]._clear_others(attributes["_group"])
            attributes["_owner"].SetInParent()

    def _clear_others(self, field: Field) -> None:
        """Empties the other fields of the group of a field."""
        for name, candidate in self._by_name.items():
            if candidate.oneof == field.oneof and candidate is not field:
                self.ClearField(name)

    def WhichOneof(self, group: str) -> str | None:  # noqa: N802
        """Returns the name of the field of a group that is there; None if none is.

        Raises:
          ValueError: there is no such group.
        """
        names = [name for name, field in self._by_name.items() if field.oneof == group]
        if not names:
            raise ValueError(f'Protocol message {type(self).__name__} has no "{group}" field.')
        return next((name for name in names if self._is_there(self._by_name[name])), None)

    def HasField(self, name: str) -> bool:  # noqa: N802
        """Tells whether a message field is there.

        Raises:
          ValueError: if the field does not exist, or is not a message: other fields always have a value.
        """
        if name in {field.oneof for field in self._by_name.values()} - {""}:
            return self.WhichOneof(name) is not None
        field = self._field(name)
        if field.repeated or not field.of_messages:
            raise ValueError(f"Field {field.full_name} does not have presence.")
        return self._is_there(field)

    def _is_there(self, field: Field) -> bool:
        value = self._values.get(field.name)
        if value is None:
            return False
        if field.repeated:
            return bool(value)
        return value.__dict__["_there"] if field.of_messages else not field.value_type.is_default(value)

    def ListFields(self) -> list[tuple[Field, Any]]:  # noqa: N802
        """Returns the fields that say anything, with their values, in the order of their numbers."""
        return [(field, self._values[field.name]) for field in self._by_name.values() if self._is_there(field)]

    def ClearField(self, name: str) -> None:  # noqa: N802
        """Empties a field.

        Raises:
          ValueError: there is no such field.
        """
        content = self._values.pop(self._field(name).name, None)
        if isinstance(content, Message):
            content.__dict__["_owner"], content.__dict__["_there"] = None, True
        self.SetInParent()

    def Clear(self) -> None:  # noqa: N802
        """Empties all fields."""
        for name in self._by_name:
            self.ClearField(name)

    def CopyFrom(self, message: Self) -> None:  # noqa: N802
        """Becomes the same as another message of its class."""
        self._check_same_class("CopyFrom", message)
        if message is not self:
            self.Clear()
            self.MergeFrom(message)

    def MergeFrom(self, message: Self) -> None:  # noqa: N802
        """Takes over the fields of another message of its class; values of repeated fields are appended."""
        self._check_same_class("MergeFrom", message)
        self.SetInParent()
        for field, value in message.ListFields():
            if field.repeated or field.of_messages:
                self._of(field).MergeFrom(value)
            else:
                self._values[field.name] = value

    def _check_same_class(self, method: str, message: Any) -> None:
        if not isinstance(message, type(self)):
            raise TypeError(
                f"Parameter to {method}() must be instance of same class: expected {type(self)} got {type(message)}."
            )

    def SerializeToString(self, deterministic: bool | None = None) -> bytes:  # noqa: N802
        """Returns the bytes of protocol buffers; maps are always in the order of their keys."""
        return encoding.encoded(self.ListFields())

    SerializePartialToString = SerializeToString

    def ByteSize(self) -> int:  # noqa: N802
        """Returns how many bytes `SerializeToString` gives."""
        return len(self.SerializeToString())

    def MergeFromString(self, data: bytes) -> int:  # noqa: N802
        """Takes over what bytes of protocol buffers say, and returns how many there were.

        Raises:
          DecodeError: they are none.
        """
        self.SetInParent()
        by_number = {field.number: field for field in self._by_name.values()}
        for field, value in encoding.decoded(memoryview(data), by_number, self.DESCRIPTOR.full_name):
            if field.key is not None:
                self._take_entry(field, *value)
            elif field.of_messages:
                (self._of(field).add() if field.repeated else self._of(field)).MergeFromString(value)
            elif field.repeated:
                self._of(field).extend(value)
            else:
                self._values[field.name] = value
        return len(data)

    def _take_entry(self, field: Field, key: Any, value: Any) -> None:
        if field.of_messages:
            self._of(field).pop(key, None)
            self._of(field)[key].MergeFromString(value)
        else:
            self._of(field)[key] = value

    def ParseFromString(self, data: bytes) -> int:  # noqa: N802
        """Becomes what bytes of protocol buffers say, and returns how many there were.

        Raises:
          DecodeError: they are none.
        """
        self.Clear()
        return self.MergeFromString(data)

    @classmethod
    def FromString(cls, data: bytes) -> Self:  # noqa: N802
        """Returns a message from bytes of protocol buffers.

        Raises:
          DecodeError: they are none.
        """
        message = cls()
        message.MergeFromString(data)
        return message

    def IsInitialized(self) -> bool:  # noqa: N802
        """Returns True: no field is required."""
        return True

    # Python

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        copied = type(self)()
        copied.MergeFrom(self)
        return copied

    def __copy__(self) -> Self:
        return self.__deepcopy__({})

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles as bytes."""
        return type(self).FromString, (self.SerializeToString(),)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Message) or self.__class__ is not other.__class__:
            return False
        # Two messages with NaN in the same field are equal, although NaN is not equal to itself.
        return self.ListFields() == other.ListFields() or self.SerializeToString() == other.SerializeToString()

    def __str__(self) -> str:
        return "".join([_text(field, value) for field, value in self.ListFields()])

    __repr__ = __str__


def _text(field: Field, value: Any) -> str:
    if field.key is not None:
        return "".join([_block(field.name, _entry(field, key, value)) for key, value in sorted(value.items())])
    return "".join(
        [_field_text(field.name, field.value_type, item) for item in (value if field.repeated else (value,))]
    )


def _field_text(name: str, field_type: Any, value: Any) -> str:
    return f"{name}: {field_type.text(value)}\n" if isinstance(field_type, FieldType) else _block(name, str(value))


def _entry(field: Field, key: Any, value: Any) -> str:
    return _field_text("key", field.key, key) + _field_text("value", field.value_type, value)


def _block(name: str, lines: str) -> str:
    return f"{name} {{\n" + "".join([f"  {line}\n" for line in lines.splitlines()]) + "}\n"
