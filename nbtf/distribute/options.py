"""Options of distributed datasets and of `strategy.run`: `InputOptions` and `RunOptions`."""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple


class InputReplicationMode(Enum):
    """How often `distribute_datasets_from_function` calls its function: once per worker or once per replica."""

    PER_WORKER = "PER_WORKER"
    PER_REPLICA = "PER_REPLICA"


class InputOptions(NamedTuple):
    """How the elements of a dataset reach the replicas.

    Attributes:
      experimental_fetch_to_device: whether each replica's rows are copied to its device; False leaves them on CPU:0.
      experimental_replication_mode: whether `distribute_datasets_from_function` calls its function once per worker or
        once per replica.
      experimental_place_dataset_on_device: accepted but ignored, because datasets run on the CPU.
      experimental_per_replica_buffer_size: accepted but ignored, because elements are produced on demand.

    >>> tf.distribute.InputOptions(experimental_fetch_to_device=False).experimental_fetch_to_device
    False
    """

    experimental_fetch_to_device: bool = True
    experimental_replication_mode: InputReplicationMode = InputReplicationMode.PER_WORKER
    experimental_place_dataset_on_device: bool = False
    experimental_per_replica_buffer_size: int = 1

    @property
    def is_per_replica(self) -> bool:
        """Whether each replica has its own dataset."""
        return self.experimental_replication_mode is InputReplicationMode.PER_REPLICA


class RunOptions(NamedTuple):
    """How `strategy.run` compiles for TPUs; it has no effect on other devices.

    Attributes:
      experimental_enable_dynamic_batch_size: accepted but ignored.
      experimental_bucketizing_dynamic_shape: accepted but ignored.
      experimental_xla_options: accepted but ignored.
    """

    experimental_enable_dynamic_batch_size: bool = True
    experimental_bucketizing_dynamic_shape: bool = False
    experimental_xla_options: Any = None
