"""The configuration messages of sessions."""

from __future__ import annotations

from typing import ClassVar

from nbtf._storage.messages.field_types import BOOL, DOUBLE, FLOAT, INT32, INT64, STRING, Enum
from nbtf._storage.messages.message import Fields, Message
from nbtf.compat._v1._config.cluster import ClusterDef, CoordinationServiceConfig, RPCOptions
from nbtf.compat._v1._config.graph_options import GraphOptions as GraphOptions
from nbtf.compat._v1._config.graph_options import OptimizerOptions as OptimizerOptions
from nbtf.compat._v1._config.step_stats import StepStats

# Field numbers and types. Source: core/protobuf/config.proto of TensorFlow 2.21.


class GPUOptions(Message):
    """How GPU memory is allocated, and which GPUs are visible.

    The options of the first session apply to the whole process, as in TensorFlow; `tf.runtime.restart()` resets them.

    >>> import nbtf.compat.v1 as tf1
    >>> tf1.GPUOptions(per_process_gpu_memory_fraction=0.4, allow_growth=True)
    per_process_gpu_memory_fraction: 0.4
    allow_growth: true
    <BLANKLINE>
    """

    class Experimental(Message):
        """Experimental options."""

        class VirtualDevices(Message):
            """The logical devices into which one GPU is divided, with sizes in MiB."""

            FIELDS: ClassVar[Fields] = {
                "memory_limit_mb": (1, [FLOAT]),
                "priority": (2, [INT32]),
                "device_ordinal": (3, [INT32]),
            }

        class StreamMergeOptions(Message):
            """Which streams of a real GPU are merged."""

            FIELDS: ClassVar[Fields] = {
                "merge_host_to_device_stream": (1, BOOL),
                "merge_device_to_host_stream": (2, BOOL),
                "merge_device_to_device_stream": (3, BOOL),
            }

        FIELDS: ClassVar[Fields] = {
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

    FIELDS: ClassVar[Fields] = {
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


class ThreadPoolOptionProto(Message):
    """A thread pool. Accepted without effect, because NumPy uses its own threads."""

    FIELDS: ClassVar[Fields] = {"num_threads": (1, INT32), "global_name": (2, STRING)}


class SessionMetadata(Message):
    """The name of a session."""

    FIELDS: ClassVar[Fields] = {"name": (1, STRING), "version": (2, INT64)}


class ConfigProto(Message):
    """The configuration of a session.

    `allow_soft_placement`, `log_device_placement`, `device_count`, `gpu_options` and
    `graph_options.place_pruned_graph` take effect. All other fields are accepted and ignored.

    >>> import nbtf.compat.v1 as tf1
    >>> config = tf1.ConfigProto(log_device_placement=True)
    >>> config.gpu_options.allow_growth = True
    >>> print(config, end="")
    gpu_options {
      allow_growth: true
    }
    log_device_placement: true
    """

    class Experimental(Message):
        """Experimental options, which are accepted and ignored."""

        MlirBridgeRollout: Enum = Enum(
            MLIR_BRIDGE_ROLLOUT_UNSPECIFIED=0, MLIR_BRIDGE_ROLLOUT_ENABLED=1, MLIR_BRIDGE_ROLLOUT_DISABLED=2
        )

        FIELDS: ClassVar[Fields] = {
            "collective_group_leader": (1, STRING),
            "executor_type": (3, STRING),
            "recv_buf_max_chunk": (4, INT32),
            "use_numa_affinity": (5, BOOL),
            "collective_deterministic_sequential_execution": (6, BOOL),
            "collective_nccl": (7, BOOL),
            "share_session_state_in_clusterspec_propagation": (8, BOOL),
            "disable_thread_spinning": (9, BOOL),
            "share_cluster_devices_in_session": (10, BOOL),
            "session_metadata": (11, SessionMetadata),
            "optimize_for_static_graph": (12, BOOL),
            "enable_mlir_bridge": (13, BOOL),
            "disable_output_partition_graphs": (14, BOOL),
            "xla_fusion_autotuner_thresh": (15, INT64),
            "enable_mlir_graph_optimization": (16, BOOL),
            "mlir_bridge_rollout": (17, MlirBridgeRollout),
            "use_tfrt": (18, BOOL),
            "disable_functional_ops_lowering": (21, BOOL),
            "xla_prefer_single_graph_cluster": (22, BOOL),
            "coordination_config": (23, CoordinationServiceConfig),
            "disable_optimize_for_static_graph": (24, BOOL),
            "disable_eager_executor_streaming_enqueue": (26, BOOL),
            "enable_multi_host": (27, BOOL),
            "backend_server_port": (28, INT32),
            "target_tpu": (29, BOOL),
            "target_gpu": (30, BOOL),
            "stream_merge_threshold": (31, INT32),
            "tfrt_use_ifrt": (32, BOOL),
            "finalize_function_library_runtime": (33, BOOL),
            "finalize_resource_manager": (34, BOOL),
            "tf2xla_dump_dir": (35, STRING),
            "online_cost_analysis": (36, BOOL),
        }

    FIELDS: ClassVar[Fields] = {
        "device_count": (1, {STRING: INT32}),
        "intra_op_parallelism_threads": (2, INT32),
        "placement_period": (3, INT32),
        "device_filters": (4, [STRING]),
        "inter_op_parallelism_threads": (5, INT32),
        "gpu_options": (6, GPUOptions),
        "allow_soft_placement": (7, BOOL),
        "log_device_placement": (8, BOOL),
        "use_per_session_threads": (9, BOOL),
        "graph_options": (10, GraphOptions),
        "operation_timeout_in_ms": (11, INT64),
        "session_inter_op_thread_pool": (12, [ThreadPoolOptionProto]),
        "rpc_options": (13, RPCOptions),
        "cluster_def": (14, ClusterDef),
        "isolate_session_state": (15, BOOL),
        "experimental": (16, Experimental),
        "share_cluster_devices_in_session": (17, BOOL),
        "pluggable_device_options": (18, GPUOptions),
    }


class RunOptions(Message):
    """The options of one run. Only `trace_level` takes effect: above `NO_TRACE`, the run is measured."""

    TraceLevel: Enum = Enum(NO_TRACE=0, SOFTWARE_TRACE=1, HARDWARE_TRACE=2, FULL_TRACE=3)

    class Experimental(Message):
        """Experimental options."""

        class RunHandlerPoolOptions(Message):
            """The priority of a run."""

            FIELDS: ClassVar[Fields] = {"priority": (1, INT64)}

        FIELDS: ClassVar[Fields] = {
            "collective_graph_key": (1, INT64),
            "use_run_handler_pool": (2, BOOL),
            "run_handler_pool_options": (3, RunHandlerPoolOptions),
        }

    FIELDS: ClassVar[Fields] = {
        "trace_level": (1, TraceLevel),
        "timeout_in_ms": (2, INT64),
        "inter_op_thread_pool": (3, INT32),
        "output_partition_graphs": (5, BOOL),
        "report_tensor_allocations_upon_oom": (7, BOOL),
        "experimental": (8, Experimental),
    }


class RunMetadata(Message):
    """The report of one run: when each node ran, if `RunOptions.trace_level` requests it."""

    FIELDS: ClassVar[Fields] = {"step_stats": (1, StepStats), "session_metadata": (5, SessionMetadata)}
