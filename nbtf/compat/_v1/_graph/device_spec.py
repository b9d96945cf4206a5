"""A device string that can be changed, as TensorFlow 1 had it."""

from __future__ import annotations

from typing import Any, Self

from nbtf._devices.names import DeviceSpec as UnchangingSpec
from nbtf._devices.names import parse


class DeviceSpec(UnchangingSpec):
    """A device, described in part or in full; its fields can be set.

    Never equal to a `tf.DeviceSpec`, although it is one.

    >>> spec = tf.compat.v1.DeviceSpec.from_string("/CPU:0")
    >>> spec.device_type = "gpu"
    >>> spec.to_string()
    '/device:GPU:0'
    """

    __slots__ = ()

    __hash__ = UnchangingSpec.__hash__

    @UnchangingSpec.job.setter
    def job(self, job: Any) -> None:
        """Sets the job's name."""
        self._set(job=job)

    @UnchangingSpec.replica.setter
    def replica(self, replica: Any) -> None:
        """Sets the replica's number."""
        self._set(replica=replica)

    @UnchangingSpec.task.setter
    def task(self, task: Any) -> None:
        """Sets the task's number."""
        self._set(task=task)

    @UnchangingSpec.device_type.setter
    def device_type(self, device_type: Any) -> None:
        """Sets the type; `cpu` and `gpu` are made upper case."""
        self._set(device_type=device_type)

    @UnchangingSpec.device_index.setter
    def device_index(self, device_index: Any) -> None:
        """Sets which one of its type; None for any."""
        self._set(device_index=device_index)

    def _set(self, **fields: Any) -> None:
        self._fields = self.__class__(**{**self._fields._asdict(), **fields})._fields

    def parse_from_string(self, spec: str | None) -> Self:
        """Takes over what a device string says; returns itself."""
        self._fields = parse(spec)
        return self

    def merge_from(self, dev: UnchangingSpec) -> None:
        """Takes over what `dev` says, and keeps the rest."""
        self._fields = self.make_merged_spec(dev)._fields
