"""How the values of all replicas become one: which op, on which device, in which order, in how many copies."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

from nbtf._ops.broadcasting import reduce_sum, reshape
from nbtf._ops.division import truediv
from nbtf._ops.elementwise import add_n
from nbtf._ops.identity import identity
from nbtf._ops.indexed_slices import IndexedSlices
from nbtf._ops.joining import concat, split
from nbtf._ops.structure import flatten, pack_sequence_as
from nbtf._runtime.arguments import check_number
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.device import device
from nbtf._runtime.logger import get_logger
from nbtf._runtime.phases import ALL_REDUCE, during
from nbtf._runtime.scopes import SCOPE
from nbtf._runtime.tensor import Tensor
from nbtf.distribute.contexts import ReplicaContext
from nbtf.distribute.values import DistributedValues, Mirrored, mapped

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
_MOST_LINES = 10
"""How often a process tells of its reductions."""


class ReduceOp(Enum):
    """What becomes of the values of all replicas."""

    SUM = "SUM"
    MEAN = "MEAN"

    @staticmethod
    def read(value: ReduceOp | str) -> ReduceOp:
        """Returns the member for a text in any case.

        Raises:
          ValueError: there is none.
        """
        return value if isinstance(value, ReduceOp) else ReduceOp(value.upper())


class CrossDeviceOps:
    """How values are reduced across devices. All kinds give the same bits: values are added in the order of devices.

    `num_packs` says into how many buffers the tensors of one reduction are packed; 0 copies each by itself.
    """

    num_packs = 1
    reduce_to_device: str | None = None

    @during(ALL_REDUCE)
    def all_reduce(
        self, reduce_op: ReduceOp, values: Sequence[Sequence[Any]], devices: Sequence[str]
    ) -> list[list[Any]]:
        """Adds up lists of tensors; each replica gets all sums on its own device.

        Args:
          reduce_op: sum or mean.
          values: for each replica its tensors, or `IndexedSlices`, in the same order.
          devices: of the replicas.

        Returns:
          For each replica its list of results.
        """
        results: list[list[Any]] = [[None] * len(values[0]) for _ in devices]
        for places in self._packs(values[0]):
            parts = [[replica[place] for place in places] for replica in values]
            for number, made in enumerate(self._all_reduce_pack(reduce_op, parts, devices)):
                for place, one in zip(places, made, strict=True):
                    results[number][place] = one
        return results

    def _packs(self, values: Sequence[Any]) -> list[list[int]]:
        """Returns which values travel together: those of one dtype, in `num_packs` parts."""
        packs: dict[Any, list[int]] = {}
        for place, value in enumerate(values):
            alone = not self.num_packs or isinstance(value, IndexedSlices)
            packs.setdefault((place,) if alone else as_tensor(value).dtype, []).append(place)
        return [part for pack in packs.values() for part in _parts(pack, self.num_packs or 1)]

    def _all_reduce_pack(
        self, reduce_op: ReduceOp, parts: Sequence[Sequence[Any]], devices: Sequence[str]
    ) -> list[list[Any]]:
        if isinstance(parts[0][0], IndexedSlices):
            joined = _joined(reduce_op, [part[0] for part in parts], devices[0])
            return [[put_on(one, joined)] for one in devices]
        if len(parts[0]) == 1:
            total = reduced(reduce_op, [part[0] for part in parts], self.reduce_to_device or devices[0])
            return [[on(one, total)] for one in devices]
        flat: list[Tensor] = []
        for part, place in zip(parts, devices, strict=True):
            with device(place):
                flat.append(concat([one if len(one.shape) == 1 else reshape(one, [-1]) for one in part], 0))
        total = reduced(reduce_op, flat, self.reduce_to_device or devices[0])
        shapes = [tensor.shape for tensor in parts[0]]
        return [_unpacked(total, shapes, place) for place in devices]


class ReductionToOneDevice(CrossDeviceOps):
    """Copies everything to one device, adds it up there, and copies the result to all.

    >>> tf.distribute.ReductionToOneDevice(reduce_to_device="CPU:0").reduce_to_device
    'CPU:0'
    """

    def __init__(self, reduce_to_device: str | None = None, accumulation_fn: Any = None) -> None:
        """Takes the device to add up on, that of the first replica when None; `accumulation_fn` is ignored."""
        self.reduce_to_device = reduce_to_device


class HierarchicalCopyAllReduce(CrossDeviceOps):
    """Accepted as TensorFlow's; values are added up as by `ReductionToOneDevice`, in few copies."""

    _kind = "HierarchicalCopy"

    def __init__(self, num_packs: int = 1) -> None:
        """Takes the number of packs.

        Raises:
          ValueError: it is negative.
        """
        if check_number(num_packs, "num_packs") < 0:
            raise ValueError(f"{self._kind} requires num_packs >= 0, but {num_packs} is specified")
        self.num_packs = num_packs


class NcclAllReduce(HierarchicalCopyAllReduce):
    """Accepted as TensorFlow's; NCCL itself is not used: its place would be here, for devices that are real cards."""

    _kind = "NCCL all-reduce"


def _parts(places: list[int], count: int) -> list[list[int]]:
    size = -(-len(places) // count)
    return [places[start : start + size] for start in range(0, len(places), size)]


def _unpacked(total: Tensor, shapes: Sequence[Any], place: str) -> list[Tensor]:
    with device(place):
        parts = split(on(place, total), [shape.num_elements() for shape in shapes], 0)
        return [one if len(shape) == 1 else reshape(one, shape) for one, shape in zip(parts, shapes, strict=True)]


# One value


def on(place: str, value: Any) -> Tensor:
    """Returns a value on a device; a copy if it is elsewhere."""
    tensor = as_tensor(value)
    if tensor.device == place:
        return tensor
    with device(place):
        return identity(tensor)


@during(ALL_REDUCE)
def reduced(reduce_op: ReduceOp, values: Sequence[Any], place: str) -> Any:
    """Returns sum or mean of the replicas' values, on a device; they are added in the order of the replicas."""
    if isinstance(values[0], IndexedSlices):
        return _joined(reduce_op, values, place)
    with device(place):
        return combined(reduce_op, values)


def combined(reduce_op: ReduceOp, values: Sequence[Any]) -> Tensor:
    """Returns sum or mean of tensors, on the current device."""
    total = add_n(list(values))
    return total if reduce_op is ReduceOp.SUM else truediv(total, len(values))


def _joined(reduce_op: ReduceOp, values: Sequence[IndexedSlices], place: str) -> IndexedSlices:
    with device(place):
        rows = concat([as_tensor(one.values) for one in values], 0)
        if reduce_op is ReduceOp.MEAN:
            rows = truediv(rows, len(values))
        return IndexedSlices(rows, concat([as_tensor(one.indices) for one in values], 0), values[0].dense_shape)


def put_on(place: str, value: Any) -> Any:
    """Returns a tensor or a part of one on a device."""
    if isinstance(value, IndexedSlices):
        return IndexedSlices(on(place, value.values), on(place, value.indices), value.dense_shape)
    return on(place, value)


@during(ALL_REDUCE)
def reduced_over(reduce_op: ReduceOp, value: DistributedValues, axis: int | None) -> Any:
    """Returns what `strategy.reduce` does, on CPU:0: of the replicas' values, and of their rows if there is an axis."""
    values: Sequence[Any] = value.values
    _tell(CPU, (CPU,))
    if axis is None:
        return reduced(reduce_op, values, CPU)
    sums = [_sum(one, axis) for one in values]
    if reduce_op is ReduceOp.SUM:
        return reduced(reduce_op, sums, CPU)
    with device(CPU):
        rows = sum(as_tensor(one).shape[axis] for one in values)
        return truediv(add_n(sums), rows)


def _sum(value: Any, axis: int) -> Tensor:
    tensor = as_tensor(value)
    with device(tensor.device):
        return reduce_sum(tensor, axis)


_told = [0]


def _tell(place: str, targets: tuple[str, ...]) -> None:
    if _told[0] < _MOST_LINES:
        _told[0] += 1
        get_logger().info("Reduce to %s then broadcast to %r.", place, targets)


# In a replica


def all_reduced_here(context: ReplicaContext, reduce_op: Any, value: Any) -> Any:
    """Returns what `ReplicaContext.all_reduce` does."""
    op = ReduceOp.read(reduce_op)
    flat = flatten(value)
    for one in flat:
        if not hasattr(one, "dtype"):
            raise AttributeError(f"{type(one).__name__!r} object has no attribute 'dtype'")
    scope = SCOPE()
    if scope is None or not scope.tapes or any(isinstance(one, IndexedSlices) for one in flat):
        return pack_sequence_as(value, _met(context, op, flat))

    from nbtf.autodiff import custom_gradient  # loads on first use

    @custom_gradient
    def with_gradient(*values: Any) -> Any:
        def back(*grads: Any) -> list[Any]:
            return _met(context, op, list(grads))

        return _met(context, op, list(values)), back

    made = with_gradient(*flat)
    return pack_sequence_as(value, made if isinstance(made, list | tuple) else [made])


def _met(context: ReplicaContext, op: ReduceOp, values: list[Any]) -> list[Any]:
    def merge(strategy: Any, *per_replica: Any) -> list[Any]:
        devices = strategy.extended.worker_devices
        if len(devices) == 1:
            return list(per_replica)
        lists = [[one.values[number] for one in per_replica] for number in range(len(devices))]
        return [Mirrored(one) for one in zip(*strategy._cross_device_ops.all_reduce(op, lists, devices), strict=True)]

    return list(context.merge_call(merge, args=values))


def all_gathered_here(context: ReplicaContext, value: Any, axis: int) -> Any:
    """Returns what `ReplicaContext.all_gather` does."""

    @during(ALL_REDUCE)
    def merge(strategy: Any, per_replica: Any) -> Any:
        devices = strategy.extended.worker_devices

        def gathered(one: Any) -> Any:
            if not isinstance(one, DistributedValues):
                return one
            with device(devices[0]):
                whole = concat(list(one.values), axis)
            return Mirrored([on(place, whole) for place in devices])

        return mapped(gathered, per_replica)

    return context.merge_call(merge, args=(value,))
