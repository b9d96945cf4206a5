"""Sources of elements: arrays, numbers, generators and files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from nbtf._graph.handles import CompositeSpec
from nbtf._ops.ragged_and_sparse.ragged import RaggedTensor
from nbtf._ops.structure import flatten
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import TensorSpec
from nbtf._storage import records
from nbtf._storage.reading import open_bytes
from nbtf._types import DType, int64, string
from nbtf.data.elements import (
    as_element,
    at_next,
    is_mapping,
    is_sequence,
    is_tuple,
    leaves,
    on_host,
    packer,
    tensor_on_host,
    wrap_message,
)
from nbtf.data.selections import random_words, seed_pair
from nbtf.data.specs import row_of, spec_of
from nbtf.data.stage import INFINITE, UNKNOWN, Columns, Stage
from nbtf.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    UnimplementedError,
    UnknownError,
)


class Slices(Stage, op="TensorSliceDataset"):
    """The rows of arrays of equal length."""

    def __init__(self, tensors: Any) -> None:
        """Stores a structure of arrays.

        Raises:
          ValueError: if the structure is empty, an array has no rows, or the lengths differ.
        """
        element = on_host(as_element, tensors)
        columns = leaves(element)
        if not columns or element is None:
            raise ValueError("Invalid `element`. `element` should not be empty.")
        if any(leaf.shape.rank == 0 for leaf in columns):
            raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        for leaf in columns:
            if not isinstance(leaf, Tensor | RaggedTensor):
                text = f"Cannot slice a {type(leaf).__name__}. Convert it to a dense tensor first."
                raise UnimplementedError(text)
        lengths = [int(leaf.shape[0]) for leaf in columns]
        for length in lengths[1:]:
            if length != lengths[0]:
                raise ValueError(f"Dimensions {lengths[0]} and {length} are not compatible")
        self.columns = Columns(element)
        self.span: range | None = range(lengths[0])
        self._length = lengths[0]
        self.spec: Any = row_of(spec_of(element))

    def cardinality(self) -> int:
        """Returns the number of rows."""
        return self._length

    def picks(self) -> Iterator[int]:
        """Starts a pass over the row numbers."""
        return iter(range(self._length))

    def start(self) -> Iterator[Any]:
        """Starts a pass over the rows."""
        assert self.columns is not None
        return map(self.columns.row, range(self._length))


class Whole(Stage, op="TensorDataset"):
    """A single element."""

    def __init__(self, tensors: Any) -> None:
        """Stores the element.

        Raises:
          InvalidArgumentError: if it is an empty structure.
        """
        self._element = on_host(as_element, tensors)
        if tensors is None or not leaves(self._element):
            raise InvalidArgumentError(
                "Length for attr 'Toutput_types' of 0 must be at least minimum 1 [Op:TensorDataset] name: "
            )
        self.spec: Any = spec_of(self._element)

    def cardinality(self) -> int:
        """Returns 1."""
        return 1

    def start(self) -> Iterator[Any]:
        """Starts a pass."""
        return iter((self._element,))


class _Steps:
    """Evenly spaced numbers, computed on demand without an array."""

    def __init__(self, first: int, step: int, dtype: DType) -> None:
        self._first, self._step, self._dtype = first, step, dtype

    def row(self, number: int) -> Tensor:
        """Returns one number."""
        return tensor_on_host(np.array(self._first + self._step * number, self._dtype.np_dtype), self._dtype)

    def rows(self, numbers: Sequence[int]) -> Tensor:
        """Returns several numbers."""
        values = np.array(numbers, np.int64) * self._step + self._first
        return tensor_on_host(values.astype(self._dtype.np_dtype, copy=False), self._dtype)


class Numbers(Stage, op="RangeDataset", constants=3):
    """Numbers from a first one up to, but not including, a last one."""

    def __init__(self, start: int, stop: int | None, step: int, dtype: DType) -> None:
        """Stores the bounds and the step; a `stop` of None means that the numbers never end.

        Raises:
          InvalidArgumentError: if the step is 0.
        """
        if step == 0 and stop is not None:
            raise InvalidArgumentError(wrap_message(self.op, "step must be a non-zero integer."))
        self._range = None if stop is None else range(start, stop, step)
        self.columns = _Steps(start, step, dtype)
        self.span: range | None = None if stop is None else range(len(range(start, stop, step)))
        self.spec: Any = TensorSpec((), dtype)
        if stop is None:
            self.class_name: str = "_ScanDataset"

    def cardinality(self) -> int:
        """Returns the number of elements."""
        return INFINITE if self._range is None else len(self._range)

    def picks(self) -> Iterator[int]:
        """Starts a pass over the row numbers."""
        return iter(range(2**63 if self._range is None else len(self._range)))

    def start(self) -> Iterator[Any]:
        """Starts a pass."""
        assert self.columns is not None
        return map(self.columns.row, self.picks())


class RandomNumbers(Stage, op="RandomDatasetV2"):
    """An infinite sequence of random 32-bit integers."""

    spec: Any = TensorSpec((), int64)

    def __init__(self, seed: int | None, changes: bool = False) -> None:
        """Stores a seed, and whether each pass has different numbers."""
        self._seed = seed_pair(seed)
        self._passes = random_words(*self._seed) if changes else None

    def cardinality(self) -> int:
        """Returns `INFINITE`."""
        return INFINITE

    def start(self) -> Iterator[Any]:
        """Starts a pass."""
        pair = self._seed if self._passes is None else (next(self._passes), next(self._passes))
        return (tensor_on_host(np.array(word, np.int64), int64) for word in random_words(*pair))


class Generated(Stage, op="FlatMapDataset"):
    """The values that the user's generator yields."""

    def __init__(self, generator: Callable[..., Any], args: Sequence[Any], spec: Any) -> None:
        """Stores a function that returns an iterable, its arguments, and the spec of an element."""
        self._generator = generator
        self._args = [on_host(as_tensor, arg) for arg in args]
        self.spec = spec
        self._specs = flatten(spec)
        self._pack = packer(spec)

    def start(self) -> Iterator[Any]:
        """Starts a generator."""
        source: Any = self._call(lambda: iter(self._generator(*(arg.numpy() for arg in self._args))))
        nothing = object()
        while (value := self._call(lambda: next(source, nothing))) is not nothing:
            yield self._element(value)

    def _call(self, function: Callable[[], Any]) -> Any:
        try:
            return on_host(function)
        except OpError:
            raise
        except Exception as error:
            error_class = InvalidArgumentError if isinstance(error, TypeError | ValueError) else UnknownError
            raise at_next(error_class, f"{type(error).__name__}: {error}") from error

    def _element(self, value: Any) -> Any:
        if is_tuple(self.spec) and value.__class__ is list:
            value = tuple(value)
        values = _taken_apart(self.spec, value)
        if values is None:
            expected = str(_dtypes(self.spec)).replace("<dtype: '", "tf.").replace("'>", "")
            raise _refuse_value(
                f"an element that did not match the expected structure. The expected structure was {expected}, but "
                f"the yielded element was {value}."
            )
        return self._pack([_as_specified(component, spec) for component, spec in zip(values, self._specs, strict=True)])


def _dtypes(spec: Any) -> Any:
    if is_tuple(spec):
        return tuple(_dtypes(component) for component in spec)
    if is_mapping(spec):
        return {key: _dtypes(component) for key, component in spec.items()}
    return spec.dtype


def _taken_apart(spec: Any, value: Any) -> list[Any] | None:
    """Returns the values at the leaves of a structure; None if the value has another structure."""
    if is_tuple(spec):
        if not is_sequence(value) or len(value) != len(spec):
            return None
        pairs = zip(spec, value, strict=True)
    elif is_mapping(spec):
        if not is_mapping(value) or value.keys() != spec.keys():
            return None
        pairs = ((spec[key], value[key]) for key in sorted(spec))
    else:
        return [value]
    values: list[Any] = []
    for component, inner_value in pairs:
        inner = _taken_apart(component, inner_value)
        if inner is None:
            return None
        values += inner
    return values


def _as_specified(value: Any, spec: Any) -> Any:
    if isinstance(spec, CompositeSpec):
        return value
    if value.__class__ is Tensor:
        tensor = as_element(value)
        if tensor.dtype is not spec.dtype:
            raise _not_convertible(spec, value)
    else:
        tensor = _convert_value(value, spec)
    if not spec.shape.is_compatible_with(tensor.shape):
        raise _refuse_value(f"an element of shape {tensor.shape} where an element of shape {spec.shape} was expected.")
    return tensor


def _convert_value(value: Any, spec: TensorSpec) -> Tensor:
    try:
        if spec.dtype is string:
            return on_host(as_tensor, value, string)
        return tensor_on_host(np.array(value, spec.dtype.np_dtype), spec.dtype)
    except (TypeError, ValueError) as error:
        raise _not_convertible(spec, value) from error


def _not_convertible(spec: TensorSpec, value: Any) -> OpError:
    return _refuse_value(
        "an element that could not be converted to the expected type. The expected type was "
        f"{spec.dtype.name}, but the yielded element was {value}."
    )


def _refuse_value(text: str) -> OpError:
    return at_next(InvalidArgumentError, f"TypeError: `generator` yielded {text}")


class Lines(Stage, op="TextLineDataset", class_name="TextLineDatasetV2"):
    """The lines of text files as bytes, without line endings."""

    spec: Any = TensorSpec((), string)

    def __init__(self, filenames: Any) -> None:
        """Stores one name, or a list or tensor of names."""
        names = on_host(as_tensor, filenames, None if isinstance(filenames, Tensor) else string).numpy()
        self._names: list[bytes] = np.atleast_1d(np.asarray(names, dtype=object)).reshape(-1).tolist()

    def cardinality(self) -> int:
        """Returns `UNKNOWN`, because the number is not known before reading."""
        return UNKNOWN

    def start(self) -> Iterator[Any]:
        """Opens the files, one after another."""
        for name in self._names:
            path = name.decode()
            try:
                file = open_bytes(path)  # closed below; only errors of opening become NotFoundError
            except OSError as error:
                error_class = NotFoundError if isinstance(error, FileNotFoundError) else FailedPreconditionError
                raise at_next(error_class, f"{path}; {error.strerror}") from error
            with file:
                for line in file:
                    yield _text(line.removesuffix(b"\n").removesuffix(b"\r"))


class Records(Stage, op="TFRecordDataset", class_name="TFRecordDatasetV2"):
    """The records of files, in order."""

    spec: Any = TensorSpec((), string)

    def __init__(self, filenames: Any, compression: str) -> None:
        """Stores one name, or a list or tensor of names, and the files' compression."""
        names = on_host(as_tensor, filenames, None if isinstance(filenames, Tensor) else string).numpy()
        self._names: list[bytes] = np.atleast_1d(np.asarray(names, dtype=object)).reshape(-1).tolist()
        self._compression = compression

    def cardinality(self) -> int:
        """Returns `UNKNOWN`, because the number is not known before reading."""
        return UNKNOWN

    def start(self) -> Iterator[Any]:
        """Opens the files, one after another."""
        for name in self._names:
            try:
                yield from map(_text, records.read(name.decode(), self._compression))
            except OpError as error:
                raise at_next(type(error), str(error)) from error


def _text(value: bytes) -> Tensor:
    array = np.empty((), object)
    array[()] = value
    return tensor_on_host(array, string)
