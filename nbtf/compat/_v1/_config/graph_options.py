"""Graph optimization options, which are accepted and ignored: graphs run as they were built."""

from __future__ import annotations

from typing import ClassVar

from nbtf._storage.messages.field_types import BOOL, INT32, INT64, STRING, Enum
from nbtf._storage.messages.message import Fields, Message

# Field numbers and types. Source: core/protobuf/config.proto and rewriter_config.proto of TensorFlow 2.21.


class OptimizerOptions(Message):
    """The optimizations that TensorFlow's executor may apply."""

    Level: Enum = Enum(L1=0, L0=-1)
    GlobalJitLevel: Enum = Enum(DEFAULT=0, OFF=-1, ON_1=1, ON_2=2)

    FIELDS: ClassVar[Fields] = {
        "do_common_subexpression_elimination": (1, BOOL),
        "do_constant_folding": (2, BOOL),
        "opt_level": (3, Level),
        "do_function_inlining": (4, BOOL),
        "global_jit_level": (5, GlobalJitLevel),
        "max_folded_constant_in_bytes": (6, INT64),
        "cpu_global_jit": (7, BOOL),
    }


class AutoParallelOptions(Message):
    """Whether a graph is automatically replicated to several GPUs."""

    FIELDS: ClassVar[Fields] = {"enable": (1, BOOL), "num_replicas": (2, INT32)}


class ScopedAllocatorOptions(Message):
    """Ops whose results share one memory allocation."""

    FIELDS: ClassVar[Fields] = {"enable_op": (1, [STRING])}


class VerifierConfig(Message):
    """Whether an optimized graph is verified."""

    Toggle = Enum(DEFAULT=0, ON=1, OFF=2)

    FIELDS: ClassVar[Fields] = {"verification_timeout_in_ms": (1, INT64), "structure_verifier": (2, Toggle)}


class RewriterConfig(Message):
    """The graph rewrites to apply."""

    Toggle = Enum(DEFAULT=0, ON=1, OFF=2, AGGRESSIVE=3, EXPERIMENTAL_MLIR=4, EXPERIMENTAL_BOTH=5)
    CpuLayout = Enum(NO_CONVERSION_ON_CPU=0, NCHW_TO_NHWC=1, NHWC_TO_NCHW=2)
    NumIterationsType = Enum(DEFAULT_NUM_ITERS=0, ONE=1, TWO=2)
    MemOptType = Enum(
        DEFAULT_MEM_OPT=0,
        NO_MEM_OPT=1,
        MANUAL=2,
        SWAPPING_HEURISTICS=4,
        RECOMPUTATION_HEURISTICS=5,
        SCHEDULING_HEURISTICS=6,
        HEURISTICS=3,
    )

    class CustomGraphOptimizer(Message):
        """An optimizer, selected by name."""

        FIELDS: ClassVar[Fields] = {"name": (1, STRING)}

    FIELDS: ClassVar[Fields] = {
        "layout_optimizer": (1, Toggle),
        "disable_model_pruning": (2, BOOL),
        "constant_folding": (3, Toggle),
        "memory_optimization": (4, MemOptType),
        "auto_parallel": (5, AutoParallelOptions),
        "memory_optimizer_target_node_name_scope": (6, STRING),
        "arithmetic_optimization": (7, Toggle),
        "dependency_optimization": (8, Toggle),
        "loop_optimization": (9, Toggle),
        "function_optimization": (10, Toggle),
        "debug_stripper": (11, Toggle),
        "meta_optimizer_iterations": (12, NumIterationsType),
        "shape_optimization": (13, Toggle),
        "remapping": (14, Toggle),
        "scoped_allocator_optimization": (15, Toggle),
        "scoped_allocator_opts": (16, ScopedAllocatorOptions),
        "min_graph_nodes": (17, INT32),
        "pin_to_host_optimization": (18, Toggle),
        "disable_meta_optimizer": (19, BOOL),
        "meta_optimizer_timeout_ms": (20, INT64),
        "fail_on_optimizer_errors": (21, BOOL),
        "implementation_selector": (22, Toggle),
        "auto_mixed_precision": (23, Toggle),
        "common_subgraph_elimination": (24, Toggle),
        "auto_mixed_precision_mkl": (25, Toggle),
        "experimental_disable_compressed_tensor_optimization": (26, BOOL),
        "experimental_disable_folding_quantization_emulation": (27, BOOL),
        "use_plugin_optimizers": (28, Toggle),
        "auto_mixed_precision_cpu": (29, Toggle),
        "experimental_conditional_code_motion": (30, Toggle),
        "auto_mixed_precision_onednn_bfloat16": (31, Toggle),
        "disable_tfg_optimizer": (32, BOOL),
        "cpu_layout_conversion": (50, CpuLayout),
        "optimizers": (100, [STRING]),
        "custom_optimizers": (200, [CustomGraphOptimizer]),
        "inter_optimizer_verifier_config": (300, VerifierConfig),
        "post_optimization_verifier_config": (301, VerifierConfig),
    }


class GraphOptions(Message):
    """How a session treats its graph. Only `place_pruned_graph` takes effect: it places only the nodes to be run."""

    FIELDS: ClassVar[Fields] = {
        "enable_recv_scheduling": (2, BOOL),
        "optimizer_options": (3, OptimizerOptions),
        "build_cost_model": (4, INT64),
        "infer_shapes": (5, BOOL),
        "place_pruned_graph": (6, BOOL),
        "enable_bfloat16_sendrecv": (7, BOOL),
        "timeline_step": (8, INT32),
        "build_cost_model_after": (9, INT64),
        "rewrite_options": (10, RewriterConfig),
    }
