"""`tf.experimental.dlpack`: sharing memory between tensors and the arrays of other libraries."""

from __future__ import annotations

from typing import Any

from nbtf._runtime.exchange import adopted
from nbtf._runtime.tensor import Tensor, tensor_of
from nbtf.errors import InvalidArgumentError

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tf_tensor: Any) -> Any:
    """Returns a DLPack capsule that shares the memory of a tensor; for a simulated GPU, the memory of a copy.

    Libraries that support the protocol accept tensors directly: `torch.from_dlpack(x)`. Do not write to the memory.

    Args:
      tf_tensor: a tensor of any dtype except string.

    Returns:
      A capsule that can be used once.

    Raises:
      InvalidArgumentError: if `tf_tensor` is not a tensor.
      BufferError: if DLPack does not support the dtype.

    >>> x = tf.constant([1.0, 2.0])
    >>> tf.experimental.dlpack.from_dlpack(tf.experimental.dlpack.to_dlpack(x)).numpy()
    array([1., 2.], dtype=float32)
    """
    if not isinstance(tf_tensor, Tensor):
        raise InvalidArgumentError("The argument to `to_dlpack` must be a TF tensor, not Python object")
    return tf_tensor.__dlpack__()


def from_dlpack(dlcapsule: Any) -> Tensor:
    """Returns a tensor that shares the memory of another library's array, on the same device.

    Do not change the array while the tensor is used. On a GPU the other library still owns the memory: it counts as
    external memory and towards no limit.

    Args:
      dlcapsule: an unused DLPack capsule. Unlike TensorFlow, nbtf also accepts the array itself, including one that
        supports only the CUDA array interface.

    Raises:
      InvalidArgumentError: if the capsule was used before, or if tensors do not support the dtype.
      FailedPreconditionError: if the array is on a GPU that nbtf does not use.

    >>> array = np.arange(3)
    >>> x = tf.experimental.dlpack.from_dlpack(array)
    >>> np.shares_memory(array, np.from_dlpack(x))
    True
    """
    return tensor_of(*adopted(dlcapsule))
