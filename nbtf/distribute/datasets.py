"""How does a dataset reach the replicas? Each batch is split, or each batch goes to one replica."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from nbtf._graph.handles import CompositeSpec, function_graph, handle_of, object_of, stand_in, tensor_like
from nbtf._graph.iteration import PYTHON_LOOP, Cursor, ElementIterator, Incomplete
from nbtf._graph.signature import tensors_taken
from nbtf._ops.arrays.creation import zeros_like
from nbtf._ops.arrays.identity import identity
from nbtf._ops.ragged_and_sparse.ragged import RaggedTensor
from nbtf._ops.structure import flatten
from nbtf._runtime.arguments import check_has
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.device import placed
from nbtf._runtime.placement import STRATEGY_INPUT
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import TypeSpec
from nbtf._types import variant
from nbtf.distribute.options import InputOptions
from nbtf.distribute.reduction import CPU
from nbtf.distribute.values import PerReplica, mapped, regrouped
from nbtf.errors import OperatorNotAllowedInGraphError, OpError, OutOfRangeError


class InputContext:
    """Describes the replicas to a function that creates a dataset for them.

    >>> tf.distribute.InputContext(num_replicas_in_sync=4).get_per_replica_batch_size(64)
    16
    """

    def __init__(self, num_input_pipelines: int = 1, input_pipeline_id: int = 0, num_replicas_in_sync: int = 1) -> None:
        """Creates it from the number of datasets, the number of this one, and the number of replicas."""
        self.num_input_pipelines: int = num_input_pipelines
        self.input_pipeline_id: int = input_pipeline_id
        self.num_replicas_in_sync = num_replicas_in_sync

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """Returns the batch size of one replica.

        Raises:
          ValueError: if `global_batch_size` is not divisible by the number of replicas.
        """
        if global_batch_size % self.num_replicas_in_sync:
            raise ValueError(
                f"The `global_batch_size` {global_batch_size} is not divisible by `num_replicas_in_sync` "
                f"{self.num_replicas_in_sync} "
            )
        return global_batch_size // self.num_replicas_in_sync


class PerReplicaSpec(TypeSpec):
    """The specs of the replicas' parts of an element."""

    def __init__(self, *specs: Any) -> None:
        """Creates it from one spec per replica."""
        self._specs = specs

    @property
    def value_type(self) -> type[PerReplica]:
        """The class of the described values."""
        return PerReplica

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Returns whether the values of all replicas match the specs."""
        values = getattr(spec_or_value, "_specs", None) or getattr(spec_or_value, "_values", ())
        pairs = zip(self._specs, values, strict=False)
        return len(values) == len(self._specs) and all(spec.is_compatible_with(value) for spec, value in pairs)

    def _stand_in(self) -> PerReplica:
        return PerReplica([stand_in(spec) for spec in self._specs])

    def __eq__(self, other: object) -> bool:
        """Returns whether the specs of all replicas are equal."""
        return isinstance(other, PerReplicaSpec) and self._specs == other._specs

    def __hash__(self) -> int:
        """Returns the hash of the specs."""
        return hash(self._specs)

    def __repr__(self) -> str:
        """Returns the specs as text."""
        return f"PerReplicaSpec({', '.join(map(repr, self._specs))})"


class _Shares:
    """The elements of a dataset of global batches, each split among the replicas."""

    def __init__(self, dataset: Any, devices: Sequence[str], options: InputOptions | None = None) -> None:
        """Stores a dataset and the devices of the replicas."""
        self.dataset = dataset
        stays_on_host = options is not None and not options.experimental_fetch_to_device
        self.devices = (CPU,) * len(devices) if stays_on_host else tuple(devices)
        spec = check_has(dataset, "element_spec", "dataset", "a dataset").element_spec
        self.spec: Any = spec if len(self.devices) == 1 else mapped(self._distributed_spec, spec)

    def __iter__(self) -> Cursor:
        """Starts a pass, which ends with the last row."""
        return Cursor(self)

    def start(self) -> Iterator[Any]:
        """Returns the elements from the beginning."""
        for batch in self.dataset:
            yield self._joined([self._take_rows(batch, number) for number in range(len(self.devices))])

    def _joined(self, shares: Sequence[Any]) -> Any:
        """Returns the parts of an element, each on the device of its replica."""
        element: list[Any] = []
        for device_name, share in zip(self.devices, shares, strict=True):
            with placed(device_name, STRATEGY_INPUT):
                element.append(mapped(_passed_on, share))
        return regrouped(element)

    def _distributed_spec(self, spec: Any) -> PerReplicaSpec:
        """Returns the spec of a split batch; the number of rows is known if all replicas get equally many."""
        if getattr(spec, "shape", None) is not None and spec.shape.rank:
            rows = spec.shape[0]
            share = None if rows is None or rows % len(self.devices) else rows // len(self.devices)
            ragged_traits = (spec.ragged_rank, spec.row_splits_dtype) if hasattr(spec, "ragged_rank") else ()
            spec = spec.__class__((share, *spec.shape[1:]), spec.dtype, *ragged_traits)
        return PerReplicaSpec(*[spec for _ in self.devices])

    def _take_rows(self, batch: Any, number: int) -> Any:
        return mapped(partial(part_of, number, len(self.devices)), batch)


class _Dealt(_Shares):
    """The elements of a dataset whose batches go to one replica after another."""

    def start(self) -> Iterator[Any]:
        """Returns the elements from the beginning; a replica without a batch gets one without rows."""
        batches = iter(self.dataset)
        shapes = [getattr(leaf, "shape", None) for leaf in flatten(self.dataset.element_spec)]
        has_fixed_shape = all([shape is not None and shape.is_fully_defined() for shape in shapes])
        while dealt := [batch for _, batch in zip(self.devices, batches, strict=False)]:
            missing = len(self.devices) - len(dealt)
            element = self._joined(dealt + [mapped(_nothing_of, dealt[0])] * missing)
            yield Incomplete(element) if missing and has_fixed_shape else element

    def _distributed_spec(self, spec: Any) -> PerReplicaSpec:
        return PerReplicaSpec(*[spec for _ in self.devices])


class _OfReplicas(_Dealt):
    """The elements of several datasets, one for each replica."""

    def __init__(self, datasets: Sequence[Any], devices: Sequence[str], options: InputOptions | None) -> None:
        """Stores a dataset and a device for each replica."""
        super().__init__(datasets[0], devices, options)
        self._datasets = datasets

    def start(self) -> Iterator[Any]:
        """Returns the elements until one of the datasets ends."""
        for batches in zip(*self._datasets, strict=False):
            yield self._joined(batches)


class DistributedIterator(ElementIterator):
    """Yields the elements of a distributed dataset."""

    __slots__ = ()

    _noun = "tf.distribute.DistributedIterator"

    def _at_end(self) -> OpError:
        from nbtf.data.elements import at_next  # imported late: a program without datasets does not load it

        return at_next(OutOfRangeError, "End of sequence")

    def _optional_class(self) -> Any:
        from nbtf.data.iterators import Optional

        return Optional


_STAGE = "made by tf.distribute.Strategy.experimental_distribute_dataset or distribute_datasets_from_function"


class DistributedDataset:
    """A dataset whose batches are split among replicas; each loop over it starts from the beginning."""

    _iterator_class = DistributedIterator

    def __init__(self, stage: Any) -> None:
        """Stores a stage that starts passes over the elements."""
        self._stage: Any = check_has(stage, "spec", "stage", _STAGE)
        self.element_spec: Any = stage.spec
        self._held: Any = None

    @property
    def cardinality(self) -> Any:
        """The number of elements, if it is known."""
        return self._stage.dataset.cardinality()

    @property
    def _handle(self) -> Any:
        if self._held is None:
            self._held = handle_of(self._stage)
        return self._held

    @property
    def _type_spec(self) -> DistributedDatasetSpec:
        return DistributedDatasetSpec(self.element_spec)

    def _taken_apart(self) -> tuple[DistributedDatasetSpec, Sequence[Any]]:
        return self._type_spec, [self._handle]

    def __iter__(self) -> DistributedIterator:
        """Starts from the beginning.

        Raises:
          OperatorNotAllowedInGraphError: if a function is being traced, where Python cannot count the elements.
        """
        if function_graph() is not None:
            raise OperatorNotAllowedInGraphError(PYTHON_LOOP.format("tf.distribute.DistributedDataset"))
        return DistributedIterator(self._stage)


class DistributedDatasetSpec(CompositeSpec):
    """The spec of an argument that is a distributed dataset with elements of a given spec."""

    def __init__(self, element_spec: Any) -> None:
        """Stores the structure of the elements."""
        self.element_spec: Any = element_spec

    @property
    def value_type(self) -> type[DistributedDataset]:
        """The class of the described values."""
        return DistributedDataset

    def _stand_in(self) -> DistributedDataset:
        return self._put_together([tensor_like((), variant)])

    def _put_together(self, items: Sequence[Any]) -> DistributedDataset:
        dataset = DistributedDataset.__new__(DistributedDataset)
        dataset._stage = object_of(items[0]) if items[0].__class__ is Tensor else None
        dataset._held, dataset.element_spec = items[0], self.element_spec
        return dataset

    def __repr__(self) -> str:
        """`DistributedDatasetSpec(PerReplicaSpec(...),)`."""
        return f"DistributedDatasetSpec({self.element_spec!r},)"


def _passed_on(value: Any) -> Any:
    """Returns a tensor, or a structure of several, on the current device."""
    tensors: list[Any] = []
    put_together = tensors_taken(value, tensors)
    return put_together(iter([identity(tensor) for tensor in tensors]))


def _nothing_of(batch: Any) -> Any:
    """Returns a batch without rows; 0 for an element without rows, as TensorFlow does."""
    if isinstance(batch, RaggedTensor):
        return batch[:0]
    tensor = as_tensor(batch)
    return tensor[:0] if tensor._array.ndim else zeros_like(tensor)


def part_of(number: int, replicas: int, batch: Any) -> Any:
    """Returns a replica's rows of a batch; values without rows go to every replica."""
    rows = batch if isinstance(batch, RaggedTensor) else as_tensor(batch)
    if replicas == 1 or not rows.shape.rank:
        return rows
    size = -(-rows.shape[0] // replicas)
    with placed("/CPU:0", STRATEGY_INPUT):
        return rows[number * size : (number + 1) * size]


def split_among(dataset: Any, devices: Sequence[str], options: InputOptions | None) -> DistributedDataset:
    """Returns a dataset of global batches as one whose batches are split among replicas.

    Raises:
      NotImplementedError: if the options request a dataset per replica; the message is TensorFlow's.
    """
    if options is not None and options.is_per_replica:
        raise NotImplementedError(
            "InputReplicationMode.PER_REPLICA is only supported in `distribute_datasets_from_function`."
        )
    return DistributedDataset(_Shares(dataset, devices, options))


def of_function(
    dataset_fn: Callable[[InputContext], Any], devices: Sequence[str], options: InputOptions | None
) -> DistributedDataset:
    """Returns the dataset that a function creates for all replicas of this machine, or one dataset per replica."""
    count = len(devices)
    if options is None or not options.is_per_replica:
        return DistributedDataset(_Dealt(dataset_fn(InputContext(num_replicas_in_sync=count)), devices, options))
    datasets = [dataset_fn(InputContext(count, number, count)) for number in range(count)]
    return DistributedDataset(_OfReplicas(datasets, devices, options))
