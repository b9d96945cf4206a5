"""`MirroredStrategy`: the same model on every device, a part of the batch for each."""

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
from nbtf._runtime.device import device
from nbtf._runtime.logger import get_logger
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
    """Trains one model on several devices of this computer, in step.

    Each variable made in its scope has a copy on every device. `run` gives each replica its part of the batch;
    gradients are added up across replicas, so that all copies change alike. k devices give what one device gives with
    the same global batch.

    Args:
      devices: names, or logical devices; all GPUs when None, and where there are none all CPUs.
      cross_device_ops: how values are added up; the result does not depend on it.

    Raises:
      AssertionError: a device comes twice.
      ValueError: a text is no device.
      InvalidArgumentError: a device does not exist, and soft placement is off.

    >>> strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    >>> with strategy.scope():
    ...     v = tf.Variable(1.0)
    >>> v
    MirroredVariable:{
      0: <tf.Variable 'Variable:0' shape=() dtype=float32, numpy=1.0>
    }
    """

    def __init__(self, devices: Iterable[Any] | None = None, cross_device_ops: CrossDeviceOps | None = None) -> None:
        """Looks the devices up, and makes a variable on each to see that it is there."""
        if not isinstance(cross_device_ops, CrossDeviceOps | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise unexpected(cross_device_ops, "cross_device_ops", "such as tf.distribute.NcclAllReduce()")
        names = _full_names(devices)
        super().__init__(names)
        self._variables: list[ref[Any]] = []
        if cross_device_ops is not None:
            self._cross_device_ops = cross_device_ops
        self._tell()
        for name in names:
            with device(name):
                Variable(0.0)

    def _tell(self) -> None:
        get_logger().info("Using MirroredStrategy with devices %s", _listed(self.extended.worker_devices))

    def _distributed(self, structures: Sequence[Any]) -> Any:
        """Returns the values of all replicas in one structure, each as `PerReplica`, however many there are."""
        return mapped(lambda *values: PerReplica(values), *structures)

    def _create(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        """Makes a copy on each device; the initial value is computed once.

        Raises:
          ValueError: if copies could not be kept equal, or not be averaged, in TensorFlow's words.
        """
        if kwargs.get("synchronization") is VariableSynchronization.NONE:
            raise ValueError(
                "`NONE` variable synchronization mode is not supported with tf.distribute strategy. Please change the "
                f"`synchronization` for variable: {kwargs.get('name')}"
            )
        copies: list[Variable] = []
        name = kwargs.pop("name", None)
        for number, device_name in enumerate(self.extended.worker_devices):
            with device(device_name):
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
          AssertionError: if the variable was not made in the scope of a strategy: it would be updated once a replica.
        """
        if not isinstance(variable, DistributedVariable):
            raise AssertionError(
                f"The variable {getattr(variable, 'name', variable)!r} was not made in the scope of this strategy, so "
                "it has no copy for each replica. Make the model and its optimizer inside `with strategy.scope():`."
            )
        return variable.values

    def variables(self) -> list[Any]:
        """Returns all variables made in its scope that are still there."""
        return [variable for reference in tuple(self._variables) if (variable := reference()) is not None]

    def replace(self, lost: str, target: str | None = None) -> None:
        """Goes on after a task was lost: with the devices that are left, or with others in the place of the lost ones.

        All variables made in its scope (weights, the slots of optimizers, metrics) keep their values, which the devices
        that are left have to the bit. A step of Keras that failed has changed nothing; `fit` goes on with the next one.

        Args:
          lost: a device, or a task such as `/job:worker/task:1`.
          target: the device, or the task, that takes its place; the same name where a new process has it. None goes on
            with fewer replicas.

        Raises:
          ValueError: no device of the strategy is of `lost`.
          NotFoundError: there is no such target, or it has too few devices.
          UnavailableError: no device is left that has the values.
        """
        replace_devices(self, lost, target)


class MultiWorkerMirroredStrategy(MirroredStrategy):
    """`MirroredStrategy` for several computers: tasks of a cluster, hosts of a simulated one, or this computer.

    One process controls all of them: the program runs once, and needs no `TF_CONFIG`.

    Args:
      cluster_resolver: says which workers there are; with a `tf.distribute.LocalCluster`, or a resolver of a running
        cluster, the program is connected, and trains on all its workers. When None it is the cluster that the program
        is connected with, or the simulated one, and where there is none `TF_CONFIG`.
      communication_options: its `implementation` says what cards of a cluster send to one another, `RING` or what
        takes least time; its `bytes_per_pack` in how many parts.

    Raises:
      UnimplementedError: there are several workers, and none or fewer are simulated.
      ValueError: `TF_CONFIG` cannot be read.

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
        """Takes all GPUs of the workers, or the CPU of this computer."""
        self._cluster_resolver = TFConfigClusterResolver() if cluster_resolver is None else cluster_resolver
        connect_with(cluster_resolver)
        self._workers = count_workers(cluster_resolver)
        super().__init__(devices_of_workers(self._workers), CollectiveAllReduce(communication_options))

    @property
    def cluster_resolver(self) -> Any:
        """What names the workers: its `task_type` and `task_id` are None where one program controls all of them."""
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
    """Returns names as TensorFlow logs them; of more than 16 the first 4, and how many there are."""
    if len(names) <= _MOST_NAMES:
        return repr(tuple(names))
    return f"{tuple(names[:4])!r} and {len(names) - 4} more of {len(names)}"


def _full_names(devices: Iterable[Any] | None) -> tuple[str, ...]:
    chosen = check_several(devices or (), "devices", "a list of names of devices")
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
        raise unexpected(name, "devices", "names of devices")
    full = merged(name, None).name
    assert full is not None
    return full
