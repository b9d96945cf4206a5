"""`MirroredStrategy`: the same model on every device, each with a part of the batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any
from weakref import ref

from nbtf._devices.collectives import RING
from nbtf._ops.variables.creation import VariableAggregation, VariableSynchronization
from nbtf._ops.variables.variable import Variable
from nbtf._runtime.arguments import check_several, unexpected
from nbtf._runtime.configuration import LogicalDevice
from nbtf._runtime.context import CURRENT
from nbtf._runtime.device import placed
from nbtf._runtime.logger import get_logger
from nbtf._runtime.placement import STRATEGY_VARIABLE
from nbtf._runtime.scopes import merged
from nbtf._runtime.tape import CONTINUOUS
from nbtf.distribute.cluster_resolver import TFConfigClusterResolver
from nbtf.distribute.reduction import CollectiveAllReduce, CrossDeviceOps
from nbtf.distribute.replacing import replace_devices
from nbtf.distribute.strategy import Strategy
from nbtf.distribute.values import PerReplica, mapped
from nbtf.distribute.variables import DistributedVariable, MirroredVariable, SyncOnReadVariable
from nbtf.distribute.workers import connect_with, count_workers, devices_of_workers, simulated_hosts

_MOST_NAMES = 16


class MirroredStrategy(Strategy):
    """Trains one model on several devices of this computer in lockstep.

    Each variable made in its scope has a copy on every device. `run` gives each replica its part of the batch.
    Gradients are added up across replicas, so that all copies change alike. k devices give the same result as one
    device with the same global batch.

    Args:
      devices: names of devices, or logical devices. By default all GPUs or, without GPUs, all CPUs.
      cross_device_ops: algorithm that adds up values; the result does not depend on it.

    Raises:
      AssertionError: if a device is listed twice.
      ValueError: if a string is not a device name.
      InvalidArgumentError: if a device does not exist and soft placement is off.

    >>> strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    >>> with strategy.scope():
    ...     v = tf.Variable(1.0)
    >>> v
    MirroredVariable:{
      0: <tf.Variable 'Variable:0' shape=() dtype=float32, numpy=1.0>
    }
    """

    def __init__(self, devices: Iterable[Any] | None = None, cross_device_ops: CrossDeviceOps | None = None) -> None:
        """Resolves the devices, and makes a variable on each to check that it is available."""
        if not isinstance(cross_device_ops, CrossDeviceOps | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise unexpected(cross_device_ops, "cross_device_ops", "an object such as tf.distribute.NcclAllReduce()")
        names = _full_names(devices)
        super().__init__(names)
        self._variables: list[ref[Any]] = []
        if cross_device_ops is not None:
            self._cross_device_ops = cross_device_ops
        self._tell()
        for name in names:
            with placed(name, STRATEGY_VARIABLE):
                Variable(0.0)

    def _tell(self) -> None:
        get_logger().info("Using MirroredStrategy with devices %s", _listed(self.extended.worker_devices))

    def _distributed(self, structures: Sequence[Any]) -> Any:
        """Returns the values of all replicas as one structure of `PerReplica`, even for a single replica."""
        return mapped(lambda *values: PerReplica(values), *structures)

    def _create(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        """Creates a copy on each device; the initial value is computed once.

        Raises:
          ValueError: if the copies could not be kept equal or averaged, with TensorFlow's text.
        """
        if kwargs.get("synchronization") is VariableSynchronization.NONE:
            raise ValueError(
                "`NONE` variable synchronization mode is not supported with tf.distribute strategy. Please change the "
                f"`synchronization` for variable: {kwargs.get('name')}"
            )
        copies: list[Variable] = []
        name = kwargs.pop("name", None)
        for number, device_name in enumerate(self.extended.worker_devices):
            with placed(device_name, STRATEGY_VARIABLE):
                if number:
                    kwargs["initial_value"] = copies[0].read_value()
                full = name if not number else f"{name or 'Variable'}/replica_{number}"
                copies.append(next_creator(name=full, **kwargs))
            if kwargs.get("aggregation") is VariableAggregation.MEAN and copies[0].dtype not in CONTINUOUS:
                raise ValueError(
                    "creating distributed tf.Variable with aggregation=MEAN and a non-floating dtype is not supported, "
                    "please use a different aggregation or dtype"
                )
        on_read = kwargs.get("synchronization") is VariableSynchronization.ON_READ
        variable = (SyncOnReadVariable if on_read else MirroredVariable).of(self, copies)
        self._variables.append(ref(variable, self._variables.remove))
        return variable

    def _copies_of(self, variable: Any) -> tuple[Any, ...]:
        """Returns the copies of a variable.

        Raises:
          AssertionError: if it was not made in a strategy's scope, because each replica would then update it.
        """
        if not isinstance(variable, DistributedVariable):
            raise AssertionError(
                f"The variable {getattr(variable, 'name', variable)!r} was not made in the scope of this strategy, so "
                "it has no copy for each replica. Make the model and its optimizer inside `with strategy.scope():`."
            )
        return variable.values

    def variables(self) -> list[Any]:
        """Returns all living variables that were made in its scope."""
        return [variable for reference in tuple(self._variables) if (variable := reference()) is not None]

    def replace(self, lost: str, target: str | None = None) -> None:
        """Continues after the loss of a task, with the remaining devices or with others instead of the lost ones.

        All variables made in its scope (weights, optimizer slots, metrics) keep their values: the remaining devices
        have bit-identical copies. A failed Keras step has changed nothing; `fit` continues with the next step.

        Args:
          lost: a lost device, or a lost task such as `/job:worker/task:1`.
          target: device or task that replaces it; the same name if a new process has it. None continues with fewer
            replicas.

        Raises:
          ValueError: if no device of the strategy belongs to `lost`.
          NotFoundError: if the target does not exist or has too few devices.
          UnavailableError: if no remaining device has the values.
        """
        replace_devices(self, lost, target)


class MultiWorkerMirroredStrategy(MirroredStrategy):
    """`MirroredStrategy` for several computers: tasks of a cluster, hosts of a simulated cluster, or this computer.

    One process controls all of them: the program runs once and needs no `TF_CONFIG`.

    Args:
      cluster_resolver: names the workers. With a `tf.distribute.LocalCluster`, or a resolver of a running cluster, the
        program connects to the cluster and trains on all its workers. By default, the connected cluster, the simulated
        cluster or `TF_CONFIG`, in this order.
      communication_options: `implementation` selects the algorithm for a cluster's cards, `RING` or the fastest;
        `bytes_per_pack` limits the size of each pack.

    Raises:
      UnimplementedError: if there are several workers but no simulated cluster, or one with fewer hosts.
      ValueError: if `TF_CONFIG` cannot be parsed.

    >>> tf.runtime.restart()
    >>> _ = tf.runtime.simulate_cluster(hosts=2, gpus=1)
    2 simulated hosts, 2 simulated GPUs (Tesla V100-SXM2-16GB, 16 GiB each), 100Gb/s between hosts: ...
    >>> tf.distribute.MultiWorkerMirroredStrategy().num_replicas_in_sync
    2
    >>> tf.runtime.restart()
    >>> _ = tf.runtime.simulate_gpus(0)
    No simulated GPUs.
    """

    def __init__(self, cluster_resolver: Any = None, communication_options: Any = None) -> None:
        """Uses all GPUs of the workers, or the CPU of this computer."""
        self._cluster_resolver = TFConfigClusterResolver() if cluster_resolver is None else cluster_resolver
        connect_with(cluster_resolver)
        self._workers = count_workers(cluster_resolver)
        super().__init__(devices_of_workers(self._workers), CollectiveAllReduce(communication_options))

    @property
    def cluster_resolver(self) -> Any:
        """The resolver of the workers; its `task_type` and `task_id` are None if one program controls them all."""
        return self._cluster_resolver

    def _tell(self) -> None:
        super()._tell()
        simulated = "simulated workers in one process" if simulated_hosts() else "workers"
        workers = "Single-worker" if self._workers == 1 else f"{self._workers} {simulated}:"
        get_logger().info(
            "%s MultiWorkerMirroredStrategy with local_devices = %s, communication = CommunicationImplementation.%s",
            workers,
            _listed(self.extended.worker_devices),
            "RING" if self._cross_device_ops.algorithm == RING else "AUTO",
        )


def _listed(names: Sequence[str]) -> str:
    """Returns names as TensorFlow logs them; with more than 16 names, the first 4 and the total."""
    if len(names) <= _MOST_NAMES:
        return repr(tuple(names))
    return f"{tuple(names[:4])!r} and {len(names) - 4} more of {len(names)}"


def _full_names(devices: Iterable[Any] | None) -> tuple[str, ...]:
    chosen = check_several(devices or (), "devices", "a list of device names")
    if not chosen:
        context = CURRENT.context
        chosen = context.list_logical("GPU") or context.list_logical("CPU")
    names = tuple(
        _full_name(chosen_device.name if isinstance(chosen_device, LogicalDevice) else chosen_device)
        for chosen_device in chosen
    )
    if len(set(names)) != len(names):
        raise AssertionError(f"No duplicates allowed in `devices` argument: {names}")
    return names


def _full_name(name: Any) -> str:
    if not isinstance(name, str):
        raise unexpected(name, "devices", "device names")
    full = merged(name, None).name
    assert full is not None
    return full
