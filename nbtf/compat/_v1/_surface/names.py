"""Where the names of `tf.compat.v1` come from: modules of this package, rows of the table, or `nbtf` itself."""

from __future__ import annotations


def _name_modules(names: dict[str, str]) -> dict[str, str]:
    """Maps each name to its module, given the names in each module."""
    return {name: module for module, text in names.items() for name in text.split()}


_CHECKS = (
    "Assert assert_equal assert_greater assert_greater_equal assert_less assert_less_equal assert_near assert_negative "
    "assert_non_negative assert_non_positive assert_none_equal assert_positive assert_rank assert_rank_at_least "
    "assert_rank_in assert_type"
)

FROM = _name_modules(
    {
        # graphs
        "nbtf._graph.node_def": "AttrValue NodeDef",
        "_graph.device_spec": "DeviceSpec",
        "_graph.graph": "Graph GraphDef",
        "nbtf._graph.operation": "Operation",
        "_graph.defaults": (
            "colocate_with constant control_dependencies device get_default_graph init_scope name_scope no_op "
            "placeholder reset_default_graph"
        ),
        "_graph.grouping": "group tuple",
        # sessions
        "_config.config_proto": "ConfigProto GPUOptions GraphOptions OptimizerOptions RunMetadata RunOptions",
        "_session.session": "InteractiveSession Session",
        "_session.defaults": "get_default_session",
        "nbtf._storage.summary_metadata": "SummaryMetadata",
        # variables
        "_variables.store": "AUTO_REUSE",
        "_variables.keys": "GraphKeys add_to_collection add_to_collections get_collection get_collection_ref",
        "_variables.variable_classes": "Variable",
        "_variables.scopes": (
            "VariableScope get_local_variable get_variable get_variable_scope no_regularizer variable_scope"
        ),
        "_variables.initializing": (
            "all_variables disable_resource_variables enable_resource_variables global_variables "
            "global_variables_initializer initialize_all_variables initialize_local_variables initialize_variables "
            "is_variable_initialized local_variables local_variables_initializer model_variables "
            "moving_average_variables report_uninitialized_variables resource_variables_enabled tables_initializer "
            "trainable_variables variables_initializer"
        ),
        "_variables.assigning": (
            "assign assign_add assign_sub scatter_add scatter_div scatter_max scatter_min scatter_mul scatter_nd_add "
            "scatter_nd_sub scatter_nd_update scatter_sub scatter_update"
        ),
        "_variables.initializers": (
            "constant_initializer glorot_normal_initializer glorot_uniform_initializer ones_initializer "
            "orthogonal_initializer random_normal_initializer random_uniform_initializer "
            "truncated_normal_initializer variance_scaling_initializer zeros_initializer"
        ),
        "_variables.template": "make_template",
        # ops with rules of their own
        "_surface.arithmetic": (
            "add_n batch_gather clip_by_global_norm div divide floordiv is_numeric_tensor matmul realdiv scalar_mul "
            "truediv where"
        ),
        "_surface.making": (
            "concat convert_to_tensor fill get_seed is_symbolic_tensor one_hot ones ones_like placeholder_with_default "
            "rank shape size stack transpose zeros zeros_like"
        ),
        "_surface.random_numbers": (
            "multinomial random_crop random_normal random_shuffle random_uniform set_random_seed truncated_normal"
        ),
        # training
        "_graph.custom_gradients": "custom_gradient",
        "_graph.gradients": "gradients hessians",
        # control flow, and nodes that run Python
        "_surface.cases": "case switch_case",
        "_surface.control": "cond while_loop",
        "_surface.folding": "foldl foldr map_fn scan",
        "_surface.checks": _CHECKS,
        "_surface.python_nodes": "Print numpy_function print py_func py_function",
        # settings of the process
        "_graph.dimension": "Dimension dimension_at_index dimension_value",
        "_surface.switches": (
            "control_flow_v2_enabled disable_control_flow_v2 disable_eager_execution disable_tensor_equality "
            "disable_v2_behavior disable_v2_tensorshape enable_control_flow_v2 enable_eager_execution "
            "enable_tensor_equality enable_v2_behavior enable_v2_tensorshape executing_eagerly "
            "executing_eagerly_outside_functions"
        ),
    }
)
"""Names of TensorFlow 1 and the modules that define them."""

NAMESPACES = frozenset("app device_lib flags gfile initializers layers logging losses summary train".split())
"""Namespaces that are real modules, such as `train`."""

WRAPPED_NAMESPACES: dict[str, dict[str, str] | None] = {
    "bitwise": {},
    "compat": None,
    "data": {"make_one_shot_iterator": "_surface.iterators"},
    "debugging": _name_modules({"_surface.checks": _CHECKS}),
    "image": {},
    "io": {},
    "linalg": {},
    "math": {},
    "nn": _name_modules(
        {
            "_surface.neural": (
                "ctc_beam_search_decoder ctc_loss dropout softmax_cross_entropy_with_logits "
                "sparse_softmax_cross_entropy_with_logits xw_plus_b"
            ),
        }
    ),
    "quantization": {},
    "ragged": {},
    "random": _name_modules(
        {
            "_surface.random_numbers": (
                "categorical multinomial normal set_random_seed shuffle truncated_normal uniform"
            ),
            "_surface.making": "get_seed",
        }
    ),
    "raw_ops": {},
    "saved_model": None,
    "sparse": {},
    "strings": {},
    "test": None,
}
"""Namespaces of `nbtf` whose functions build graphs here, with the names that TensorFlow 1 adds to them.

For None, the functions stay unchanged.
"""

MOVED = _name_modules(
    {
        "errors": "OpError",
        "io": "decode_raw",
        "debugging": "assert_proper_iterable assert_same_float_dtype assert_integer assert_scalar check_numerics",
        "math": (
            "accumulate_n angle bincount ceil conj cumprod erf erfc expm1 floormod imag invert_permutation is_finite "
            "is_inf is_nan log log1p logical_xor mod real reciprocal rint rsqrt segment_max segment_mean segment_min "
            "segment_prod segment_sum squared_difference unsorted_segment_max unsorted_segment_mean "
            "unsorted_segment_min unsorted_segment_prod unsorted_segment_sqrt_n unsorted_segment_sum"
        ),
        "linalg": "cholesky cholesky_solve cross matrix_transpose qr svd trace",
        "strings": "reduce_join regex_replace substr",
        "nn": "top_k",
    }
) | {
    "floor_div": "math.floordiv",
    "reverse_v2": ".reverse",
    "where_v2": ".where",
    "string_split": "strings.split",
    "sparse_tensor_dense_matmul": "sparse.sparse_dense_matmul",
    "sparse_reorder": "sparse.reorder",
    "sparse_tensor_to_dense": "sparse.to_dense",
    "tensor_scatter_update": ".tensor_scatter_nd_update",
    "tensor_scatter_sub": ".tensor_scatter_nd_sub",
    "tensor_scatter_add": ".tensor_scatter_nd_add",
    "diag": "linalg.tensor_diag",
    "diag_part": "linalg.tensor_diag_part",
    "matrix_band_part": "linalg.band_part",
    "matrix_determinant": "linalg.det",
    "matrix_diag": "linalg.diag",
    "matrix_diag_part": "linalg.diag_part",
    "matrix_inverse": "linalg.inv",
    "matrix_set_diag": "linalg.set_diag",
    "matrix_solve": "linalg.solve",
    "matrix_triangular_solve": "linalg.triangular_solve",
    "self_adjoint_eig": "linalg.eigh",
    "self_adjoint_eigvals": "linalg.eigvalsh",
    "string_join": "strings.join",
    "string_strip": "strings.strip",
    "string_to_number": "strings.to_number",
    "verify_tensor_all_finite": "debugging.assert_all_finite",
}
"""TensorFlow 1 names that have moved: the current namespace, and the current name if it changed."""
