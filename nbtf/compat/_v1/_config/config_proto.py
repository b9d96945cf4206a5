"""The configuration messages of sessions, with the fields that programs for GPUs set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from nbtf._storage.messages.field_types import BOOL, DOUBLE, FLOAT, INT32, INT64, STRING, Enum
from nbtf._storage.messages.message import Fields, Message
from nbtf.compat._v1._config.cluster import ClusterDef
from nbtf.compat._v1._surface.removed import advice_for

# Field numbers and types. Source: core/protobuf/config.proto and rewriter_config.proto of TensorFlow 2.21.


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

        FIELDS: ClassVar[Fields] = {
            "virtual_devices": (1, [VirtualDevices]),
            "use_unified_memory": (2, BOOL),
            "internal_fragmentation_fraction": (10, DOUBLE),
            "use_cuda_malloc_async": (11, BOOL),
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


class OptimizerOptions(Message):
    """The optimizations that TensorFlow's executor may apply. Accepted without effect."""

    Level: Enum = Enum(L1=0, L0=-1)
    GlobalJitLevel: Enum = Enum(DEFAULT=0, OFF=-1, ON_1=1, ON_2=2)

    REMOVED: ClassVar[Mapping[str, str]] = advice_for("OptimizerOptions")
    FIELDS: ClassVar[Fields] = {
        "do_common_subexpression_elimination": (1, BOOL),
        "do_constant_folding": (2, BOOL),
        "opt_level": (3, Level),
        "do_function_inlining": (4, BOOL),
        "global_jit_level": (5, GlobalJitLevel),
        "cpu_global_jit": (7, BOOL),
    }


class RewriterConfig(Message):
    """The graph rewrites to apply. Accepted without effect, because graphs run as they were built."""

    Toggle = Enum(DEFAULT=0, ON=1, OFF=2, AGGRESSIVE=3)

    FIELDS: ClassVar[Fields] = {
        "layout_optimizer": (1, Toggle),
        "constant_folding": (3, Toggle),
        "memory_optimization": (4, INT32),
        "arithmetic_optimization": (7, Toggle),
        "dependency_optimization": (8, Toggle),
        "disable_meta_optimizer": (19, BOOL),
        "auto_mixed_precision": (23, Toggle),
    }


class GraphOptions(Message):
    """How a session treats its graph. Only `place_pruned_graph` takes effect: it places only the nodes to be run."""

    REMOVED: ClassVar[Mapping[str, str]] = advice_for("GraphOptions")
    FIELDS: ClassVar[Fields] = {
        "optimizer_options": (3, OptimizerOptions),
        "build_cost_model": (4, INT64),
        "infer_shapes": (5, BOOL),
        "place_pruned_graph": (6, BOOL),
        "rewrite_options": (10, RewriterConfig),
    }


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

    REMOVED: ClassVar[Mapping[str, str]] = advice_for("ConfigProto")
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
        "cluster_def": (14, ClusterDef),
        "isolate_session_state": (15, BOOL),
    }


class RunOptions(Message):
    """The options of one run, which are accepted and ignored."""

    TraceLevel: Enum = Enum(NO_TRACE=0, SOFTWARE_TRACE=1, HARDWARE_TRACE=2, FULL_TRACE=3)

    REMOVED: ClassVar[Mapping[str, str]] = advice_for("RunOptions")
    FIELDS: ClassVar[Fields] = {
        "trace_level": (1, TraceLevel),
        "timeout_in_ms": (2, INT64),
        "output_partition_graphs": (5, BOOL),
        "report_tensor_allocations_upon_oom": (7, BOOL),
    }


class RunMetadata(Message):
    """The report of one run, which stays empty; `tf.runtime.recording()` shows when and where each node ran."""

    REMOVED: ClassVar[Mapping[str, str]] = advice_for("RunMetadata")
    FIELDS: ClassVar[Fields] = {}
