"""The program's side of a cluster: a channel to each task, and the devices of the tasks."""

from __future__ import annotations

import os
from typing import Any
from weakref import WeakSet

from nbtf._cluster.channel import Channel
from nbtf._cluster.engine import Engine
from nbtf._cluster.postman import Postman
from nbtf._cluster.record_queue import RecordQueue
from nbtf._cluster.task import versions
from nbtf._devices.cards import PhysicalGPU
from nbtf._devices.catalog import Card
from nbtf._devices.names import task_name
from nbtf._devices.remote import RemoteDevice, Traits
from nbtf._runtime.cluster import join, leave
from nbtf._runtime.context import CURRENT
from nbtf.errors import AbortedError, FailedPreconditionError, OpError, UnavailableError


class Cluster:
    """The tasks of an engine, as used by this program."""

    def __init__(self, engine: Engine) -> None:
        """Connects to all tasks.

        Raises:
          UnavailableError: if a task or the scheduler cannot be reached.
          FailedPreconditionError: if a task has different versions.
        """
        self.engine = engine
        self.resolver: object = None
        self.postman = Postman(engine.heartbeat)
        self.channels: list[Channel] = []
        self.postman.start()
        _CLUSTERS.add(self)
        try:
            for address in engine.addresses():
                self._connect(address)
        except BaseException:
            self.end(AbortedError("The connection to the cluster failed."))
            raise

    def _connect(self, address: Any) -> Channel:
        engine = self.engine
        channel = Channel(address, self, self.postman.poke, engine.heartbeat, engine.deadline)
        connection = engine.connect(address, channel)
        try:
            hello = channel.open(connection)
            _compare(channel.task, hello["versions"])
        except BaseException:
            connection.close()
            raise
        channel.devices = [
            RemoteDevice(channel, number, _traits(fields, channel.task))
            for number, fields in enumerate(hello["devices"])
        ]
        for number, account, _ in hello["memory"]:
            channel.devices[int(number)].take_report(account, ())
        for former in self.channels:
            if former.task == channel.task:
                former.end(
                    AbortedError(f"{former.task} was restarted; its earlier tensors are lost. Create the tensor again.")
                )
        self.channels = [former for former in self.channels if former.task != channel.task] + [channel]
        self.postman.channels = tuple(self.channels)
        return channel

    @property
    def devices(self) -> list[RemoteDevice]:
        """The devices of all tasks that are connected."""
        return [device for channel in self.channels if channel.departure() is None for device in channel.devices]

    @property
    def lost(self) -> list[str]:
        """The names of lost tasks."""
        return [channel.task for channel in self.channels if channel.departure() is not None]

    def renew(self) -> list[RemoteDevice]:
        """Connects to new tasks, including replacements of lost ones; returns their devices."""
        alive = [channel for channel in self.channels if channel.departure() is None]
        present = {(channel.task, channel.address.incarnation) for channel in alive}
        fresh: list[RemoteDevice] = []
        for address in self.engine.addresses():
            name = task_name(address.job, address.number)
            if (name, address.incarnation) not in present:
                fresh += self._connect(address).devices
        return fresh

    def flush(self) -> None:
        """Sends all queued records."""
        for channel in self.channels:
            channel.flush()

    def drop(self) -> None:
        """Cancels work that tasks have not started, after an interrupt of the program."""
        for channel in self.channels:
            channel.drop()

    def tell_loss(self, channel: RecordQueue, text: str) -> None:
        """Notifies the remaining tasks that they must not wait for a lost one."""
        if channel.hello is not None:
            for neighbour in self.channels:
                neighbour.urge({"lost": channel.hello["session"], "why": text})

    def wait(self) -> None:
        """Waits for all tasks; raises the error of a lost task, or else the first error not raised yet."""
        errors = self._errors()
        if errors:
            raise next((error for error in errors if isinstance(error, UnavailableError)), errors[0])

    def forget_failures(self) -> None:
        """Waits for all tasks and discards their errors."""
        self._errors()

    def forget_losses(self) -> None:
        """Waits for the remaining tasks; discards errors caused by a lost task, and raises any other."""
        defects = self._errors(losses=False)
        if defects:
            raise defects[0]

    def _errors(self, losses: bool = True) -> list[OpError]:
        """Waits for all tasks; returns errors not raised yet, with `losses=False` without those caused by a loss."""
        alive = [channel for channel in self.channels if channel.departure() is None]
        errors: list[OpError] = []
        self.flush()
        for channel in alive:
            try:
                channel.wait(losses)
            except OpError as error:
                if losses or channel.departure() is None:
                    errors.append(error)
        return errors

    def end(self, error: OpError) -> None:
        """Closes all sessions; their results raise `error` from now on."""
        for channel in self.channels:
            channel.end(error)
        self.postman.stop()


_CLUSTERS: WeakSet[Cluster] = WeakSet()


def _leave_to_parent() -> None:
    """Ends all channels in a forked process: their threads and sockets belong to the parent."""
    for cluster in list(_CLUSTERS):
        for channel in cluster.channels:
            channel.abandon(FailedPreconditionError(f"{channel.task} is connected to the parent of this process."))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)


def _traits(fields: dict[str, Any], task: str) -> Traits:
    card = fields["card"]
    if card is not None:
        *physical, model = card
        name, memory, capability, *rates = model
        card = PhysicalGPU(Card(name, memory, tuple(capability), *rates), *physical, task=task)
    return Traits(
        fields["type"],
        fields["index"],
        fields["simulated"],
        fields["accounted"],
        fields["exact"],
        fields["in_place"],
        card,
    )


def _compare(task: str, task_versions: dict[str, str]) -> None:
    different = [
        f"{name} {task_versions.get(name, 'unknown')} there, {own_version} here"
        for name, own_version in versions().items()
        if task_versions.get(name) != own_version
    ]
    if different:
        raise FailedPreconditionError(
            f"{task} has other versions: {'; '.join(different)}. An op must mean the same on both sides: install "
            "the same versions."
        )


def connect(engine: Engine, resolver: object = None) -> Cluster:
    """Connects the current context to a cluster, replacing its current cluster.

    Args:
      engine: engine of the tasks.
      resolver: resolver that the engine came from, if any.

    Raises:
      UnavailableError: if a task or the scheduler cannot be reached.
      FailedPreconditionError: if a task has different versions.
    """
    context = CURRENT.context
    cluster = Cluster(engine)
    cluster.resolver = resolver
    previous: Cluster | None = context.cluster
    leave(context, context.logical_devices.joined)
    context.cluster = cluster
    # Lost devices join as well, marked as lost.
    join(context, [device for channel in cluster.channels for device in channel.devices])
    if previous is not None:
        previous.end(AbortedError(_INVALIDATED))
    return cluster


_INVALIDATED = (
    "This tensor is on a task of a cluster and was invalidated by reconnecting: "
    "tf.config.experimental_connect_to_cluster was called again. Create it again on a current device."
)
