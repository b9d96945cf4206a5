"""`tf.compat.v1`: TensorFlow 1, graphs and sessions.

Ops run eagerly, as in TensorFlow 2, unless graphs are switched on. `disable_eager_execution` and `disable_v2_behavior`
switch all of `tf`, `with tf.Graph().as_default()` switches a block, and a program's own `import nbtf.compat.v1 as tf`
switches only the names of this module. Functions that take `name` use it as the name, or name prefix, of their nodes.

>>> graph = tf.Graph()
>>> with graph.as_default():
...     c = tf.constant(1.0) + tf.constant(2.0)
>>> tf.compat.v1.Session(graph=graph).run(c)
np.float32(3.0)
"""

from __future__ import annotations

import sys as _sys
from importlib import import_module as _import_module
from typing import Any as _Any

_V1 = "nbtf.compat._v1."


def _name_modules(names: dict[str, str]) -> dict[str, str]:
    """Maps each name to its module, given the names in each module."""
    return {name: module for module, text in names.items() for name in text.split()}


_FROM = _name_modules(
    {
        # graphs
        "nbtf._graph.node_def": "AttrValue NodeDef",
        "_graph.device_spec": "DeviceSpec",
        "_graph.graph": "Graph",
        "_graph.requests": "GraphDef",
        "nbtf._graph.operation": "Operation",
        "_graph.defaults": (
            "colocate_with constant control_dependencies device get_default_graph name_scope no_op placeholder "
            "reset_default_graph"
        ),
        "_graph.grouping": "group",
        # sessions
        "_config.config_proto": "ConfigProto GPUOptions GraphOptions OptimizerOptions RunMetadata RunOptions",
        "_session.session": "InteractiveSession Session",
        "_session.defaults": "get_default_session",
        # variables
        "_variables.store": "AUTO_REUSE",
        "_variables.keys": "GraphKeys add_to_collection add_to_collections get_collection get_collection_ref",
        "_variables.variable_classes": "Variable",
        "_variables.scopes": (
            "VariableScope get_local_variable get_variable get_variable_scope no_regularizer variable_op_scope "
            "variable_scope"
        ),
        "_variables.initializing": (
            "all_variables assert_variables_initialized disable_resource_variables enable_resource_variables "
            "global_variables global_variables_initializer initialize_all_variables initialize_local_variables "
            "initialize_variables is_variable_initialized local_variables local_variables_initializer "
            "model_variables moving_average_variables report_uninitialized_variables resource_variables_enabled "
            "tables_initializer trainable_variables variables_initializer"
        ),
        "_variables.assigning": (
            "assign assign_add assign_sub count_up_to scatter_add scatter_nd_add scatter_nd_sub scatter_nd_update "
            "scatter_div scatter_max scatter_min scatter_mul scatter_sub scatter_update"
        ),
        "_variables.initializers": (
            "constant_initializer glorot_normal_initializer glorot_uniform_initializer ones_initializer "
            "orthogonal_initializer random_normal_initializer random_uniform_initializer "
            "truncated_normal_initializer uniform_unit_scaling_initializer variance_scaling_initializer "
            "zeros_initializer"
        ),
        "_variables.template": "make_template",
        # ops with the arguments of TensorFlow 1
        "_surface.arithmetic": (
            "accumulate_n add_n div div_no_nan divide floor_div floordiv floormod is_numeric_tensor logical_xor "
            "matmul mod realdiv scalar_mul to_bfloat16 to_complex128 to_complex64 to_double to_float to_int32 "
            "to_int64 truediv where clip_by_average_norm clip_by_global_norm clip_by_norm clip_by_value global_norm"
        ),
        "_surface.reductions": (
            "argmax argmin count_nonzero reduce_all reduce_any reduce_logsumexp reduce_max reduce_mean reduce_min "
            "reduce_prod reduce_sum"
        ),
        "_surface.making": (
            "convert_to_tensor fill get_seed one_hot ones ones_like placeholder_with_default rank shape size zeros "
            "zeros_like"
        ),
        "_surface.arranging": (
            "boolean_mask concat expand_dims gather pad range reverse_v2 split squeeze stack transpose"
        ),
        "_surface.random_numbers": (
            "multinomial random_crop random_normal random_shuffle random_uniform set_random_seed truncated_normal"
        ),
        # training
        "_graph.custom_gradients": "custom_gradient",
        "_graph.gradients": "gradients hessians",
        # names for still older programs
        "_surface.older": (
            "NoGradient NotDifferentiable RegisterGradient arg_max arg_min batch_gather container "
            "control_flow_v2_enabled disable_control_flow_v2 enable_control_flow_v2 "
            "executing_eagerly_outside_functions guarantee_const init_scope is_symbolic_tensor lin_space no_gradient "
            "op_scope parallel_stack shape_n sparse_to_dense where_v2"
        ),
        # control flow, and nodes that run Python
        "_surface.cases": "case switch_case",
        "_surface.control": "cond while_loop",
        "_surface.folding": "foldl foldr map_fn scan",
        "_surface.checks": (
            "confusion_matrix Assert add_check_numerics_ops assert_equal assert_greater assert_greater_equal "
            "assert_less assert_less_equal assert_near assert_negative assert_non_negative assert_non_positive "
            "assert_none_equal assert_positive assert_rank assert_rank_at_least assert_rank_in assert_type"
        ),
        "_surface.joint": "tuple",
        "_surface.python_nodes": "Print numpy_function print py_func py_function",
        # settings of the process
        "_graph.dimension": "Dimension dimension_at_index dimension_value",
        "_surface.switches": (
            "disable_eager_execution disable_tensor_equality disable_v2_behavior disable_v2_tensorshape "
            "enable_eager_execution enable_tensor_equality enable_v2_behavior enable_v2_tensorshape "
            "executing_eagerly"
        ),
    }
)
"""TensorFlow 1 names and the modules that define them."""

_NAMESPACES = frozenset("app device_lib flags gfile initializers layers logging losses metrics summary train".split())
"""Namespaces that are real modules, such as `train`."""

_WRAPPED_NAMESPACES: dict[str, dict[str, str] | None] = {
    "bitwise": {},
    "compat": None,
    "data": _name_modules({"_surface.iterators": "make_one_shot_iterator"}),
    "debugging": _name_modules(
        {
            "_surface.checks": (
                "Assert assert_equal assert_greater assert_greater_equal assert_less assert_less_equal assert_near "
                "assert_negative assert_non_negative assert_non_positive assert_none_equal assert_positive "
                "assert_rank assert_rank_at_least assert_rank_in assert_type"
            ),
        }
    ),
    "image": {},
    "io": {},
    "linalg": {},
    "math": {},
    "nn": _name_modules(
        {
            "_surface.neural": (
                "avg_pool batch_normalization conv2d conv2d_transpose dropout embedding_lookup fused_batch_norm "
                "in_top_k l2_normalize log_softmax max_pool moments relu_layer softmax xw_plus_b zero_fraction "
                "sigmoid_cross_entropy_with_logits softmax_cross_entropy_with_logits "
                "softmax_cross_entropy_with_logits_v2 sparse_softmax_cross_entropy_with_logits "
                "weighted_cross_entropy_with_logits"
            ),
        }
    ),
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


def own_version(name: str, value: _Any) -> _Any:
    """Returns the `compat.v1` version of a public `nbtf` function: a separate implementation, or a wrapper.

    Args:
      name: name of the function; `tf.math.add` and `tf.add` are the same function.
      value: the `nbtf` object with that name; anything but a function is returned unchanged.
    """
    import nbtf
    from nbtf.compat._v1._surface.wrapping import eager, wrapped

    if name in _FROM and eager(getattr(nbtf, name, value)) is eager(value):
        return getattr(_sys.modules[__name__], name)
    return wrapped(value)


_MOVED = _name_modules(
    {
        "errors": "OpError",
        "io": "decode_raw",
        "debugging": "assert_proper_iterable assert_same_float_dtype assert_integer assert_scalar check_numerics",
        "math": (
            "unsorted_segment_sqrt_n angle bincount ceil conj cumprod erf erfc expm1 imag invert_permutation "
            "is_finite is_inf is_nan log log1p real reciprocal rint rsqrt segment_max segment_mean segment_min "
            "segment_prod segment_sum squared_difference unsorted_segment_max unsorted_segment_mean "
            "unsorted_segment_min unsorted_segment_prod unsorted_segment_sum"
        ),
        "linalg": "cholesky cholesky_solve cross matrix_transpose qr svd trace",
        "strings": "reduce_join regex_replace substr",
        "nn": "top_k",
    }
) | {
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

_EAGER = frozenset({"Variable"})
"""Names that resolve to the eager `nbtf` functions after `enable_eager_execution`, outside graphs."""

_SWITCHED = _EAGER | {"TensorShape"}
"""Names that are looked up on every access, because `tf.runtime.restart` can change their values without a switch."""

_KEPT = set[str]()
"""Names that have been looked up; they stay in the module's namespace until the next switch.

They shadow builtins such as `print` and `range` in this file, which therefore uses none of those.
"""


def forget() -> None:
    """Discards all cached names after a switch, so that they are looked up again."""
    for name in _KEPT:
        globals().pop(name, None)
    _KEPT.clear()


def _find(name: str) -> _Any:
    import nbtf
    from nbtf.compat._v1._graph.defaults import building
    from nbtf.compat._v1._graph.process import process

    now = process()
    if name == "TensorShape" and not now.v2_shapes:
        from nbtf.compat._v1._graph.dimension import DimensionedShape

        return DimensionedShape
    if name in _FROM and not (name in _EAGER and now.eager and building() is None and hasattr(nbtf, name)):
        module = _FROM[name]
        return getattr(_import_module(module if module.startswith("nbtf.") else _V1 + module), name)
    if name in _NAMESPACES:
        return _import_module(_V1 + name)
    if name in _WRAPPED_NAMESPACES:
        from nbtf.compat._v1._surface.wrapping import Namespace

        return Namespace(name, _sys.modules[__name__], _WRAPPED_NAMESPACES[name])
    if name in _MOVED:
        namespace, _, today = _MOVED[name].partition(".")
        return own_version(name, getattr(_import_module(f"nbtf.{namespace}".rstrip(".")), today or name))
    try:
        value = getattr(nbtf, name)
    except AttributeError:
        from nbtf.compat._v1._surface.absent import refusal

        raise refusal(name) from None
    return value if name in _FROM else own_version(name, value)


def module_of(name: str) -> _Any:
    """Returns the module or namespace for an import such as `import nbtf.compat.v1.train`.

    Args:
      name: full name of the module.

    Raises:
      ModuleNotFoundError: if there is no such module.
    """
    inside = name.removeprefix("nbtf.compat.v1.")
    try:
        return _import_module(_V1 + inside)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{_V1}{inside}.".startswith(f"{error.name}."):
            raise  # the module exists, but a package that it imports does not
    namespace = __getattr__(inside) if inside in _WRAPPED_NAMESPACES else None
    if namespace is None:
        raise ModuleNotFoundError(f"No module named '{name}'", name=name)
    return namespace


def __getattr__(name: str) -> _Any:
    if name in ("VERSION", "__version__"):
        import nbtf

        return nbtf.__version__
    if name.startswith("_"):
        raise AttributeError(f"module 'nbtf.compat.v1' has no attribute '{name}'")
    value = _find(name)
    if name in _SWITCHED:
        return value
    _KEPT.add(name)
    return globals().setdefault(name, value)


def __dir__() -> list[str]:
    import nbtf

    return sorted({*_FROM, *_MOVED, *_NAMESPACES, *_WRAPPED_NAMESPACES, *dir(nbtf)})
