"""Initial contents of a table: keys and values from tensors, or from the lines of a text file."""

from __future__ import annotations

from typing import Any

from nbtf._ops.arrays.creation import get_static_value
from nbtf._ops.lookup.contents import LookupTableImportV2
from nbtf._ops.strings.numbers import number
from nbtf._runtime.context import open_graph
from nbtf._runtime.conversion import as_tensor
from nbtf._storage import system_errors
from nbtf._types import DType, DTypeLike, TensorLike, as_dtype, float32, float64, int32, int64, string
from nbtf.errors import InvalidArgumentError


class TableInitializerBase:
    """The dtypes that an initializer fills a table with."""

    _key_dtype: DType
    _value_dtype: DType

    @property
    def key_dtype(self) -> DType:
        """The dtype of the keys."""
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """The dtype of the values."""
        return self._value_dtype

    def initialize(self, table: Any) -> None:
        """Fills a table.

        Args:
          table: a table with these dtypes.
        """
        raise NotImplementedError

    def _check(self, table: Any) -> None:
        for name in ("key_dtype", "value_dtype"):
            dtype, expected = getattr(self, name), getattr(table, name)
            if dtype is not expected:
                noun = name.partition("_")[0].capitalize()
                raise TypeError(f"Invalid {noun.lower()} dtype for table: expected {expected!s}, received {dtype!s}")


class KeyValueTensorInitializer(TableInitializerBase):
    """Fills a table with keys and values.

    Args:
      keys: the keys: strings or integers.
      values: the values, one per key.
      key_dtype: the dtype of the keys; by default that of `keys`.
      value_dtype: the dtype of the values; by default that of `values`.
      name: accepted and ignored.

    >>> colors = tf.lookup.KeyValueTensorInitializer(["red", "blue"], [0, 1])
    >>> tf.lookup.StaticHashTable(colors, default_value=-1).lookup(tf.constant(["blue", "green"])).numpy()
    array([ 1, -1], dtype=int32)
    """

    def __init__(
        self,
        keys: TensorLike,
        values: TensorLike,
        key_dtype: DTypeLike | None = None,
        value_dtype: DTypeLike | None = None,
        name: str | None = None,
    ) -> None:
        self._keys = as_tensor(keys, None if key_dtype is None else as_dtype(key_dtype))
        self._values = as_tensor(values, None if value_dtype is None else as_dtype(value_dtype))
        self._key_dtype, self._value_dtype = self._keys.dtype, self._values.dtype

    def initialize(self, table: Any) -> None:
        """Fills a table.

        Args:
          table: a table with these dtypes.

        Raises:
          TypeError: if the table has other dtypes.
          InvalidArgumentError: if the numbers of keys and values differ.
          FailedPreconditionError: if a key appears with two values.
          ValueError: if keys or values are known only when a function runs.
        """
        self._check(table)
        if open_graph() is None:
            LookupTableImportV2(self._keys, self._values, table=table._contents)
            return
        arrays = [get_static_value(tensor) for tensor in (self._keys, self._values)]
        if any(array is None for array in arrays):
            raise ValueError("Keys and values of a table must be known when the table is created. Create it outside.")
        table._contents.insert(*arrays)


class TextFileIndex:
    """Which part of a line `TextFileInitializer` reads: the line, its number from 0, or a column."""

    WHOLE_LINE = -2
    LINE_NUMBER = -1


class TextFileInitializer(TableInitializerBase):
    r"""Fills a table from the lines of a text file.

    Args:
      filename: the path of the file.
      key_dtype: the dtype of the keys.
      key_index: what a key is: `TextFileIndex.WHOLE_LINE`, `TextFileIndex.LINE_NUMBER`, or a column from 0.
      value_dtype: the dtype of the values.
      value_index: what a value is, in the same form.
      vocab_size: the number of lines to read; all by default.
      delimiter: the text between columns; a tab by default.
      name: accepted and ignored.
      value_index_offset: a number added to line numbers.

    Raises:
      ValueError: if a line number is not int64, or a whole line is not a string.

    >>> path = getfixture("tmp_path") / "words.txt"
    >>> _ = path.write_text("red\nblue\n")
    >>> words = tf.lookup.TextFileInitializer(str(path), tf.string, -2, tf.int64, -1)
    >>> tf.lookup.StaticHashTable(words, default_value=-1).lookup(tf.constant(["blue", "green"])).numpy()
    array([ 1, -1])
    """

    def __init__(
        self,
        filename: Any,
        key_dtype: DTypeLike,
        key_index: int,
        value_dtype: DTypeLike,
        value_index: int,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
        value_index_offset: int = 0,
    ) -> None:
        self._key_dtype, self._value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)
        for noun, index, dtype in (("key", key_index, self._key_dtype), ("value", value_index, self._value_dtype)):
            if index < TextFileIndex.WHOLE_LINE:
                raise ValueError(f"`{noun}_index` should be >= -2, received: {index}.")
            if index == TextFileIndex.LINE_NUMBER and dtype is not int64:
                raise ValueError(f"`{noun}_dtype` must be int64 if `{noun}_index` is -1, received: {dtype!s}")
            if index == TextFileIndex.WHOLE_LINE and dtype not in (string, int64, int32)[: 3 if noun == "key" else 1]:
                raise ValueError(f"`{noun}_dtype` must be string if `{noun}_index` is -2, received: {dtype!s}")
        if key_index == value_index:
            raise ValueError(f"`key_index` and `value_index` must differ, received: {key_index}")
        if vocab_size is not None and vocab_size <= 0:
            raise ValueError(f"`vocab_size` should be > 0, received: {vocab_size}")
        self._filename, self._delimiter, self._vocab_size = filename, delimiter, vocab_size
        self._indices, self._offset = (key_index, value_index), value_index_offset

    def initialize(self, table: Any) -> None:
        """Fills a table from the file.

        Args:
          table: a table with these dtypes.

        Raises:
          TypeError: if the table has other dtypes.
          NotFoundError: if the file does not exist.
          InvalidArgumentError: if a line lacks a column, a number cannot be read, or lines are missing.
        """
        self._check(table)
        path = get_static_value(self._filename) if hasattr(self._filename, "dtype") else self._filename
        lines = system_errors.read(_as_bytes(path)).splitlines()
        if self._vocab_size is not None:
            if len(lines) < self._vocab_size:
                text = f"Invalid vocab_size in {path}: expected {self._vocab_size} but got {len(lines)}"
                raise InvalidArgumentError(text)
            del lines[self._vocab_size :]
        keys, values = (
            [self._field(line, line_index, index, dtype) for line_index, line in enumerate(lines)]
            for index, dtype in zip(self._indices, (self._key_dtype, self._value_dtype), strict=True)
        )
        initializer = KeyValueTensorInitializer(keys, values, self._key_dtype, self._value_dtype)
        initializer.initialize(table)

    def _field(self, line: bytes, line_index: int, index: int, dtype: DType) -> Any:
        """Returns the part of a line that an index selects."""
        if index == TextFileIndex.LINE_NUMBER:
            return line_index + self._offset
        if index == TextFileIndex.WHOLE_LINE:
            text = line
        else:
            columns = line.split(self._delimiter.encode())
            if index >= len(columns):
                text = f"Invalid number of columns in {self._filename} line {line_index}: expected {index + 1}"
                raise InvalidArgumentError(f"{text} got {len(columns)}")
            text = columns[index]
        return number(text, dtype) if dtype in (int32, int64, float32, float64) else text


def _as_bytes(path: Any) -> bytes:
    plain = path.item() if hasattr(path, "item") else path
    return plain if isinstance(plain, bytes) else str(plain).encode()
