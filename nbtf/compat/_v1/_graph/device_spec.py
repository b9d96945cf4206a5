"""A mutable device description, as in TensorFlow 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from nbtf._devices.names import DeviceSpec as UnchangingSpec
from nbtf._devices.names import parse


def _setter(field: str) -> Callable[[Any, Any], None]:
    """Returns the function that sets a field; the device types `cpu` and `gpu` are converted to upper case."""

    def write(self: DeviceSpec, value: Any) -> None:
        self._fields = self.__class__(**{**self._fields._asdict(), field: value})._fields

    return write


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

    job = UnchangingSpec.job.setter(_setter("job"))
    replica = UnchangingSpec.replica.setter(_setter("replica"))
    task = UnchangingSpec.task.setter(_setter("task"))
    device_type = UnchangingSpec.device_type.setter(_setter("device_type"))
    device_index = UnchangingSpec.device_index.setter(_setter("device_index"))

    def parse_from_string(self, spec: str | None) -> Self:
        """Sets the fields from a device string and returns this object."""
        self._fields = parse(spec)
        return self

    def merge_from(self, dev: UnchangingSpec) -> None:
        """Sets the fields that `dev` specifies and keeps the others."""
        self._fields = self.make_merged_spec(dev)._fields
