"""Names of private TensorFlow modules that libraries import; `aliases.py` lists the library that needs each."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NoReturn

from nbtf._as_tensorflow.internal import AutoTrackable
from nbtf.compat._v1.context import executing_eagerly as executing_eagerly
from nbtf.compat._v1.context import num_gpus as num_gpus
from nbtf.data.dataset import Dataset as DatasetV2
from nbtf.keras.layers.tracking import TrackedDict as _DictWrapper
from nbtf.keras.layers.tracking import TrackedList as ListWrapper
from nbtf.runtime import restart

__all__ = [
    "DatasetV2",
    "Event",
    "Layout",
    "ListWrapper",
    "Mesh",
    "TrackableResource",
    "_DictWrapper",
    "_reset_context",
    "async_wait",
    "context",
    "disable_op_determinism",
    "enable_op_determinism",
    "executing_eagerly",
    "is_op_determinism_enabled",
    "num_gpus",
]


class TrackableResource(AutoTrackable):
    """The base class of tables in TensorFlow; nbtf has no subclass of it."""


class Event:
    """A message of a TensorBoard file; Keras' own tests alone read some."""


class Mesh:
    """A mesh of DTensor, which nbtf lacks."""

    def __init__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuses."""
        _refuse_dtensor()


class Layout(Mesh):
    """A layout of DTensor, which nbtf lacks."""


def _refuse_dtensor() -> NoReturn:
    raise NotImplementedError(
        "tf.experimental.dtensor is not in nbtf. Distribute the model with tf.distribute.MirroredStrategy, which "
        "Keras supports on TensorFlow."
    )


def is_op_determinism_enabled() -> bool:
    """Returns whether ops are asked for the same results in each run; nbtf's always give them."""
    return False


def enable_op_determinism() -> None:
    """Does nothing: nbtf's ops give the same results in each run."""


def disable_op_determinism() -> None:
    """Does nothing: nbtf's ops give the same results in each run."""


def context() -> Any:
    """Returns TensorFlow's context: nbtf keeps no cache of kernels to clear."""
    return SimpleNamespace(ensure_initialized=lambda: None, clear_kernel_cache=lambda: None)


def async_wait() -> None:
    """Does nothing: an op has ended when the call that started it returns."""


def _reset_context() -> None:
    """Restarts the runtime, so that other devices can be set. Keras' own tests call it."""
    restart()
