"""`tf.test`: test cases for TensorFlow programs, and older functions that check for a GPU."""

from __future__ import annotations

from nbtf._devices import discovery
from nbtf._public import public_names as _public_names
from nbtf._runtime.context import CURRENT
from nbtf.test.case import TestCase as TestCase
from nbtf.test.case import main as main
from nbtf.test.gradients import compute_gradient as compute_gradient


def __dir__() -> list[str]:
    return _public_names(__name__)


def is_gpu_available(cuda_only: bool = False, min_cuda_compute_capability: tuple[int, int] | None = None) -> bool:
    """Returns whether this process has a GPU, including simulated ones. Fixes the device configuration.

    Args:
      cuda_only: accepted and ignored, because every GPU here is a CUDA GPU or simulates one.
      min_cuda_compute_capability: `(major, minor)` that at least one GPU must have; None accepts every GPU.
    """
    context = CURRENT.context
    gpus = [device for device in context.devices.local if device.type == "GPU"]
    if min_cuda_compute_capability is None:
        return bool(gpus)
    cards = context.configuration.cards
    capabilities = [cards[context.logical_devices.made_from[device.name]].card.compute_capability for device in gpus]
    return any(capability >= tuple(min_cuda_compute_capability) for capability in capabilities)


def gpu_device_name() -> str:
    """Returns `/device:GPU:0`, or an empty string if the process has no GPU."""
    gpus = [device for device in CURRENT.context.devices.local if device.type == "GPU"]
    return f"/device:{gpus[0].short_name}" if gpus else ""


def is_built_with_cuda() -> bool:
    """Returns whether ops can run on real GPUs: CuPy is installed and CUDA finds a GPU. Leaves devices configurable."""
    return bool(discovery.real_cards(CURRENT.context.configuration.environ))


def is_built_with_gpu_support() -> bool:
    """Returns the same as `is_built_with_cuda`."""
    return is_built_with_cuda()


def is_built_with_rocm() -> bool:
    """Returns False."""
    return False


def is_built_with_xla() -> bool:
    """Returns False."""
    return False
