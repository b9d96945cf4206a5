"""The contents of a lookup table, and the ops that read and change them. All of them run on the CPU."""

from __future__ import annotations

from typing import Any

from nbtf._devices.base import Spec
from nbtf._ops.op import no_gradient, op
from nbtf._ops.specs import Dims, bracketed
from nbtf._ops.strings import kernels
from nbtf._types import DType, bool_, float32, float64, int32, int64, string
from nbtf.errors import FailedPreconditionError, InvalidArgumentError

KEYS = frozenset({string, int32, int64})
VALUES = frozenset({string, int32, int64, float32, float64, bool_})


class Contents:
    """The keys of a table and their values.

    Args:
      key_dtype: the dtype of the keys.
      value_dtype: the dtype of the values.
      value_shape: the shape of each value.
      changes: whether keys may get other values.
      forbidden: keys that the table may not have, by the name of their argument.
    """

    def __init__(
        self,
        key_dtype: DType,
        value_dtype: DType,
        value_shape: tuple[int, ...] = (),
        changes: bool = True,
        forbidden: dict[Any, str] | None = None,
    ) -> None:
        self.key_dtype, self.value_dtype, self.value_shape = key_dtype, value_dtype, value_shape
        self.changes = changes
        self.forbidden = forbidden or {}
        self.values: dict[Any, Any] = {}

    def keys_in(self, keys: Any) -> list[Any]:
        """Returns an array of keys as a flat list.

        Raises:
          InvalidArgumentError: if the table may not have one of them.
        """
        flat = keys.ravel().tolist()
        for key, name in self.forbidden.items():
            if key in flat:
                raise InvalidArgumentError(f"Using the {name} as a table key is not allowed")
        return flat

    def insert(self, keys: Any, values: Any) -> None:
        """Adds keys and their values.

        Raises:
          InvalidArgumentError: if the numbers of keys and values differ.
          FailedPreconditionError: if a key has another value and the table may not change.
        """
        shape = (*keys.shape, *self.value_shape)
        if values.shape != shape:
            raise InvalidArgumentError(f"Expected shape {bracketed(shape)} for value, got {bracketed(values.shape)}")
        rows = values.reshape(keys.size, *self.value_shape)
        for key, value in zip(self.keys_in(keys), rows.copy() if self.value_shape else rows.tolist(), strict=True):
            if not self.changes and self.values.get(key, value) != value:
                stored_text, new_text = (_text_of(item) for item in (self.values[key], value))
                text = f"Key {_text_of(key)} has {stored_text} and trying to add value {new_text}"
                raise FailedPreconditionError(f"HashTable has different value for same key. {text}")
            self.values[key] = value

    def __repr__(self) -> str:
        """Returns the number of keys and both dtypes."""
        return f"<table of {len(self.values)} keys: {self.key_dtype.name} to {self.value_dtype.name}>"


def _text_of(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _shape_of_values(keys: Any, default_value: Any, table: Contents) -> Dims:
    return None if keys.shape is None else (*keys.shape, *table.value_shape)


@op("K V -> V", K=KEYS, V=VALUES, cpu_only=True, partly=_shape_of_values)
def LookupTableFindV2(xp: Any, keys: Any, default_value: Any, table: Contents) -> Any:
    flat, shape = table.keys_in(keys), (*keys.shape, *table.value_shape)
    if default_value.shape == table.value_shape:
        defaults = default_value[None]
        defaults = xp.broadcast_to(defaults, (len(flat), *table.value_shape))
    elif default_value.shape == shape:
        defaults = default_value.reshape(len(flat), *table.value_shape)
    else:
        raise InvalidArgumentError(
            f"Expected shape {bracketed(table.value_shape)} or {bracketed(shape)} for default value, "
            f"got {bracketed(default_value.shape)}"
        )
    if not table.value_shape:
        values = map(table.values.get, flat, defaults.tolist())
        return kernels.filled(xp, values, shape, default_value.dtype)
    result = defaults.copy()
    for key_index, key in enumerate(flat):
        if key in table.values:
            result[key_index] = table.values[key]
    return result.reshape(shape)


@LookupTableFindV2.infer
def _(keys: Spec, default_value: Spec, table: Contents) -> Spec:
    return Spec((*keys.shape, *table.value_shape), default_value.dtype)


@op("K V ->", K=KEYS, V=VALUES, cpu_only=True)
def LookupTableInsertV2(xp: Any, keys: Any, values: Any, table: Contents) -> Any:
    table.insert(keys, values)
    return []


@op("K V ->", K=KEYS, V=VALUES, cpu_only=True)
def LookupTableImportV2(xp: Any, keys: Any, values: Any, table: Contents) -> Any:
    table.insert(keys, values)
    return []


@op("K ->", K=KEYS, cpu_only=True)
def LookupTableRemoveV2(xp: Any, keys: Any, table: Contents) -> Any:
    for key in table.keys_in(keys):
        table.values.pop(key, None)
    return []


@op("-> int64", cpu_only=True)
def LookupTableSizeV2(xp: Any, table: Contents) -> Any:
    return xp.array(len(table.values), xp.int64)


@LookupTableSizeV2.infer
def _(table: Contents) -> Spec:
    return Spec((), int64)


def _exported(table: Contents, **attrs: Any) -> list[Dims]:
    return [(None,), (None, *table.value_shape)]


@op("-> key_dtype value_dtype", cpu_only=True, data_dependent=True, partly=_exported)
def LookupTableExportV2(xp: Any, table: Contents, key_dtype: DType, value_dtype: DType) -> Any:
    count = len(table.values)
    values = xp.empty((count, *table.value_shape), value_dtype.np_dtype)
    for key_index, value in enumerate(table.values.values()):
        values[key_index] = value
    return [kernels.filled(xp, table.values, (count,), key_dtype.np_dtype), values]


@LookupTableExportV2.infer
def _(table: Contents, key_dtype: DType, value_dtype: DType) -> list[Spec]:
    return [Spec((None,), key_dtype), Spec((None, *table.value_shape), value_dtype)]


def _without_results(*inputs: Spec, table: Contents) -> list[Spec]:
    return []


for _op in (LookupTableInsertV2, LookupTableImportV2, LookupTableRemoveV2):
    _op.infer(_without_results)
no_gradient(
    LookupTableFindV2,
    LookupTableInsertV2,
    LookupTableImportV2,
    LookupTableRemoveV2,
    LookupTableSizeV2,
    LookupTableExportV2,
)
