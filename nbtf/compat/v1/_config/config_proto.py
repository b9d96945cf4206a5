"""What a session can be told: `ConfigProto` and `GPUOptions`, with the fields that tutorials set."""

from __future__ import annotations

from nbtf.compat.v1._config.messages import Message

# Order and types of the fields. Source: core/protobuf/config.proto of TensorFlow 2.21, by field number.


class VirtualDevices(Message):
    """Into which logical devices a GPU is divided, in MB."""

    FIELDS = {"memory_limit_mb": [float], "priority": [int]}  # noqa: RUF012  # a table, never changed


class GPUExperimental(Message):
    """What `GPUOptions.experimental` holds."""

    FIELDS = {"virtual_devices": [VirtualDevices], "use_unified_memory": bool}  # noqa: RUF012


class GPUOptions(Message):
    """How the memory of GPUs is taken, and which are visible."""

    FIELDS = {  # noqa: RUF012
        "per_process_gpu_memory_fraction": float,
        "allocator_type": str,
        "deferred_deletion_bytes": int,
        "allow_growth": bool,
        "visible_device_list": str,
        "polling_active_delay_usecs": int,
        "polling_inactive_delay_msecs": int,
        "force_gpu_compatible": bool,
        "experimental": GPUExperimental,
    }


class ConfigProto(Message):
    """The settings of a session."""

    FIELDS = {  # noqa: RUF012
        "device_count": {},
        "intra_op_parallelism_threads": int,
        "placement_period": int,
        "device_filters": [str],
        "inter_op_parallelism_threads": int,
        "gpu_options": GPUOptions,
        "allow_soft_placement": bool,
        "log_device_placement": bool,
        "operation_timeout_in_ms": int,
    }
