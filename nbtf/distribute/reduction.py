"""How are the values of all replicas combined: by which op, on which device, in which order, in how many copies?"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from math import prod
from typing import Any
from weakref import WeakKeyDictionary

from nbtf._devices.base import Device
from nbtf._devices.collectives import AUTO, HIERARCHICAL, RING, STAR
from nbtf._devices.names import task_of
from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.arrays.identity import identity
from nbtf._ops.arrays.joining import concat, split
from nbtf._ops.arrays.shapes import shape
from nbtf._ops.collectives import all_reduce
from nbtf._ops.math.arithmetic import add_n, cast
from nbtf._ops.math.division import truediv
from nbtf._ops.ragged_and_sparse.indexed_slices import IndexedSlices, join_indices
from nbtf._ops.reductions.means_and_extremes import reduce_prod
from nbtf._ops.reductions.sums import reduce_sum
from nbtf._ops.structure import flatten, pack_sequence_as
from nbtf._ops.variables.resource import read_variable
from nbtf._runtime.arguments import check_has, check_number
from nbtf._runtime.context import CURRENT
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.device import placed
from nbtf._runtime.logger import get_logger
from nbtf._runtime.phases import ALL_REDUCE, during
from nbtf._runtime.placement import STRATEGY_REDUCTION
from nbtf._runtime.scopes import SCOPE
from nbtf._runtime.tensor import Tensor
from nbtf.distribute.communication import CommunicationImplementation, CommunicationOptions, packed_by_size
from nbtf.distribute.contexts import ReplicaContext
from nbtf.distribute.direct import sums_on_all
from nbtf.distribute.values import DistributedValues, Mirrored, mapped

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
_THIS_TASK = task_of(CPU)
_MOST_LINES = 10
"""Maximum number of reductions that are logged, as in TensorFlow."""


class ReduceOp(Enum):
    """How the values of all replicas are combined."""

    SUM = "SUM"
    MEAN = "MEAN"

    @staticmethod
    def read(value: ReduceOp | str) -> ReduceOp:
        """Returns the member with a name, in upper or lower case.

        Raises:
          ValueError: if no member has this name.
        """
        return value if isinstance(value, ReduceOp) else ReduceOp(value.upper())


class CrossDeviceOps:
    """Reduces values across devices. All kinds give bit-identical results: values are added in the order of devices.

    `num_packs` is the number of buffers into which the tensors of one reduction are packed; 0 copies each tensor
    separately. CPUs of one computer need no packing, because nothing is copied between them.
    `algorithm` selects the messages between cards of a simulated cluster; see `nbtf/_devices/collectives.py`. On one
    computer, all kinds copy to one device and back.
    """

    num_packs = 1
    reduce_to_device: str | None = None
    algorithm = AUTO

    @during(ALL_REDUCE)
    def all_reduce(
        self, reduce_op: ReduceOp, values: Sequence[Sequence[Any]], devices: Sequence[str]
    ) -> list[list[Any]]:
        """Adds up lists of tensors; each replica gets all sums on its own device.

        Args:
          reduce_op: sum or mean.
          values: for each replica, its tensors or `IndexedSlices`, in the same order.
          devices: devices of the replicas.

        Returns:
          For each replica, the list of its results.
        """
        results: list[list[Any]] = [[None] * len(values[0]) for _ in devices]
        for indices in self._packs(values[0], bool(self.num_packs) and not have_one_memory(devices)):
            pack = [[replica[index] for index in indices] for replica in values]
            for number, sums in enumerate(self._all_reduce_pack(reduce_op, pack, devices)):
                for index, total in zip(indices, sums, strict=True):
                    results[number][index] = total
        return results

    def _packs(self, values: Sequence[Any], packed: bool) -> list[list[int]]:
        """Returns groups of values that are copied together: per dtype, in parts; or each value separately."""
        packs: dict[Any, list[int]] = {}
        for index, value in enumerate(values):
            alone = not packed or isinstance(value, IndexedSlices)
            packs.setdefault((index,) if alone else as_tensor(value).dtype, []).append(index)
        return [indices for pack in packs.values() for indices in self._divided(pack, values)]

    def _divided(self, indices: list[int], values: Sequence[Any]) -> list[list[int]]:
        """Returns the values of one dtype in `num_packs` parts."""
        return _split_evenly(indices, self.num_packs or 1)

    def with_options(self, options: CommunicationOptions | None) -> CrossDeviceOps:
        """Returns the ops for a call with options; as in TensorFlow, only collectives use them."""
        return self

    def _all_reduce_pack(
        self, reduce_op: ReduceOp, pack: Sequence[Sequence[Any]], devices: Sequence[str]
    ) -> list[list[Any]]:
        if isinstance(pack[0][0], IndexedSlices):
            rows = _join_rows(reduce_op, [tensors[0] for tensors in pack], devices[0])
            return [[copy_value_to(device_name, rows)] for device_name in devices]
        if len(pack[0]) == 1:
            return [[total] for total in self._reduce_buffers(reduce_op, [tensors[0] for tensors in pack], devices)]
        buffers = [_packed(tensors, device_name) for tensors, device_name in zip(pack, devices, strict=True)]
        shapes = [tensor.shape for tensor in pack[0]]
        totals = self._reduce_buffers(reduce_op, buffers, devices)
        return [_unpack(total, shapes, device_name) for total, device_name in zip(totals, devices, strict=True)]

    def _reduce_buffers(self, reduce_op: ReduceOp, buffers: Sequence[Any], devices: Sequence[str]) -> list[Tensor]:
        """Returns the sum or mean of one tensor per device, on all devices; the algorithms differ only in this step.

        The star copies all tensors to one device, adds them up there in the order of the devices, and copies the result
        to each device: two copies per device.
        """
        if self.algorithm != STAR and are_linked(devices):
            sums = all_reduce([as_tensor(buffer) for buffer in buffers], devices, self.algorithm)
            return sums if reduce_op is ReduceOp.SUM else [_share(total, len(devices)) for total in sums]
        if self.reduce_to_device is None and are_tasks(devices):
            sums = sums_on_all(buffers, devices)
            return sums if reduce_op is ReduceOp.SUM else [_share(total, len(devices)) for total in sums]
        target = self.reduce_to_device or devices[0]
        total = reduce_values(reduce_op, buffers, target)
        return [total if device_name == target else copy_to(device_name, total) for device_name in devices]


class ReductionToOneDevice(CrossDeviceOps):
    """Copies everything to one device, adds it up there, and copies the result to all.

    >>> tf.distribute.ReductionToOneDevice(reduce_to_device="CPU:0").reduce_to_device
    'CPU:0'
    """

    algorithm = STAR

    def __init__(self, reduce_to_device: str | None = None, accumulation_fn: Any = None) -> None:
        """Adds up on this device, by default that of the first replica; `accumulation_fn` is ignored."""
        self.reduce_to_device = reduce_to_device


class HierarchicalCopyAllReduce(CrossDeviceOps):
    """Adds up inside each host of a simulated cluster first, then between hosts; on one computer, on one device."""

    algorithm = HIERARCHICAL
    _algorithm = "HierarchicalCopy"

    def __init__(self, num_packs: int = 1) -> None:
        """Sets the number of packs.

        Raises:
          ValueError: if it is negative.
        """
        if check_number(num_packs, "num_packs") < 0:
            raise ValueError(f"{self._algorithm} requires num_packs >= 0, but {num_packs} is specified")
        self.num_packs = num_packs


class NcclAllReduce(HierarchicalCopyAllReduce):
    """Chooses among ring, tree and hierarchical in a simulated cluster, as NCCL does; it does not use NCCL itself."""

    algorithm = AUTO
    _algorithm = "NCCL all-reduce"


class CollectiveAllReduce(CrossDeviceOps):
    """The reduction of `MultiWorkerMirroredStrategy`, configured by its communication options."""

    def __init__(self, options: CommunicationOptions | None = None) -> None:
        """Stores these options, by default those of `CommunicationOptions()`."""
        self.options: CommunicationOptions = CommunicationOptions() if options is None else options
        check_has(
            self.options, "bytes_per_pack", "communication_options", "tf.distribute.experimental.CommunicationOptions"
        )
        self.algorithm = RING if self.options.implementation is CommunicationImplementation.RING else AUTO

    def with_options(self, options: CommunicationOptions | None) -> CrossDeviceOps:
        """Returns the ops for a call with options; its own options apply where the call has none."""
        return self if options is None else CollectiveAllReduce(self.options.merge(options))

    def _divided(self, indices: list[int], values: Sequence[Any]) -> list[list[int]]:
        """Returns all values in one part, or in packs of `bytes_per_pack`."""
        size = self.options.bytes_per_pack
        return [indices] if not size or len(indices) == 1 else packed_by_size(indices, values, size)


def are_linked(devices: Sequence[str]) -> bool:
    """Returns whether all are cards of a simulated cluster."""
    members = _devices_named(devices)
    return all([member is not None and member.network is not None and member.type == "GPU" for member in members])


def are_tasks(devices: Sequence[str]) -> bool:
    """Returns whether all are devices of other processes, at least two of them."""
    members, joined = _devices_named(devices), CURRENT.context.logical_devices.joined
    tasks = {member.task for member in members if member is not None and member in joined}
    return len(tasks) > 1 and all([member is not None and member.task in tasks for member in members])


def have_one_memory(devices: Sequence[str]) -> bool:
    """Returns whether all are CPUs of one computer, between which a copy shares the array, as in TensorFlow."""
    members = _devices_named(devices)
    return all([member is not None and member.on_host for member in members]) and (
        len({member.task for member in members if member is not None}) == 1
    )


def _devices_named(names: Sequence[str]) -> list[Device | None]:
    """Returns the devices with these names; None for a device that does not exist."""
    by_name = CURRENT.context.devices.by_name
    return [by_name.get(name) for name in names]


def _share(total: Tensor, count: int) -> Tensor:
    with placed(total.device, STRATEGY_REDUCTION):
        return truediv(total, count)


def _split_evenly(indices: list[int], count: int) -> list[list[int]]:
    size = -(-len(indices) // count)
    return [indices[start : start + size] for start in range(0, len(indices), size)]


def _packed(tensors: Sequence[Tensor], device_name: str) -> Tensor:
    """Returns the elements of tensors in one buffer."""
    with placed(device_name, STRATEGY_REDUCTION):
        return concat([tensor if len(tensor.shape) == 1 else reshape(tensor, [-1]) for tensor in tensors], 0)


def _unpack(buffer: Tensor, shapes: Sequence[Any], device_name: str) -> list[Tensor]:
    """Returns the tensors whose elements are in a buffer."""
    with placed(device_name, STRATEGY_REDUCTION):
        flat_tensors = split(buffer, [shape.num_elements() for shape in shapes], 0)
        return [
            flat_tensor if len(shape) == 1 else reshape(flat_tensor, shape)
            for flat_tensor, shape in zip(flat_tensors, shapes, strict=True)
        ]


# One value


def copy_to(device_name: str, value: Any) -> Tensor:
    """Returns a value on a device; a copy if it is on another device."""
    tensor = as_tensor(value)
    if tensor.device == device_name:
        return tensor
    with placed(device_name, STRATEGY_REDUCTION):
        return identity(tensor)


@during(ALL_REDUCE)
def reduce_values(reduce_op: ReduceOp, values: Sequence[Any], device_name: str) -> Any:
    """Returns the sum or mean of the replicas' values on a device; they are added in the order of the replicas."""
    if isinstance(values[0], IndexedSlices):
        return _join_rows(reduce_op, values, device_name)
    with placed(device_name, STRATEGY_REDUCTION):
        return combined(reduce_op, values)


def combined(reduce_op: ReduceOp, values: Sequence[Any]) -> Tensor:
    """Returns the sum or mean of tensors on the current device."""
    total = add_n(list(values))
    return total if reduce_op is ReduceOp.SUM else truediv(total, len(values))


def _join_rows(reduce_op: ReduceOp, values: Sequence[IndexedSlices], device_name: str) -> IndexedSlices:
    with placed(device_name, STRATEGY_REDUCTION):
        rows = concat([as_tensor(slices.values) for slices in values], 0)
        if reduce_op is ReduceOp.MEAN:
            rows = truediv(rows, len(values))
        return IndexedSlices(rows, join_indices(values), values[0].dense_shape)


def copy_value_to(device_name: str, value: Any) -> Any:
    """Returns a tensor or `IndexedSlices` on a device."""
    if isinstance(value, IndexedSlices):
        return IndexedSlices(copy_to(device_name, value.values), copy_to(device_name, value.indices), value.dense_shape)
    return copy_to(device_name, value)


@during(ALL_REDUCE)
def reduced_over(reduce_op: ReduceOp, value: DistributedValues, axis: Any) -> Any:
    """Returns the result of `strategy.reduce` on CPU:0: over the replicas, and over an axis if one is given."""
    values: Sequence[Any] = value.values
    _log_reduction(CPU, (CPU,))
    if axis is None:
        return _broadcast(reduce_values(reduce_op, values, CPU))
    sums = [_sum(replica_value, axis) for replica_value in values]
    if reduce_op is ReduceOp.SUM:
        return _broadcast(reduce_values(reduce_op, sums, CPU))
    with placed(CPU, STRATEGY_REDUCTION):
        total = add_n(sums)
        counts = [_count(replica_value, axis) for replica_value in values]
        if all([isinstance(count, int) for count in counts]):
            return truediv(total, sum(counts))
        return truediv(total, cast(add_n(counts), total.dtype))


def _broadcast(total: Any) -> Any:
    """Returns a sum after a broadcast to CPU:0; as in TensorFlow, this is a separate op even for a sum on CPU:0."""
    if isinstance(total, IndexedSlices):
        return total
    with placed(CPU, STRATEGY_REDUCTION):
        return identity(total)


def copies_reduced(reduce_op: ReduceOp, copies: Sequence[Any]) -> Tensor:
    """Returns the sum or mean of a variable's copies, which are read on their own devices.

    As in TensorFlow, they are added up on the device of the current `tf.device` block, or on CPU:0. With tasks of a
    cluster, nothing is sent to this program: the copies are added up where an op without a device runs.
    """
    if any([task_of(copy.device) != _THIS_TASK for copy in copies]):
        return combined(reduce_op, [read_variable(copy) for copy in copies])
    scope = SCOPE()
    request = None if scope is None else scope.request
    target, reason = (
        (CPU, STRATEGY_REDUCTION) if request is None or not request.name else (request.name, request.reason)
    )
    _log_reduction(target, (target,))
    values = [read_variable(copy) for copy in copies]
    with placed(target, reason):
        return identity(combined(reduce_op, values))  # the identity is TensorFlow's broadcast


def _count(value: Any, axis: Any) -> Any:
    """Returns how many elements are added up along axes; a tensor if lengths are unknown."""
    tensor = as_tensor(value)
    axes: list[int] = [axis] if isinstance(axis, int) else list(axis)
    lengths = [tensor.shape[axis] for axis in axes]
    are_numbers = all([isinstance(length, int) for length in lengths])
    return prod(lengths) if are_numbers else reduce_prod([shape(tensor)[axis] for axis in axes])


def _sum(value: Any, axis: Any) -> Tensor:
    tensor = as_tensor(value)
    with placed(tensor.device, STRATEGY_REDUCTION):
        return reduce_sum(tensor, axis)


_lines_logged: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
"""Number of reductions logged per runtime; `tf.runtime.restart()` starts again at 0, like a new process."""


def _log_reduction(device_name: str, targets: tuple[str, ...]) -> None:
    count = _lines_logged.get(CURRENT.context, 0)
    if count < _MOST_LINES:
        _lines_logged[CURRENT.context] = count + 1
        get_logger().info("Reduce to %s then broadcast to %r.", device_name, targets)


# In a replica


def all_reduced_here(context: ReplicaContext, reduce_op: Any, value: Any, options: Any) -> Any:
    """Returns the result of `ReplicaContext.all_reduce`."""
    op = ReduceOp.read(reduce_op)
    flat = flatten(value)
    for tensor in flat:
        if not hasattr(tensor, "dtype"):
            raise AttributeError(f"{type(tensor).__name__!r} object has no attribute 'dtype'")
    scope = SCOPE()
    if scope is None or not scope.tapes or any(isinstance(tensor, IndexedSlices) for tensor in flat):
        return pack_sequence_as(value, _meet_and_reduce(context, op, flat, options))

    from nbtf.autodiff import custom_gradient  # loads on first use

    @custom_gradient
    def with_gradient(*values: Any) -> Any:
        def back(*grads: Any) -> list[Any]:
            return _meet_and_reduce(context, op, list(grads), options)

        return _meet_and_reduce(context, op, list(values), options), back

    sums = with_gradient(*flat)
    return pack_sequence_as(value, sums if isinstance(sums, list | tuple) else [sums])


def _meet_and_reduce(context: ReplicaContext, op: ReduceOp, values: list[Any], options: Any) -> list[Any]:
    def merge(strategy: Any, *per_replica: Any) -> list[Any]:
        devices = strategy.extended.worker_devices
        if len(devices) == 1:
            return list(per_replica)
        lists = [[value.values[number] for value in per_replica] for number in range(len(devices))]
        sums = strategy._cross_device_ops.with_options(options).all_reduce(op, lists, devices)
        return [Mirrored(copies) for copies in zip(*sums, strict=True)]

    return list(context.merge_call(merge, args=values))


def all_gathered_here(context: ReplicaContext, value: Any, axis: int) -> Any:
    """Returns the result of `ReplicaContext.all_gather`."""

    @during(ALL_REDUCE)
    def merge(strategy: Any, per_replica: Any) -> Any:
        devices = strategy.extended.worker_devices

        def gather(value: Any) -> Any:
            if not isinstance(value, DistributedValues):
                return value
            with placed(devices[0], STRATEGY_REDUCTION):
                joined = concat(list(value.values), axis)
            return Mirrored([copy_to(device_name, joined) for device_name in devices])

        return mapped(gather, per_replica)

    return context.merge_call(merge, args=(value,))
