"""`tf.compat.v1`: TensorFlow 1. So far only its device strings; graphs and sessions are not here yet."""

from __future__ import annotations

from nbtf.compat.v1._graph.device_spec import DeviceSpec as DeviceSpec


def __getattr__(name: str) -> object:
    raise AttributeError(f"module 'nbtf.compat.v1' has no attribute '{name}'")


def __dir__() -> list[str]:
    return ["DeviceSpec"]
