"""`tf.test`: test cases for programs with tensors, and older ways to ask for a GPU."""

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
    """Tells whether this process has a GPU, simulated ones included. Fixes the devices.

    Args:
      cuda_only: accepted; every GPU here is a CUDA card or stands for one.
      min_cuda_compute_capability: `(major, minor)` that at least one GPU must have.
    """
    context = CURRENT.context
    gpus = [device for device in context.devices.local if device.type == "GPU"]
    if min_cuda_compute_capability is None:
        return bool(gpus)
    cards = context.configuration.cards
    capabilities = [cards[context.logical_devices.made_from[device.name]].card.compute_capability for device in gpus]
    return any(capability >= tuple(min_cuda_compute_capability) for capability in capabilities)


def gpu_device_name() -> str:
    """Returns `/device:GPU:0`, or an empty text where there is no GPU."""
    gpus = [device for device in CURRENT.context.devices.local if device.type == "GPU"]
    return f"/device:{gpus[0].short_name}" if gpus else ""


def is_built_with_cuda() -> bool:
    """Tells whether ops can run on real GPUs here: CuPy is installed, and CUDA sees a GPU. Fixes nothing."""
    return bool(discovery.real_cards(CURRENT.context.configuration.environ))


def is_built_with_gpu_support() -> bool:
    """Returns what `is_built_with_cuda` does."""
    return is_built_with_cuda()


def is_built_with_rocm() -> bool:
    """Returns False."""
    return False


def is_built_with_xla() -> bool:
    """Returns False."""
    return False
