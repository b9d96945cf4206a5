"""`tf.sysconfig`: which hardware can this installation use?"""

from __future__ import annotations

from collections import OrderedDict

from nbtf._devices import discovery
from nbtf._runtime.context import CURRENT

__all__ = ["get_build_info"]


def __dir__() -> list[str]:
    return __all__


def get_build_info() -> OrderedDict[str, bool]:
    """Returns what is available: `is_cuda_build` is True if CuPy is installed and CUDA sees a GPU.

    As in TensorFlow for CPUs, it lists no versions of CUDA and cuDNN. `nbtf doctor` shows those that CuPy uses.

    >>> tf.sysconfig.get_build_info()["is_rocm_build"]
    False
    """
    cards = discovery.real_cards(CURRENT.context.configuration.environ)
    return OrderedDict(is_cuda_build=bool(cards), is_rocm_build=False, is_tensorrt_build=False)
