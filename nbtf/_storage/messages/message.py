"""Messages compatible with protocol buffers: fixed fields with defaults, a text form, and errors for misuse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

from nbtf._storage.messages import encoding
from nbtf._storage.messages.field_types import Enum, FieldType
from nbtf._storage.messages.fields import Field, Map, MapOfMessages, Repeated, RepeatedMessages, field_of


class Descriptor(NamedTuple):
    """The name of a message class, and its fields sorted by number."""

    name: str
    full_name: str
    fields: tuple[Field, ...]

    @property
    def fields_by_name(self) -> dict[str, Field]:
        """The fields by name."""
        return {field.name: field for field in self.fields}


Fields = Mapping[str, tuple[int, Any]]
"""Number and type of each field."""


class Message:
    """A record with the fields in `FIELDS`: number and type by name; `[type]` if repeated, `{key: type}` for a map.

    A nested message counts as set once any of its fields is set, even to the default.
    """

    FIELDS: ClassVar[Fields] = {}
    REMOVED: ClassVar[Mapping[str, str]] = {}
    """Advice for fields that the message no longer has."""
    DESCRIPTOR: ClassVar[Descriptor]
    _by_name: ClassVar[dict[str, Field]] = {}

    __hash__ = None  # pyright: ignore[reportAssignmentType]  # mutable

    def __init_subclass__(cls) -> None:
        """Creates the fields of the table, and constants for enums."""
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
        """Sets fields; a message field accepts a message or a dictionary."""
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
            raise cls._with_advice(name, ValueError(f'Protocol message {cls.__name__} has no "{name}" field.'))
        return cls._by_name[name]

    @classmethod
    def _with_advice(cls, name: str, error: Exception) -> Exception:
        """Returns an error about a missing field, with advice in a note if the field was removed."""
        if name in cls.REMOVED:
            error.add_note(cls.REMOVED[name])
        return error

    def _fill(self, field: Field, value: Any) -> None:
        """Sets a field from a constructor argument."""
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
        """Returns the value of a field; containers and messages are created on first access and shared afterwards."""
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
            # Python adds `Did you mean: 'gpu_options'?`
            raise self._with_advice(name, AttributeError(name, name=name, obj=self))
        return self._of(field)

    def __setattr__(self, name: str, value: Any) -> None:
        """Sets a scalar field; the fields of a nested message are set one by one."""
        field = self._by_name.get(name)
        if field is None:
            text = f'Protocol message {type(self).__name__} has no "{name}" field.'
            raise self._with_advice(name, AttributeError(text))
        if field.repeated or field.of_messages:
            noun = "map, or repeated" if field.repeated else "message"
            raise AttributeError(f'Assignment not allowed to {noun} field "{name}" in protocol message object.')
        try:
            self._values[name] = field.value_type.checked(value, field.full_name)
        except (TypeError, ValueError) as error:
            error.add_note(f"{name} of {type(self).__name__} must be a {field.value_type.name}. Got {value!r}")
            raise
        self.SetInParent()

    def __delattr__(self, name: str) -> None:
        """Raises an error: use `ClearField` to empty a field."""
        raise AttributeError("Cannot delete field attribute")

    def __dir__(self) -> list[str]:
        inherited = [name for name in super().__dir__() if not name.endswith("_FIELD_NUMBER") and name != "FIELDS"]
        return sorted({*inherited, *self._by_name})

    # The methods of protocol buffers

    def SetInParent(self) -> None:  # noqa: N802
        """Marks the message as set in its parent, even if it is empty."""
        attributes = self.__dict__
        if not attributes["_there"]:
            attributes["_there"] = True
            if attributes["_group"] is not None:
                attributes["_owner"]._clear_others(attributes["_group"])
            attributes["_owner"].SetInParent()

    def _clear_others(self, field: Field) -> None:
        """Clears the other fields of a field's group."""
        for name, candidate in self._by_name.items():
            if candidate.oneof == field.oneof and candidate is not field:
                self.ClearField(name)

    def WhichOneof(self, group: str) -> str | None:  # noqa: N802
        """Returns the name of the field of a group that is set; None if there is none.

        Raises:
          ValueError: if the group does not exist.
        """
        names = [name for name, field in self._by_name.items() if field.oneof == group]
        if not names:
            raise ValueError(f'Protocol message {type(self).__name__} has no "{group}" field.')
        return next((name for name in names if self._is_there(self._by_name[name])), None)

    def HasField(self, name: str) -> bool:  # noqa: N802
        """Returns whether a message field is set.

        Raises:
          ValueError: if the field does not exist, or is not a message (other fields always have a value).
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
        """Returns the fields that are set, with their values, sorted by number."""
        return [(field, self._values[field.name]) for field in self._by_name.values() if self._is_there(field)]

    def ClearField(self, name: str) -> None:  # noqa: N802
        """Clears a field.

        Raises:
          ValueError: if the field does not exist.
        """
        content = self._values.pop(self._field(name).name, None)
        if isinstance(content, Message):
            content.__dict__["_owner"], content.__dict__["_there"] = None, True
        self.SetInParent()

    def Clear(self) -> None:  # noqa: N802
        """Clears all fields."""
        for name in self._by_name:
            self.ClearField(name)

    def CopyFrom(self, message: Self) -> None:  # noqa: N802
        """Replaces the content with that of another message of the same class."""
        self._check_same_class("CopyFrom", message)
        if message is not self:
            self.Clear()
            self.MergeFrom(message)

    def MergeFrom(self, message: Self) -> None:  # noqa: N802
        """Merges the fields of another message of the same class; values of repeated fields are appended."""
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
        """Returns the message in the wire format of protocol buffers; maps are always sorted by key."""
        return encoding.encoded(self.ListFields())

    SerializePartialToString = SerializeToString

    def ByteSize(self) -> int:  # noqa: N802
        """Returns the length of the result of `SerializeToString` in bytes."""
        return len(self.SerializeToString())

    def MergeFromString(self, data: bytes) -> int:  # noqa: N802
        """Merges a message in wire format; returns the number of bytes.

        Raises:
          DecodeError: if `data` is not a valid message.
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
        """Replaces the content with a message in wire format; returns the number of bytes.

        Raises:
          DecodeError: if `data` is not a valid message.
        """
        self.Clear()
        return self.MergeFromString(data)

    @classmethod
    def FromString(cls, data: bytes) -> Self:  # noqa: N802
        """Returns a new message from bytes in wire format.

        Raises:
          DecodeError: if `data` is not a valid message.
        """
        message = cls()
        message.MergeFromString(data)
        return message

    def IsInitialized(self) -> bool:  # noqa: N802
        """Returns True, because no field is required."""
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
        # Messages with NaN in the same field are equal, although NaN is not equal to itself.
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
