"""What can be used in place of a missing name? Advice for TensorFlow 1's names, and for those that moved."""

from __future__ import annotations

from collections.abc import Sequence

_TF1 = frozenset(
    (
        "AUTO_REUSE AttrValue ConfigProto Dimension GPUOptions GraphDef GraphKeys GraphOptions "
        "InteractiveSession NoGradient NodeDef NotDifferentiable OpError Operation OptimizerOptions Print "
        "RegisterGradient RunMetadata RunOptions Session VariableScope accumulate_n add_check_numerics_ops "
        "add_to_collection add_to_collections all_variables angle app arg_max arg_min assert_greater_equal "
        "assert_integer assert_less_equal assert_near assert_negative assert_non_negative assert_non_positive "
        "assert_none_equal assert_positive assert_proper_iterable assert_rank_at_least assert_rank_in "
        "assert_same_float_dtype assert_scalar assert_type assert_variables_initialized assign assign_add assign_sub "
        "batch_gather bincount ceil check_numerics cholesky cholesky_solve clip_by_average_norm colocate_with "
        "confusion_matrix conj constant_initializer container control_flow_v2_enabled "
        "count_nonzero count_up_to cross cumprod decode_raw device_lib diag diag_part dimension_at_index "
        "dimension_value disable_control_flow_v2 disable_eager_execution disable_resource_variables "
        "disable_tensor_equality disable_v2_behavior disable_v2_tensorshape div div_no_nan enable_control_flow_v2 "
        "enable_eager_execution enable_resource_variables enable_tensor_equality enable_v2_behavior "
        "enable_v2_tensorshape erf erfc executing_eagerly_outside_functions expm1 flags floor_div floordiv floormod "
        "get_collection get_collection_ref get_default_graph get_default_session get_local_variable get_seed "
        "get_variable get_variable_scope gfile global_norm global_variables global_variables_initializer "
        "glorot_normal_initializer glorot_uniform_initializer guarantee_const imag init_scope "
        "initialize_all_variables initialize_local_variables initialize_variables invert_permutation is_finite "
        "is_inf is_nan is_numeric_tensor is_symbolic_tensor is_variable_initialized layers lin_space local_variables "
        "local_variables_initializer log log1p logging logical_xor make_template matrix_band_part matrix_determinant "
        "matrix_diag matrix_diag_part matrix_inverse matrix_set_diag matrix_solve matrix_transpose "
        "matrix_triangular_solve mod model_variables moving_average_variables multinomial no_gradient no_regularizer "
        "ones_initializer op_scope orthogonal_initializer parallel_stack placeholder placeholder_with_default "
        "py_func qr random_normal random_normal_initializer random_shuffle random_uniform random_uniform_initializer "
        "real realdiv reciprocal reduce_join regex_replace report_uninitialized_variables reset_default_graph "
        "resource_variables_enabled reverse_v2 rint rsqrt scatter_add scatter_nd_add scatter_nd_sub "
        "scatter_nd_update scatter_sub scatter_update segment_max segment_mean segment_min segment_prod segment_sum "
        "self_adjoint_eig self_adjoint_eigvals set_random_seed shape_n sparse_reorder sparse_tensor_dense_matmul "
        "sparse_tensor_to_dense squared_difference string_join string_split string_strip string_to_number substr svd "
        "tables_initializer tensor_scatter_add tensor_scatter_sub tensor_scatter_update to_bfloat16 to_complex128 "
        "to_complex64 to_double to_float to_int32 to_int64 top_k trace trainable_variables truncated_normal "
        "truncated_normal_initializer tuple uniform_unit_scaling_initializer unsorted_segment_max "
        "unsorted_segment_mean unsorted_segment_min unsorted_segment_prod unsorted_segment_sqrt_n "
        "unsorted_segment_sum variable_op_scope variable_scope variables_initializer variance_scaling_initializer "
        "verify_tensor_all_finite where_v2 zeros_initializer"
    ).split()
)
"""Names of TensorFlow 1 that `compat.v1` has."""

_IN_BOTH = frozenset(
    (
        "Operation RegisterGradient constant_initializer guarantee_const init_scope "
        "is_symbolic_tensor no_gradient ones_initializer parallel_stack random_normal_initializer "
        "random_uniform_initializer realdiv shape_n tuple zeros_initializer"
    ).split()
)
"""Those that TensorFlow 2 has as well; in nbtf they belong to graphs."""

IN_TENSORFLOW_1_ALONE = _TF1 - _IN_BOTH
"""Names that distinguish a TensorFlow 1 program from a TensorFlow 2 program."""

_TODAY = {
    "mul": "tf.multiply",
    "sub": "tf.subtract",
    "neg": "tf.negative",
    "pack": "tf.stack",
    "unpack": "tf.unstack",
    "log": "tf.math.log",
    "to_float": "tf.cast(x, tf.float32)",
    "to_double": "tf.cast(x, tf.float64)",
    "to_int32": "tf.cast(x, tf.int32)",
    "to_int64": "tf.cast(x, tf.int64)",
    "random_normal": "tf.random.normal",
    "random_uniform": "tf.random.uniform",
    "truncated_normal": "tf.random.truncated_normal",
    "random_shuffle": "tf.random.shuffle",
    "set_random_seed": "tf.random.set_seed",
    "assign": "variable.assign(value)",
    "assign_add": "variable.assign_add(value)",
    "assign_sub": "variable.assign_sub(value)",
    "Print": "tf.print",
    "ceil": "tf.math.ceil",
    "is_nan": "tf.math.is_nan",
    "lgamma": "tf.math.lgamma",
    "layers": "tf.keras.layers",
    "losses": "tf.keras.losses",
    "gfile": "Python's own files",
    "py_func": "tf.py_function",
}
"""Current names of things that were renamed."""

_AT_ONCE = {
    "Session": "Ops run immediately: call `tf.compat.v1.disable_eager_execution()` before building a graph.",
    "global_variables_initializer": "Variables have their value immediately.",
    "placeholder": "Ops run immediately: write a function with an argument.",
}
"""Advice for names that no longer exist because ops run immediately."""

CONTRIB = (
    "tf.contrib ended with TensorFlow 1. Its parts are now in tf.keras, tf.distribute and tf.data, "
    "or in separate libraries."
)


def missing(name: str) -> AttributeError:
    """Returns the AttributeError for a missing name of the root namespace."""
    return absence("nbtf", name, hint(name))


def absence(module: str, name: str, advice: str = "") -> AttributeError:
    """Returns the AttributeError for a name that a module lacks, in Python's words; a note below gives the advice.

    With advice, `obj=None` keeps Python from adding a guess of its own.
    """
    text = f"module '{module}' has no attribute '{name}'"
    if not advice:
        return AttributeError(text)
    error = AttributeError(text, obj=None)
    error.add_note(advice)
    return error


def hint(name: str) -> str:
    """Returns what to use in place of a name of the root namespace; empty for a name that never existed."""
    if name == "contrib":
        return CONTRIB
    today = f"Current name: {_TODAY[name]}." if name in _TODAY else ""
    if name in _IN_BOTH:
        return f"It exists for graphs: write `tf.compat.v1.{name}`."
    if name in _TF1:
        both = f"`tf.compat.v1.{name}`, or `import nbtf.compat.v1 as tf` for a whole program"
        return f"It belongs to TensorFlow 1: write {both}. {today or _AT_ONCE.get(name, '')}".rstrip()
    return today


def of_namespace(module: str, name: str, offered: Sequence[str]) -> AttributeError:
    """Returns the AttributeError for a name of a namespace that nbtf has in part; a note lists the available names."""
    error = AttributeError(f"module '{module}' has no attribute '{name}'")
    error.add_note(f"Available: {', '.join(sorted(public for public in offered if public[0] != '_'))}.")
    return error
