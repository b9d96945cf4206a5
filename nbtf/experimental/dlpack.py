"""`tf.experimental.dlpack`: memory that tensors and the arrays of other libraries share."""

from __future__ import annotations

from typing import Any

from nbtf._runtime.exchange import adopted
from nbtf._runtime.tensor import Tensor, tensor_of
from nbtf.errors import InvalidArgumentError

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tf_tensor: Any) -> Any:
    """Returns a DLPack capsule that shows the memory of a tensor; of a simulated GPU's a copy.

    Libraries that know the protocol take tensors themselves: `torch.from_dlpack(x)`. Nobody may write to the memory.

    Args:
      tf_tensor: a tensor, not of texts.

    Returns:
      A capsule, to be used once.

    Raises:
      InvalidArgumentError: it is no tensor.
      BufferError: DLPack has no such dtype.

    >>> x = tf.constant([1.0, 2.0])
    >>> tf.experimental.dlpack.from_dlpack(tf.experimental.dlpack.to_dlpack(x)).numpy()
    array([1., 2.], dtype=float32)
    """
    if not isinstance(tf_tensor, Tensor):
        raise InvalidArgumentError("The argument to `to_dlpack` must be a TF tensor, not Python object")
    return tf_tensor.__dlpack__()


def from_dlpack(dlcapsule: Any) -> Tensor:
    """Returns a tensor that shows the memory of another library's array, on the device where that is.

    The array must not change as long as the tensor is used. On a GPU its memory stays the other library's: it counts
    as external, and in no limit.

    Args:
      dlcapsule: a DLPack capsule that nobody has used yet; or, unlike in TensorFlow, the array itself, which may also
        speak the CUDA array interface.

    Raises:
      InvalidArgumentError: the capsule was used, or tensors have no such dtype.
      FailedPreconditionError: the array is on a GPU that is not used here.

    >>> array = np.arange(3)
    >>> x = tf.experimental.dlpack.from_dlpack(array)
    >>> np.shares_memory(array, np.from_dlpack(x))
    True
    """
    return tensor_of(*adopted(dlcapsule))
