"""`CommunicationOptions`: the algorithm of an all-reduce, and the size of its packs."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

from nbtf._runtime.arguments import check_number
from nbtf._runtime.conversion import as_tensor


class CommunicationImplementation(Enum):
    """The algorithms of an all-reduce."""

    AUTO = "AUTO"
    RING = "RING"
    NCCL = "NCCL"


CollectiveCommunication = CommunicationImplementation


class CommunicationOptions:
    """Options for the all-reduce among the cards of a simulated cluster.

    Args:
      bytes_per_pack: size of a pack in bytes: a pack is sent as soon as it is larger, as in TensorFlow. 0, the default,
        sends all tensors of a dtype together. Each pack is a separate all-reduce with its own latency.
      timeout_seconds: time limit on a real network; a modelled all-reduce never waits and ignores it.
      implementation: `RING`, or `AUTO` (default) and `NCCL`, which choose the fastest algorithm. May be a string.

    Raises:
      ValueError: if `bytes_per_pack` is negative, `timeout_seconds` is not positive, or `implementation` is unknown.

    >>> tf.distribute.experimental.CommunicationOptions(bytes_per_pack=1 << 20, implementation="ring")
    CommunicationOptions(bytes_per_pack=1048576, timeout_seconds=None, implementation=CommunicationImplementation.RING)
    """

    def __init__(
        self,
        bytes_per_pack: int = 0,
        timeout_seconds: float | None = None,
        implementation: CommunicationImplementation | str = CommunicationImplementation.AUTO,
    ) -> None:
        """Stores the options."""
        if check_number(bytes_per_pack, "bytes_per_pack") < 0:
            raise ValueError(f"Argument `bytes_per_pack` must be >=0, Received {bytes_per_pack}.")
        if timeout_seconds is not None and check_number(timeout_seconds, "timeout_seconds") <= 0:
            raise ValueError(f"Argument `timeout_seconds` must be None or > 0, got {timeout_seconds}.")
        self.bytes_per_pack: int = bytes_per_pack
        self.timeout_seconds: float | None = timeout_seconds
        self.implementation: CommunicationImplementation = CommunicationImplementation(
            implementation.upper() if isinstance(implementation, str) else implementation
        )

    def __repr__(self) -> str:
        """Returns the call that creates the options."""
        return (
            f"CommunicationOptions(bytes_per_pack={self.bytes_per_pack}, timeout_seconds={self.timeout_seconds}, "
            f"implementation={self.implementation})"
        )

    def merge(self, options: CommunicationOptions | None) -> CommunicationOptions:
        """Returns these options, overridden by those of a call."""
        if options is None:
            return self
        is_auto = options.implementation is CommunicationImplementation.AUTO
        return CommunicationOptions(
            options.bytes_per_pack or self.bytes_per_pack,
            self.timeout_seconds if options.timeout_seconds is None else options.timeout_seconds,
            self.implementation if is_auto else options.implementation,
        )


def packed_by_size(indices: Sequence[int], values: Sequence[Any], bytes_per_pack: int) -> list[list[int]]:
    """Returns the indices of the values in each pack, last values first, because gradients arrive in that order.

    A pack is closed when it is larger than `bytes_per_pack`. Source: `group_by_size`, cross_device_utils.py.
    """
    packs: list[list[int]] = []
    size = bytes_per_pack + 1
    for index in reversed(indices):
        if size > bytes_per_pack:
            packs.append([])
            size = 0
        tensor = as_tensor(values[index])
        packs[-1].append(index)
        size += (tensor.shape.num_elements() or 0) * tensor.dtype.size
    return packs
