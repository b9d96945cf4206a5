"""`tf.sysconfig`: what this was built for."""

from __future__ import annotations

from collections import OrderedDict

from nbtf._devices import discovery
from nbtf._runtime.context import CURRENT

__all__ = ["get_build_info"]


def __dir__() -> list[str]:
    return __all__


def get_build_info() -> OrderedDict[str, bool]:
    """Returns what can be used here: `is_cuda_build` is True where CuPy is installed and CUDA sees a GPU.

    There are no versions of CUDA and cuDNN in it, as in TensorFlow for CPUs: those of CuPy show in `nbtf doctor`.

    >>> tf.sysconfig.get_build_info()["is_rocm_build"]
    False
    """
    cards = discovery.real_cards(CURRENT.context.configuration.environ)
    return OrderedDict(is_cuda_build=bool(cards), is_rocm_build=False, is_tensorrt_build=False)
