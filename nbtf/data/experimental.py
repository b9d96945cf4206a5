"""`tf.data.experimental`: functions that later became dataset methods, and names of options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nbtf._public import public_names as _public_names
from nbtf._runtime.arguments import check_has
from nbtf._runtime.tensor import Tensor
from nbtf._types import DTypeLike, int64
from nbtf.data.batching import Listed
from nbtf.data.dataset import Dataset
from nbtf.data.elements import as_element, on_host
from nbtf.data.iterators import Iterator
from nbtf.data.iterators import Optional as Optional
from nbtf.data.options import AutoShardPolicy as AutoShardPolicy
from nbtf.data.options import AutotuneAlgorithm as AutotuneAlgorithm
from nbtf.data.options import AutotuneOptions as AutotuneOptions
from nbtf.data.options import DistributeOptions as DistributeOptions
from nbtf.data.options import ExternalStatePolicy as ExternalStatePolicy
from nbtf.data.options import OptimizationOptions as OptimizationOptions
from nbtf.data.options import ThreadingOptions as ThreadingOptions
from nbtf.data.prefetch import CopiedTo
from nbtf.data.selections import Counted

AUTOTUNE = -1
INFINITE_CARDINALITY = -1
UNKNOWN_CARDINALITY = -2

_Transformation = Callable[[Dataset], Any]


def cardinality(dataset: Dataset) -> Tensor:
    """Returns the number of elements of a dataset; see `Dataset.cardinality`."""
    return check_has(dataset, "cardinality", "dataset", "a dataset").cardinality()


def assert_cardinality(expected_cardinality: int) -> _Transformation:
    """Returns a function for `Dataset.apply` that asserts the number of elements.

    Args:
      expected_cardinality: the number of elements; a pass with another number raises a FailedPreconditionError.

    >>> odd = tf.data.Dataset.range(6).filter(lambda x: x % 2 == 1)
    >>> len(odd.apply(tf.data.experimental.assert_cardinality(3)))
    3
    """
    return lambda dataset: Dataset._of(Counted(dataset._stage, int(expected_cardinality)))


def get_single_element(dataset: Dataset) -> Any:
    """Returns the only element of a dataset; see `Dataset.get_single_element`."""
    return check_has(dataset, "get_single_element", "dataset", "a dataset").get_single_element()


def get_next_as_optional(iterator: Iterator) -> Optional:
    """Returns the next element of an iterator in an optional."""
    return check_has(iterator, "get_next_as_optional", "iterator", "an iterator").get_next_as_optional()


def unbatch() -> _Transformation:
    """Returns a function for `Dataset.apply`; see `Dataset.unbatch`."""
    return lambda dataset: dataset.unbatch()


def unique() -> _Transformation:
    """Returns a function for `Dataset.apply`; see `Dataset.unique`."""
    return lambda dataset: dataset.unique()


def ignore_errors(log_warning: bool = False) -> _Transformation:
    """Returns a function for `Dataset.apply`; see `Dataset.ignore_errors`."""
    return lambda dataset: dataset.ignore_errors(log_warning)


def enumerate_dataset(start: int = 0) -> _Transformation:
    """Returns a function for `Dataset.apply`; see `Dataset.enumerate`."""
    return lambda dataset: dataset.enumerate(start)


def scan(initial_state: Any, scan_func: Callable[..., Any]) -> _Transformation:
    """Returns a function for `Dataset.apply`; see `Dataset.scan`."""
    return lambda dataset: dataset.scan(initial_state, scan_func)


def take_while(predicate: Callable[..., Any]) -> _Transformation:
    """Returns a function for `Dataset.apply`; see `Dataset.take_while`."""
    return lambda dataset: dataset.take_while(predicate)


def dense_to_ragged_batch(
    batch_size: int, drop_remainder: bool = False, row_splits_dtype: DTypeLike = int64
) -> _Transformation:
    """Returns a function for `Dataset.apply`; see `Dataset.ragged_batch`."""
    return lambda dataset: dataset.ragged_batch(batch_size, drop_remainder, row_splits_dtype)


def group_by_window(
    key_func: Callable[..., Any],
    reduce_func: Callable[..., Any],
    window_size: int | None = None,
    window_size_func: Callable[..., Any] | None = None,
) -> _Transformation:
    """Returns a function for `Dataset.apply`; see `Dataset.group_by_window`."""
    return lambda dataset: dataset.group_by_window(key_func, reduce_func, window_size, window_size_func)


def shuffle_and_repeat(buffer_size: int, count: int | None = None, seed: int | None = None) -> _Transformation:
    """Returns a function for `Dataset.apply`: `shuffle`, then `repeat`."""
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: int,
    num_parallel_batches: int | None = None,
    drop_remainder: bool = False,
    num_parallel_calls: int | None = None,
) -> _Transformation:
    """Returns a function for `Dataset.apply`: `map`, then `batch`."""
    return lambda dataset: dataset.map(map_func, num_parallel_calls).batch(batch_size, drop_remainder)


def prefetch_to_device(device: str, buffer_size: int | None = None) -> _Transformation:
    """Returns a function for `Dataset.apply` that copies elements to a device.

    Args:
      device: the target device.
      buffer_size: accepted and ignored; elements are copied on demand.
    """
    return copy_to_device(device)


def copy_to_device(target_device: str, source_device: str = "/cpu:0") -> _Transformation:
    """Returns a function for `Dataset.apply` that copies elements to a device.

    Args:
      target_device: the target device.
      source_device: accepted and ignored; elements are created on the CPU.
    """
    return lambda dataset: Dataset._of(CopiedTo(dataset._stage, target_device))


def from_list(elements: Sequence[Any], name: str | None = None) -> Dataset:
    """Returns a dataset of the elements of a list, all of the same structure.

    >>> list(tf.data.experimental.from_list([(1, "a"), (2, "b")]).as_numpy_iterator())
    [(np.int32(1), b'a'), (np.int32(2), b'b')]
    """
    if not isinstance(elements, list):
        raise TypeError("`elements` must be a list.")
    if not elements:
        raise ValueError("`elements` must be non-empty.")
    stage = Listed([on_host(as_element, element) for element in elements])
    stage.class_name = "_ListDataset"
    return Dataset._of(stage)


def Counter(start: Any = 0, step: Any = 1, dtype: DTypeLike = int64) -> Dataset:  # noqa: N802  # TensorFlow's name
    """Returns an infinite dataset that counts; see `Dataset.counter`."""
    return Dataset.counter(start, step, dtype)


choose_from_datasets: Callable[..., Any] = Dataset.choose_from_datasets
sample_from_datasets: Callable[..., Any] = Dataset.sample_from_datasets
RandomDataset: Callable[..., Any] = Dataset.random


def __dir__() -> list[str]:
    return _public_names(__name__)
