"""Parses serialized `tf.train.Example` messages to tensors. Everything runs on the CPU.

Source of rules and errors: TensorFlow, `core/util/example_proto_fast_parsing.cc` and `python/ops/parsing_ops.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from math import prod
from typing import Any, NamedTuple

from nbtf._devices.base import Spec
from nbtf._devices.cpu import CPU
from nbtf._ops.arrays.joining import concat, stack
from nbtf._ops.arrays.shapes import expand_dims
from nbtf._ops.io.defaults import read_default
from nbtf._ops.io.features import FixedLenFeature, FixedLenSequenceFeature, SparseFeature, VarLenFeature
from nbtf._ops.op import no_gradient, op
from nbtf._ops.ragged_and_sparse.sparse import SparseTensor, reorder
from nbtf._ops.specs import bracketed
from nbtf._ops.strings import kernels
from nbtf._runtime.conversion import as_tensor
from nbtf._shapes import TensorShape
from nbtf._storage.example_messages import values_by_name
from nbtf._storage.messages.encoding import DecodeError
from nbtf._types import DType, TensorLike, as_dtype, float32, int64, string
from nbtf.errors import InvalidArgumentError

_LISTS = {float32: "float", int64: "int64", string: "string"}
"""The dtypes that an example can hold."""


class Column(NamedTuple):
    """A feature to read."""

    key: str
    dtype: DType
    shape: tuple[int, ...]
    """The shape of an example's values, or of one step of them."""
    layout: str
    """`fixed`, `steps` or `sparse`."""
    default: Any = None
    """The default values as a tuple, which also pad steps; None if the feature is required."""


def _as_columns(columns: Any) -> tuple[Column, ...]:
    return tuple(columns)


def _as_names(names: Any) -> tuple[bytes, ...]:
    return tuple(names)


def _as_dtypes(dtypes: Any) -> tuple[DType, ...]:
    return tuple(dtypes)


def _of_any_batch(serialized: Spec, columns: Any, **attrs: Any) -> list[Any]:
    return [dims for column in columns for dims in _batch_of(column, None)]


@op(
    "string -> out_types*",
    plain={"columns": _as_columns, "names": _as_names, "out_types": _as_dtypes},
    partly=_of_any_batch,
    data_dependent=True,
    cpu_only=True,
)
def ParseExampleV2(
    xp: Any, serialized: Any, columns: tuple[Column, ...], names: tuple[bytes, ...], out_types: tuple[DType, ...]
) -> list[Any]:
    if serialized.ndim > 1:
        raise InvalidArgumentError(
            f"Expected serialized to be a scalar or vector, got shape: {bracketed(serialized.shape)}"
        )
    is_batch = serialized.ndim == 1
    examples: list[dict[str, Any]] = []
    for data in serialized.ravel().tolist():
        try:
            examples.append(values_by_name(data))
        except DecodeError:
            raise InvalidArgumentError(f"Could not parse example input, value: '{data[:40]!r}'") from None
    results: list[Any] = []
    for column in columns:
        rows = [_values(example, column, _prefix(names, n, is_batch)) for n, example in enumerate(examples)]
        results += _SHAPED[column.layout](xp, column, rows, is_batch, names)
    return results


def _prefix(names: Sequence[bytes], number: int, is_batch: bool) -> str:
    if not is_batch:
        return ""
    return f"Name: {names[number].decode() if number < len(names) else '<unknown>'}, "


def _values(example: dict[str, Any], column: Column, prefix: str) -> Any:
    """Returns the values of a feature in an example, or None if the feature is missing.

    Raises:
      InvalidArgumentError: if the values have another dtype.
    """
    listed = example.get(column.key)
    if listed is None:
        return None
    name, values = listed
    expected = _LISTS[column.dtype]
    if name != expected:
        actual = "int64" if name == "int64" else name
        subject = f"{prefix}Key: {column.key}" + (", Index: 0" if prefix else "")
        text = f"Data types don't match. Data type: {actual} but expected type: {expected}"
        if column.layout == "sparse" and prefix:
            text = f"Data types don't match. Expected type: {expected}, Actual type: {actual}"
        raise InvalidArgumentError(f"{subject}.  {text}")
    return values


def _fixed(xp: Any, column: Column, rows: list[Any], is_batch: bool, names: Sequence[bytes]) -> list[Any]:
    count = prod(column.shape)
    for number, values in enumerate(rows):
        prefix = _prefix(names, number, is_batch)
        if values is None and column.default is None:
            dtype = f"(data type: {_LISTS[column.dtype]})"
            raise InvalidArgumentError(f"{prefix}Feature: {column.key} {dtype} is required but could not be found.")
        if values is not None and len(values) != count:
            if not is_batch:
                text = f"Can't parse serialized Example: Some {_LISTS[column.dtype]}_list slice was not parsed."
                raise InvalidArgumentError(f"Key: {column.key}.  {text}")
            raise InvalidArgumentError(
                f"{prefix}Key: {column.key}, Index: {number}.  Number of {_LISTS[column.dtype]} values != expected.  "
                f"Values size: {len(values)} but output shape: {bracketed(column.shape)}"
            )
    flat = chain.from_iterable([column.default if values is None else values for values in rows])
    shape = (len(rows), *column.shape) if is_batch else column.shape
    return [kernels.filled(xp, flat, shape, column.dtype.np_dtype)]


def _steps(xp: Any, column: Column, rows: list[Any], is_batch: bool, names: Sequence[bytes]) -> list[Any]:
    stride = max(prod(column.shape), 1)
    for number, values in enumerate(rows):
        if values is not None and len(values) % stride:
            shape = ",".join(["?", *map(str, column.shape)])
            raise InvalidArgumentError(
                f"{_prefix(names, number, is_batch)}Key: {column.key}, Index: {number}.  Number of "
                f"{_LISTS[column.dtype]} values is not a multiple of stride length. Saw {len(values)} values but "
                f"output shape is: [{shape}]"
            )
    longest = max([len(values or ()) for values in rows], default=0)
    padded = [[*(values or ()), *[column.default] * (longest - len(values or ()))] for values in rows]
    shape = (longest // stride, *column.shape)
    shape = (len(rows), *shape) if is_batch else shape
    return [kernels.filled(xp, chain.from_iterable(padded), shape, column.dtype.np_dtype)]


def _sparse(xp: Any, column: Column, rows: list[Any], is_batch: bool, names: Sequence[bytes]) -> list[Any]:
    lengths = [len(values or ()) for values in rows]
    total = sum(lengths)
    positions = [(row, n) if is_batch else (n,) for row, length in enumerate(lengths) for n in range(length)]
    indices = xp.array(positions, int64.np_dtype).reshape(total, 2 if is_batch else 1)
    values = kernels.filled(xp, chain.from_iterable([row or () for row in rows]), (total,), column.dtype.np_dtype)
    shape = [len(rows), max(lengths, default=0)] if is_batch else lengths
    return [indices, values, xp.array(shape, int64.np_dtype)]


_SHAPED = {"fixed": _fixed, "steps": _steps, "sparse": _sparse}


def _batch_of(column: Column, batch: Any) -> list[Any]:
    """Returns the shapes of a feature's tensors for a batch shape, which is None if its rank is unknown."""
    if column.layout == "sparse":
        rank = None if batch is None else len(batch) + 1
        return [(None, rank), (None,), (rank,)]
    steps = (None,) if column.layout == "steps" else ()
    return [None if batch is None else (*batch, *steps, *column.shape)]


@ParseExampleV2.infer
def _(serialized: Spec, columns: Sequence[Column], **attrs: Any) -> list[Spec]:
    specs: list[Spec] = []
    for column in columns:
        pairs = zip(_batch_of(column, serialized.shape), _dtypes_of(column), strict=True)
        specs += [Spec(shape, dtype) for shape, dtype in pairs]
    return specs


no_gradient(ParseExampleV2)


def parse_example(
    serialized: TensorLike, features: Mapping[str, Any], example_names: Any = None, name: str | None = None
) -> dict[str, Any]:
    """Returns the features of serialized `tf.train.Example` messages.

    Args:
      serialized: a vector of strings, or a single string.
      features: the features to read, by name: `FixedLenFeature`, `VarLenFeature`, `FixedLenSequenceFeature` or
        `SparseFeature`.
      example_names: names of the examples for error messages; none by default.
      name: accepted and ignored.

    Returns:
      Tensors by name; sparse tensors for `VarLenFeature` and `SparseFeature`.

    Raises:
      ValueError: if `features` is empty, or a feature's class is unknown.
      InvalidArgumentError: if an example lacks a feature, or a feature's values do not fit.

    >>> feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[1, 2]))
    >>> data = tf.train.Example(features=tf.train.Features(feature={"a": feature})).SerializeToString()
    >>> tf.io.parse_example([data, data], {"a": tf.io.FixedLenFeature([2], tf.int64)})["a"].numpy()
    array([[1, 2],
           [1, 2]])
    """
    if not features:
        raise ValueError(f"Argument `features` cannot be None or falsy. Got {features}")
    columns = _columns_of(features)
    names = () if example_names is None else CPU.xp.ravel(read_default(example_names, string)[0]).tolist()
    texts = as_tensor(serialized, string)
    out_types = [dtype for column in columns for dtype in _dtypes_of(column)]
    outputs = iter(ParseExampleV2(texts, columns=columns, names=names, out_types=out_types, name=name))
    tensors: dict[str, Any] = {}
    for column in columns:
        if column.layout == "sparse":
            tensors[column.key] = SparseTensor(next(outputs), next(outputs), next(outputs))
        else:
            tensors[column.key] = next(outputs)
    return {key: _joined(tensors, key, features[key]) for key in sorted(features)}


def _dtypes_of(column: Column) -> tuple[DType, ...]:
    return (int64, column.dtype, int64) if column.layout == "sparse" else (column.dtype,)


def _columns_of(features: Mapping[str, Any]) -> list[Column]:
    """Returns the features that the op reads, each once."""
    columns: dict[str, Column] = {}
    for key in sorted(features):
        feature = features[key]
        if isinstance(feature, SparseFeature):
            for index_key in _listed(feature.index_key):
                columns[index_key] = Column(index_key, int64, (), "sparse")
            columns[feature.value_key] = Column(feature.value_key, _checked(feature.dtype), (), "sparse")
        else:
            columns[key] = _column(key, feature)
    return list(columns.values())


def _column(key: str, feature: Any) -> Column:
    if isinstance(feature, VarLenFeature):
        return Column(key, _checked(feature.dtype), (), "sparse")
    if isinstance(feature, FixedLenSequenceFeature):
        if not feature.allow_missing:
            raise ValueError("Unsupported: FixedLenSequenceFeature requires allow_missing to be True.")
        dtype, empty = _checked(feature.dtype), b"" if feature.dtype == string else 0
        default = empty if feature.default_value is None else read_default(feature.default_value, dtype)[0].item()
        steps: Any = TensorShape(feature.shape)
        return Column(key, dtype, tuple(steps.as_list()), "steps", default)
    if not isinstance(feature, FixedLenFeature):
        raise ValueError(f"Unsupported {type(feature).__name__} {feature} for key '{key}'")
    shape: Any = TensorShape(feature.shape)
    if not shape.is_fully_defined():
        raise ValueError(
            f"First dimension of shape for feature {key} unknown. Consider using FixedLenSequenceFeature. "
            f"Received feature={feature}."
        )
    dtype, default = _checked(feature.dtype), None
    if feature.default_value is not None:
        default = tuple(CPU.xp.ravel(read_default(feature.default_value, dtype)[0]).tolist())
        if len(default) != prod(shape.as_list()):
            raise InvalidArgumentError(
                f"Input to reshape is a tensor with {len(default)} values, but the requested shape has "
                f"{prod(shape.as_list())}"
            )
    return Column(key, dtype, tuple(shape.as_list()), "fixed", default)


def _checked(dtype: Any) -> DType:
    if as_dtype(dtype) not in _LISTS:
        raise InvalidArgumentError(
            f"Value for attr 'Tdense' of {as_dtype(dtype).c_name} is not in the list of allowed values: float, int64, "
            "string"
        )
    return as_dtype(dtype)


def _listed(keys: Any) -> list[Any]:
    return [keys] if isinstance(keys, str | int) else list(keys)


def _joined(tensors: dict[str, Any], key: str, feature: Any) -> Any:
    """Returns the tensor of a feature; for a `SparseFeature`, builds it from several tensors."""
    if not isinstance(feature, SparseFeature):
        return tensors[key]
    values = tensors[feature.value_key]
    sizes = [as_tensor(size, int64) for size in _listed(feature.size)]
    leading = values.indices[:, :-1]
    axes = [expand_dims(tensors[index_key].values, 1) for index_key in _listed(feature.index_key)]
    indices = concat([leading, *axes], 1)
    shape = concat([values.dense_shape[:-1], stack(sizes)], 0)
    result = SparseTensor(indices, values.values, shape)
    return result if feature.already_sorted else reorder(result)


def parse_single_example(
    serialized: TensorLike, features: Mapping[str, Any], example_names: Any = None, name: str | None = None
) -> dict[str, Any]:
    """Returns the features of one serialized `tf.train.Example`.

    Args:
      serialized: the bytes, a scalar string.
      features: the features to read, by name; see `parse_example`.
      example_names: name of the example for error messages; none by default.
      name: accepted and ignored.

    Returns:
      Tensors by name.

    Raises:
      ValueError: if `serialized` is not a scalar, or `features` is empty.
      InvalidArgumentError: if the example lacks a feature, or a feature's values do not fit.

    >>> feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[1, 2]))
    >>> data = tf.train.Example(features=tf.train.Features(feature={"a": feature})).SerializeToString()
    >>> tf.io.parse_single_example(data, {"a": tf.io.FixedLenFeature([2], tf.int64)})["a"].numpy()
    array([1, 2])
    """
    text = as_tensor(serialized, string)
    if text.shape.rank not in (0, None):
        raise ValueError("Input serialized must be a scalar")
    return parse_example(text, features, example_names, name)
