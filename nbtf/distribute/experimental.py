"""`tf.distribute.experimental`: strategies and options that older texts find here."""

from __future__ import annotations

from enum import Enum

from nbtf.distribute.mirrored import MultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy
from nbtf.distribute.one_device import CentralStorageStrategy as CentralStorageStrategy
from nbtf.distribute.strategy import ValueContext as ValueContext
from nbtf.distribute.workers import ParameterServerStrategy as ParameterServerStrategy


class CommunicationImplementation(Enum):
    """How computers talk to each other."""

    AUTO = "AUTO"
    RING = "RING"
    NCCL = "NCCL"


CollectiveCommunication = CommunicationImplementation


class CommunicationOptions:
    """How computers talk to each other: `implementation` chooses the algorithm of a simulated cluster.

    `RING` is the ring; `AUTO` and `NCCL` take what needs least time. The others are accepted and ignored.

    >>> tf.distribute.experimental.CommunicationOptions(bytes_per_pack=1 << 20).bytes_per_pack
    1048576
    """

    def __init__(
        self,
        bytes_per_pack: int = 0,
        timeout_seconds: float | None = None,
        implementation: CommunicationImplementation = CommunicationImplementation.AUTO,
    ) -> None:
        """Keeps the options."""
        self.bytes_per_pack: int = bytes_per_pack
        self.timeout_seconds: float | None = timeout_seconds
        self.implementation: CommunicationImplementation = implementation
