"""`CommunicationOptions`: by which algorithm, and in packs of which size, do computers add up what each has?"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

from nbtf._runtime.arguments import check_number
from nbtf._runtime.conversion import as_tensor


class CommunicationImplementation(Enum):
    """How computers talk to each other."""

    AUTO = "AUTO"
    RING = "RING"
    NCCL = "NCCL"


CollectiveCommunication = CommunicationImplementation


class CommunicationOptions:
    """How cards of a simulated cluster add up what each of them has.

    Args:
      bytes_per_pack: a pack of tensors is sent as soon as it has more than this many bytes, as in TensorFlow; 0 sends
        all tensors of a dtype together. Each pack is an all-reduce of its own, with its own latency.
      timeout_seconds: how long a real network may take; a modelled all-reduce never waits, and never ends by it.
      implementation: `RING` is the ring; `AUTO` and `NCCL` take what needs least time. A text may be given.

    Raises:
      ValueError: `bytes_per_pack` is negative, `timeout_seconds` is not positive, or there is no such implementation.

    >>> tf.distribute.experimental.CommunicationOptions(bytes_per_pack=1 << 20, implementation="ring")
    CommunicationOptions(bytes_per_pack=1048576, timeout_seconds=None, implementation=CommunicationImplementation.RING)
    """

    def __init__(
        self,
        bytes_per_pack: int = 0,
        timeout_seconds: float | None = None,
        implementation: CommunicationImplementation | str = CommunicationImplementation.AUTO,
    ) -> None:
        """Keeps the options."""
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
        """Returns the call that makes them."""
        return (
            f"CommunicationOptions(bytes_per_pack={self.bytes_per_pack}, timeout_seconds={self.timeout_seconds}, "
            f"implementation={self.implementation})"
        )

    def merge(self, options: CommunicationOptions | None) -> CommunicationOptions:
        """Returns these options with those of a call instead, where it has any."""
        if options is None:
            return self
        is_auto = options.implementation is CommunicationImplementation.AUTO
        return CommunicationOptions(
            options.bytes_per_pack or self.bytes_per_pack,
            self.timeout_seconds if options.timeout_seconds is None else options.timeout_seconds,
            self.implementation if is_auto else options.implementation,
        )


def packed_by_size(indices: Sequence[int], values: Sequence[Any], bytes_per_pack: int) -> list[list[int]]:
    """Returns which values travel together. The last come first: gradients are there in that order.

    A pack is closed when it has more than `bytes_per_pack`. Source: `group_by_size`, cross_device_utils.py.
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
