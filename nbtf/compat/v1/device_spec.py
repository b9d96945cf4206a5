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

    def __setattr__(self, name: str, value: Any) -> None:
        """Sets a field, with the conversions of the constructor.

        Raises:
          ValueError: a number is none.
          AttributeError: there is no such field.
        """
        if name == "_fields":
            super().__setattr__(name, value)
        elif name in self._fields._fields:
            self._fields = self.__class__(**{**self._fields._asdict(), name: value})._fields
        else:
            raise AttributeError(f"'DeviceSpec' object has no attribute '{name}'")

    def parse_from_string(self, spec: str | None) -> Self:
        """Takes over what a device string says; returns itself."""
        self._fields = parse(spec)
        return self

    def merge_from(self, dev: UnchangingSpec) -> None:
        """Takes over what `dev` says, and keeps the rest."""
        self._fields = self.make_merged_spec(dev)._fields
