"""Tables that map keys to values: fixed ones, ones that change, and vocabularies with buckets for other words."""

from __future__ import annotations

from typing import Any

from nbtf._ops.arrays.creation import get_static_value
from nbtf._ops.lookup.contents import (
    KEYS,
    VALUES,
    Contents,
    LookupTableExportV2,
    LookupTableFindV2,
    LookupTableInsertV2,
    LookupTableRemoveV2,
    LookupTableSizeV2,
)
from nbtf._ops.lookup.initializers import TableInitializerBase
from nbtf._ops.math.arithmetic import add, cast
from nbtf._ops.math.comparison import equal, where
from nbtf._ops.ragged_and_sparse.ragged import RaggedTensor
from nbtf._ops.ragged_and_sparse.sparse import SparseTensor
from nbtf._ops.strings.hashes import to_hash_bucket_fast
from nbtf._ops.strings.texts import as_string
from nbtf._runtime.attributes import reads
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._types import DType, DTypeLike, TensorLike, as_dtype, int64, string
from nbtf.errors import InvalidArgumentError, NotFoundError


class _Table:
    """The parts that all tables share."""

    _contents: Contents
    _default: Any
    _name: str

    name: str = reads("_name", "The name of the table.")
    default_value: Tensor = reads("_default", "The value of keys that the table does not have.")

    @property
    def key_dtype(self) -> DType:
        """The dtype of the keys."""
        return self._contents.key_dtype

    @property
    def value_dtype(self) -> DType:
        """The dtype of the values."""
        return self._contents.value_dtype

    def size(self, name: str | None = None) -> Tensor:
        """Returns the number of keys as an int64 scalar."""
        return LookupTableSizeV2(table=self._contents, name=name)

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """Returns all keys and their values, in the order of their insertion."""
        dtypes = {"key_dtype": self.key_dtype, "value_dtype": self.value_dtype}
        keys, values = LookupTableExportV2(table=self._contents, **dtypes, name=name)
        return keys, values

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """Returns the values of keys, and the default value for keys that the table does not have.

        Args:
          keys: a tensor, or a ragged or sparse tensor, of the table's key dtype.
          name: accepted and ignored.

        Raises:
          TypeError: if `keys` has another dtype.
        """
        return self._find(keys, self._default, name)

    def __getitem__(self, keys: Any) -> Any:
        """Returns the values of keys; see `lookup`."""
        return self.lookup(keys)

    def _find(self, keys: Any, default: Any, name: str | None) -> Any:
        if isinstance(keys, RaggedTensor):
            return keys.with_flat_values(self._find(keys.flat_values, default, name))
        if isinstance(keys, SparseTensor):
            return SparseTensor(keys.indices, self._find(keys.values, default, name), keys.dense_shape)
        tensor = as_tensor(keys)
        if tensor.dtype is not self.key_dtype:
            raise TypeError(f"Dtype of argument `keys` must be {self.key_dtype!s}, received: {tensor.dtype!s}")
        return LookupTableFindV2(tensor, default, table=self._contents, name=name)

    def __repr__(self) -> str:
        """Returns the class, the number of keys and both dtypes."""
        contents = self._contents
        dtypes = f"{self.key_dtype.name} to {self.value_dtype.name}"
        return f"<tf.lookup.{self.__class__.__name__}: {len(contents.values)} keys, {dtypes}>"


def _contents(key_dtype: DType, value_dtype: DType, default: Tensor, op: str, **options: Any) -> Contents:
    """Returns the empty contents of a table.

    Raises:
      NotFoundError: if TensorFlow has no table for these dtypes.
    """
    if key_dtype not in KEYS or value_dtype not in VALUES:
        dtypes = f"key_dtype=DT_{key_dtype.name.upper()}, value_dtype=DT_{value_dtype.name.upper()}"
        advice = "Use keys of dtype string, int32 or int64."
        raise NotFoundError(f"Could not find device for node: {{{{node {op}}}}} = {op}[{dtypes}] {advice}")
    return Contents(key_dtype, value_dtype, tuple(default.shape), **options)


class StaticHashTable(_Table):
    """A table whose contents never change.

    Args:
      initializer: a `KeyValueTensorInitializer` or `TextFileInitializer`.
      default_value: the value of keys that the table does not have.
      name: the name of the table.
      experimental_is_anonymous: accepted and ignored.

    Raises:
      FailedPreconditionError: if a key appears with two values.
      NotFoundError: if TensorFlow has no table for these dtypes.

    >>> words = tf.lookup.KeyValueTensorInitializer(["red", "blue"], [0, 1])
    >>> table = tf.lookup.StaticHashTable(words, default_value=-1)
    >>> table[tf.constant(["blue", "green"])].numpy()
    array([ 1, -1], dtype=int32)
    """

    def __init__(
        self,
        initializer: TableInitializerBase,
        default_value: TensorLike,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        key_dtype, value_dtype = as_dtype(initializer.key_dtype), as_dtype(initializer.value_dtype)
        self._default = as_tensor(default_value, value_dtype)
        self._contents = _contents(key_dtype, value_dtype, self._default, "HashTableV2", changes=False)
        self._initializer, self._name = initializer, name or "hash_table"
        initializer.initialize(self)


class StaticVocabularyTable(_Table):
    """A table of words and their numbers. All other words share buckets after the last number.

    Args:
      initializer: gives each word a number from 0, int64; None for a table that consists of buckets only.
      num_oov_buckets: number of buckets for other words, at least 1.
      lookup_key_dtype: the dtype of the keys, string or an integer dtype; by default the initializer's.
      name: the name of the table.
      experimental_is_anonymous: accepted and ignored.

    Raises:
      ValueError: if `num_oov_buckets` is not positive, or both initializer and key dtype are missing.
      TypeError: if the numbers are not int64, or the key dtypes do not fit each other.

    >>> words = tf.lookup.KeyValueTensorInitializer(["red", "blue"], tf.constant([0, 1], tf.int64))
    >>> tf.lookup.StaticVocabularyTable(words, 3).lookup(tf.constant(["blue", "hello"])).numpy()
    array([1, 3])
    """

    def __init__(
        self,
        initializer: TableInitializerBase | None,
        num_oov_buckets: int,
        lookup_key_dtype: DTypeLike | None = None,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        if num_oov_buckets <= 0:
            raise ValueError("`num_oov_buckets` must be > 0; use StaticHashTable.")
        if initializer is None and lookup_key_dtype is None:
            raise ValueError("`lookup_key_dtype` must be given if `initializer` is None.")
        if initializer is not None and as_dtype(initializer.value_dtype) is not int64:
            raise TypeError(f"Invalid `value_dtype`, expected {int64!s} but got {initializer.value_dtype!s}.")
        stored_dtype = None if initializer is None else as_dtype(initializer.key_dtype)
        key_dtype = as_dtype(lookup_key_dtype or stored_dtype or string)
        if not (key_dtype.is_integer or key_dtype is string) or (
            stored_dtype is not None and stored_dtype.is_integer != key_dtype.is_integer
        ):
            raise TypeError(f"Invalid `key_dtype`, expected integer or string, but got {key_dtype!s}.")
        self._default = as_tensor(-1, int64)
        self._contents = _contents(stored_dtype or key_dtype, int64, self._default, "HashTableV2", changes=False)
        self._name, self._buckets, self._looked_up = name or "vocabulary_table", num_oov_buckets, key_dtype
        if initializer is not None:
            initializer.initialize(self)

    def size(self, name: str | None = None) -> Tensor:
        """Returns the number of words and buckets as an int64 scalar."""
        return add(LookupTableSizeV2(table=self._contents), self._buckets, name)

    def _find(self, keys: Any, default: Any, name: str | None) -> Any:
        if not isinstance(keys, RaggedTensor | SparseTensor) and as_tensor(keys).dtype is not self._looked_up:
            received = as_tensor(keys).dtype
            raise TypeError(f"Dtype of argument `keys` must be {self._looked_up!s}, received: {received!s}")
        if isinstance(keys, RaggedTensor | SparseTensor):
            return super()._find(keys, default, name)
        tensor = as_tensor(keys)
        stored_dtype = self.key_dtype
        stored_numbers = LookupTableFindV2(_as(tensor, stored_dtype), default, table=self._contents)
        texts = tensor if tensor.dtype is string else as_string(tensor)
        bucket_numbers = add(to_hash_bucket_fast(texts, self._buckets), LookupTableSizeV2(table=self._contents))
        return where(equal(stored_numbers, default), bucket_numbers, stored_numbers, name)


def _as(keys: Tensor, dtype: DType) -> Tensor:
    return keys if keys.dtype is dtype else cast(keys, dtype)


class MutableHashTable(_Table):
    """A table whose keys and values may change.

    Args:
      key_dtype: the dtype of the keys: string, int32 or int64.
      value_dtype: the dtype of the values.
      default_value: the value of keys that the table does not have; its shape is that of all values.
      name: the name of the table.
      checkpoint: accepted and ignored; checkpoints do not contain tables.
      experimental_is_anonymous: accepted and ignored.

    Raises:
      NotFoundError: if TensorFlow has no table for these dtypes.

    >>> counts = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, default_value=0)
    >>> counts.insert(tf.constant(["red"]), tf.constant([5], tf.int64))
    >>> counts.lookup(tf.constant(["red", "blue"])).numpy()
    array([5, 0])
    """

    def __init__(
        self,
        key_dtype: DTypeLike,
        value_dtype: DTypeLike,
        default_value: TensorLike,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        self._fill(as_dtype(key_dtype), as_dtype(value_dtype), default_value, name)

    def _fill(self, key_dtype: DType, value_dtype: DType, default: Any, name: str, **options: Any) -> None:
        self._default = as_tensor(default, value_dtype)
        self._contents = _contents(key_dtype, value_dtype, self._default, "MutableHashTableV2", **options)
        self._name = name

    def lookup(  # pyright: ignore[reportIncompatibleMethodOverride]  # TensorFlow's signature
        self, keys: Any, dynamic_default_values: TensorLike | None = None, name: str | None = None
    ) -> Any:
        """Returns the values of keys, and the default value for keys that the table does not have.

        Args:
          keys: a tensor, or a ragged or sparse tensor, of the table's key dtype.
          dynamic_default_values: a default value for each key; by default the table's for all.
          name: accepted and ignored.

        Raises:
          TypeError: if `keys` has another dtype.
          InvalidArgumentError: if the shape of `dynamic_default_values` does not fit.
        """
        default = self._default if dynamic_default_values is None else as_tensor(dynamic_default_values)
        return self._find(keys, default, name)

    def insert(self, keys: TensorLike, values: TensorLike, name: str | None = None) -> Any:
        """Adds keys and their values; keys that the table has get the new values.

        Args:
          keys: the keys.
          values: a value for each key.
          name: accepted and ignored.

        Raises:
          ValueError: if a tensor has another dtype.
          InvalidArgumentError: if the numbers of keys and values differ.
        """
        pair = as_tensor(keys, self.key_dtype), as_tensor(values, self.value_dtype)
        result = LookupTableInsertV2(*pair, table=self._contents, name=name)
        return None if result.__class__ is list else result

    def remove(self, keys: TensorLike, name: str | None = None) -> Any:
        """Removes keys and their values; keys that the table does not have are ignored.

        Args:
          keys: the keys.
          name: accepted and ignored.

        Raises:
          TypeError: if `keys` has another dtype.
        """
        tensor = as_tensor(keys)
        if tensor.dtype is not self.key_dtype:
            raise TypeError(f"Dtype of argument `keys` must be {self.key_dtype!s}, received: {tensor.dtype!s}")
        result = LookupTableRemoveV2(tensor, table=self._contents, name=name)
        return None if result.__class__ is list else result


class DenseHashTable(MutableHashTable):
    """A `MutableHashTable` with two keys that programs may not use. `export` returns only keys that were inserted.

    Args:
      key_dtype: the dtype of the keys: string, int32 or int64.
      value_dtype: the dtype of the values.
      default_value: the value of keys that the table does not have; its shape is that of all values.
      empty_key: a key that TensorFlow uses for empty buckets.
      deleted_key: another key, which TensorFlow uses for deleted entries.
      initial_num_buckets: accepted and ignored.
      name: the name of the table.
      checkpoint: accepted and ignored; checkpoints do not contain tables.
      experimental_is_anonymous: accepted and ignored.

    Raises:
      NotFoundError: if TensorFlow has no table for these dtypes.
      InvalidArgumentError: if `empty_key` and `deleted_key` are equal.

    >>> table = tf.lookup.experimental.DenseHashTable(tf.int64, tf.float32, 0.0, empty_key=-1, deleted_key=-2)
    >>> table.insert(tf.constant([7], tf.int64), [0.5])
    >>> table.lookup(tf.constant([7, 8], tf.int64)).numpy()
    array([0.5, 0. ], dtype=float32)
    """

    def __init__(
        self,
        key_dtype: DTypeLike,
        value_dtype: DTypeLike,
        default_value: TensorLike,
        empty_key: Any,
        deleted_key: Any,
        initial_num_buckets: int | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        dtype = as_dtype(key_dtype)
        empty, deleted = (get_static_value(as_tensor(key, dtype)).item() for key in (empty_key, deleted_key))
        if empty == deleted:
            raise InvalidArgumentError("Empty and deleted keys must be different")
        forbidden = {empty: "empty_key", deleted: "deleted_key"}
        self._fill(dtype, as_dtype(value_dtype), default_value, name, forbidden=forbidden)

    insert_or_assign: Any = MutableHashTable.insert
    erase: Any = MutableHashTable.remove
