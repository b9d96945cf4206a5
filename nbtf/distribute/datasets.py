"""How a dataset reaches the replicas: each batch is split, or each goes to one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from nbtf._ops.arrays.creation import zeros_like
from nbtf._ops.arrays.identity import identity
from nbtf._runtime.arguments import check_has
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.device import device
from nbtf._runtime.phases import INPUT, during
from nbtf.distribute.values import mapped, regrouped
from nbtf.errors import OutOfRangeError

if TYPE_CHECKING:
    from nbtf.data.iterators import Optional


class InputContext:
    """What a function is told that makes a dataset for the replicas.

    >>> tf.distribute.InputContext(num_replicas_in_sync=4).get_per_replica_batch_size(64)
    16
    """

    def __init__(self, num_input_pipelines: int = 1, input_pipeline_id: int = 0, num_replicas_in_sync: int = 1) -> None:
        """Takes how many datasets there are, which one this is, and how many replicas it is for."""
        self.num_input_pipelines: int = num_input_pipelines
        self.input_pipeline_id: int = input_pipeline_id
        self.num_replicas_in_sync = num_replicas_in_sync

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """Returns the size of a batch for one replica.

        Raises:
          ValueError: the replicas cannot share `global_batch_size` equally.
        """
        if global_batch_size % self.num_replicas_in_sync:
            raise ValueError(
                f"The `global_batch_size` {global_batch_size} is not divisible by `num_replicas_in_sync` "
                f"{self.num_replicas_in_sync} "
            )
        return global_batch_size // self.num_replicas_in_sync


class PerReplicaSpec:
    """What the replicas' parts of an element look like."""

    def __init__(self, *specs: Any) -> None:
        """Takes a spec for each replica."""
        self._specs = specs

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Tells whether the values of all replicas look like this."""
        values = spec_or_value._specs if isinstance(spec_or_value, PerReplicaSpec) else spec_or_value.values
        pairs = zip(self._specs, values, strict=False)
        return len(values) == len(self._specs) and all(spec.is_compatible_with(value) for spec, value in pairs)

    def __repr__(self) -> str:
        """Lists the specs."""
        return f"PerReplicaSpec({', '.join(map(repr, self._specs))})"


class DistributedDataset:
    """A dataset whose batches are split among replicas; each loop over it starts anew."""

    def __init__(self, dataset: Any, devices: Sequence[str]) -> None:
        """Takes a dataset of global batches and the replicas' devices."""
        self._dataset, self._devices = dataset, tuple(devices)
        self.element_spec: Any = self._spec(check_has(dataset, "element_spec", "dataset", "a dataset").element_spec)

    @property
    def cardinality(self) -> Any:
        """How many elements there are, where that is known."""
        return self._dataset.cardinality()

    def _spec(self, spec: Any) -> Any:
        from nbtf._shapes import TensorSpec

        if len(self._devices) == 1:
            return spec

        def distribute_spec(spec: Any) -> Any:
            has_rows = isinstance(spec, TensorSpec) and spec.shape.rank
            replica_spec = TensorSpec((None, *spec.shape[1:]), spec.dtype) if has_rows else spec
            return PerReplicaSpec(*(replica_spec for _ in self._devices))

        return mapped(distribute_spec, spec)

    def __iter__(self) -> DistributedIterator:
        """Starts from the beginning."""
        return DistributedIterator(self._elements(), self.element_spec)

    def _elements(self) -> Iterator[Any]:
        for batch in self._dataset:
            yield regrouped(
                [self._put_on_device(self._take_rows(batch, number), number) for number in range(len(self._devices))]
            )

    def _take_rows(self, batch: Any, number: int) -> Any:
        return mapped(partial(part_of, number, len(self._devices)), batch)

    def _put_on_device(self, rows: Any, number: int) -> Any:
        with device(self._devices[number]):
            return mapped(identity, rows)


class _Dealt(DistributedDataset):
    """A dataset whose batches go to one replica after another."""

    def _spec(self, spec: Any) -> Any:
        return spec if len(self._devices) == 1 else mapped(self._each, spec)

    def _each(self, spec: Any) -> PerReplicaSpec:
        return PerReplicaSpec(*(spec for _ in self._devices))

    def _elements(self) -> Iterator[Any]:
        batches = iter(self._dataset)
        while True:
            dealt = [batch for _, batch in zip(self._devices, batches, strict=False)]
            if not dealt:
                return
            if len(dealt) < len(self._devices):
                dealt += [mapped(_nothing_of, dealt[0])] * (len(self._devices) - len(dealt))
            yield regrouped([self._put_on_device(batch, number) for number, batch in enumerate(dealt)])


def _nothing_of(batch: Any) -> Any:
    """Returns no rows; 0 where an element has no rows, as TensorFlow does."""
    tensor = as_tensor(batch)
    return tensor[:0] if tensor._array.ndim else zeros_like(tensor)


class DistributedIterator:
    """Gives the elements of a distributed dataset, one after another."""

    def __init__(self, elements: Iterator[Any], element_spec: Any) -> None:
        """Takes what yields them."""
        self._elements = elements
        self.element_spec: Any = element_spec

    def __iter__(self) -> DistributedIterator:
        """Goes on where it is."""
        return self

    def __next__(self) -> Any:
        """Returns the next element."""
        return _next_of(self._elements)

    def get_next_as_optional(self) -> Optional:
        """Returns the next element in an optional, which is empty after the last one."""
        from nbtf.data.iterators import Optional  # a program without datasets does not load it

        for element in self._elements:
            return Optional(element, self.element_spec, True)
        return Optional(None, self.element_spec, False)

    def get_next(self) -> Any:
        """Returns the next element.

        Raises:
          OutOfRangeError: there is none.
        """
        try:
            return _next_of(self._elements)
        except StopIteration:
            raise OutOfRangeError("End of sequence") from None


@during(INPUT)
def _next_of(elements: Iterator[Any]) -> Any:
    return next(elements)


def part_of(number: int, replicas: int, batch: Any) -> Any:
    """Returns a replica's rows of a batch; what has no rows is for all."""
    tensor = as_tensor(batch)
    if replicas == 1 or not tensor.shape.rank:
        return tensor
    size = -(-tensor.shape[0] // replicas)
    with device("/CPU:0"):
        return tensor[number * size : (number + 1) * size]


def of_function(dataset_fn: Callable[[InputContext], Any], devices: Sequence[str]) -> DistributedDataset:
    """Returns the dataset that a function makes for all replicas of this computer."""
    return _Dealt(dataset_fn(InputContext(num_replicas_in_sync=len(devices))), devices)
