"""A mutable device description, as in TensorFlow 1."""

from __future__ import annotations

from typing import Any, Self

from nbtf._devices.names import DeviceSpec as UnchangingSpec
from nbtf._devices.names import parse


class DeviceSpec(UnchangingSpec):
    """A partial or complete description of a device, with fields that can be set.

    It is never equal to a `tf.DeviceSpec`, although it is a subclass.

    >>> spec = tf.compat.v1.DeviceSpec.from_string("/CPU:0")
    >>> spec.device_type = "gpu"
    >>> spec.to_string()
    '/device:GPU:0'
    """

    __slots__ = ()

    __hash__ = UnchangingSpec.__hash__

    @UnchangingSpec.job.setter
    def job(self, job: Any) -> None:
        """Sets the job name."""
        self._set(job=job)

    @UnchangingSpec.replica.setter
    def replica(self, replica: Any) -> None:
        """Sets the replica number."""
        self._set(replica=replica)

    @UnchangingSpec.task.setter
    def task(self, task: Any) -> None:
        """Sets the task number."""
        self._set(task=task)

    @UnchangingSpec.device_type.setter
    def device_type(self, device_type: Any) -> None:
        """Sets the device type; `cpu` and `gpu` are converted to upper case."""
        self._set(device_type=device_type)

    @UnchangingSpec.device_index.setter
    def device_index(self, device_index: Any) -> None:
        """Sets the number among the devices of its type; None for any."""
        self._set(device_index=device_index)

    def _set(self, **fields: Any) -> None:
        self._fields = self.__class__(**{**self._fields._asdict(), **fields})._fields

    def parse_from_string(self, spec: str | None) -> Self:
        """Sets the fields from a device string and returns this object."""
        self._fields = parse(spec)
        return self

    def merge_from(self, dev: UnchangingSpec) -> None:
        """Sets the fields that `dev` specifies and keeps the others."""
        self._fields = self.make_merged_spec(dev)._fields
