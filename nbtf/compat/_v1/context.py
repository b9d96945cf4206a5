"""`tensorflow.python.eager.context` of old programs: whether ops run at once, and on how many GPUs."""

from __future__ import annotations

from nbtf._runtime.context import CURRENT
from nbtf.compat._v1._surface.switches import executing_eagerly as executing_eagerly

__all__ = ["executing_eagerly", "num_gpus"]


def __dir__() -> list[str]:
    return __all__


def num_gpus() -> int:
    """Returns how many GPUs this process has.

    >>> from nbtf.python.eager import context
    >>> context.num_gpus()
    0
    """
    return sum(device.type == "GPU" for device in CURRENT.context.devices.local)
