"""How a session takes the memory of GPUs, and which GPUs it sees."""

from __future__ import annotations

from nbtf.compat._v1._config.field_types import BOOL, DOUBLE, FLOAT, INT32, INT64, STRING
from nbtf.compat._v1._config.messages import Message

# Numbers and kinds of the fields. Source: core/protobuf/config.proto of TensorFlow 2.21.


class GPUOptions(Message):
    """How the memory of GPUs is taken, and which are visible.

    The options of the first session hold for the process, as in TensorFlow; `tf.runtime.restart()` starts anew.

    >>> import nbtf.compat.v1 as tf1
    >>> tf1.GPUOptions(per_process_gpu_memory_fraction=0.4, allow_growth=True)
    per_process_gpu_memory_fraction: 0.4
    allow_growth: true
    <BLANKLINE>
    """

    class Experimental(Message):
        """What is there for trial."""

        class VirtualDevices(Message):
            """Into which logical devices one GPU is divided, sizes in MiB."""

            FIELDS = {  # noqa: RUF012  # a table, never changed
                "memory_limit_mb": (1, [FLOAT]),
                "priority": (2, [INT32]),
                "device_ordinal": (3, [INT32]),
            }

        class StreamMergeOptions(Message):
            """Which streams of a real GPU are one."""

            FIELDS = {  # noqa: RUF012
                "merge_host_to_device_stream": (1, BOOL),
                "merge_device_to_host_stream": (2, BOOL),
                "merge_device_to_device_stream": (3, BOOL),
            }

        FIELDS = {  # noqa: RUF012
            "virtual_devices": (1, [VirtualDevices]),
            "use_unified_memory": (2, BOOL),
            "num_dev_to_dev_copy_streams": (3, INT32),
            "collective_ring_order": (4, STRING),
            "timestamped_allocator": (5, BOOL),
            "kernel_tracker_max_interval": (7, INT32),
            "kernel_tracker_max_bytes": (8, INT32),
            "kernel_tracker_max_pending": (9, INT32),
            "internal_fragmentation_fraction": (10, DOUBLE),
            "use_cuda_malloc_async": (11, BOOL),
            "disallow_retry_on_allocation_failure": (12, BOOL),
            "gpu_host_mem_limit_in_mb": (13, FLOAT),
            "gpu_host_mem_disallow_growth": (14, BOOL),
            "num_virtual_devices_per_gpu": (15, INT32),
            "gpu_system_memory_size_in_mb": (16, INT32),
            "populate_pjrt_gpu_client_creation_info": (17, BOOL),
            "node_id": (18, INT32),
            "stream_merge_options": (19, StreamMergeOptions),
        }

    FIELDS = {  # noqa: RUF012
        "per_process_gpu_memory_fraction": (1, DOUBLE),
        "allocator_type": (2, STRING),
        "deferred_deletion_bytes": (3, INT64),
        "allow_growth": (4, BOOL),
        "visible_device_list": (5, STRING),
        "polling_active_delay_usecs": (6, INT32),
        "polling_inactive_delay_msecs": (7, INT32),
        "force_gpu_compatible": (8, BOOL),
        "experimental": (9, Experimental),
    }
