"""`tensorflow.python.eager.context` for older programs: eager mode and the number of GPUs."""

from __future__ import annotations

from nbtf._runtime.context import CURRENT
from nbtf.compat._v1._surface.switches import executing_eagerly as executing_eagerly

__all__ = ["executing_eagerly", "num_gpus"]


def __dir__() -> list[str]:
    return __all__


def num_gpus() -> int:
    """Returns the number of GPUs in this process.

    >>> from nbtf.python.eager import context
    >>> context.num_gpus()
    0
    """
    return sum(device.type == "GPU" for device in CURRENT.context.devices.local)
