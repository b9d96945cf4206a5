"""`tf.compat.v1`: TensorFlow 1, graphs and sessions.

Eager until switched, as in TensorFlow 2: by `disable_eager_execution` or `disable_v2_behavior`, for all of `tf`; inside
`with tf.Graph().as_default()`; or by a program's own `import nbtf.compat.v1 as tf`, for the names here alone.
Where a function takes `name`, that is what its nodes are called, or called after.

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

_FROM = {
    # graphs
    "AttrValue": "nbtf._graph.node_def",
    "DeviceSpec": "_graph.device_spec",
    "Graph": "_graph.graph",
    "GraphDef": "_graph.graph_def",
    "NodeDef": "nbtf._graph.node_def",
    "Operation": "nbtf._graph.operation",
    "colocate_with": "_graph.defaults",
    "constant": "_graph.defaults",
    "control_dependencies": "_graph.defaults",
    "device": "_graph.defaults",
    "get_default_graph": "_graph.defaults",
    "group": "_graph.grouping",
    "name_scope": "_graph.defaults",
    "no_op": "_graph.defaults",
    "placeholder": "_graph.defaults",
    "reset_default_graph": "_graph.defaults",
    # sessions
    "ConfigProto": "_config.config_proto",
    "GPUOptions": "_config.config_proto",
    "GraphOptions": "_config.config_proto",
    "OptimizerOptions": "_config.config_proto",
    "RunMetadata": "_config.run_options",
    "RunOptions": "_config.run_options",
    "InteractiveSession": "_session.interactive",
    "Session": "_session.session",
    "get_default_session": "_session.defaults",
    # variables
    "AUTO_REUSE": "_variables.store",
    "GraphKeys": "_variables.keys",
    "Variable": "_variables.variable_classes",
    "VariableScope": "_variables.scopes",
    "add_to_collection": "_variables.keys",
    "add_to_collections": "_variables.keys",
    "all_variables": "_variables.initializing",
    "assert_variables_initialized": "_variables.initializing",
    "assign": "_variables.assigning",
    "assign_add": "_variables.assigning",
    "assign_sub": "_variables.assigning",
    "constant_initializer": "_variables.initializers",
    "count_up_to": "_variables.assigning",
    "disable_resource_variables": "_variables.initializing",
    "enable_resource_variables": "_variables.initializing",
    "get_collection": "_variables.keys",
    "get_collection_ref": "_variables.keys",
    "get_local_variable": "_variables.scopes",
    "get_variable": "_variables.scopes",
    "get_variable_scope": "_variables.scopes",
    "global_variables": "_variables.initializing",
    "global_variables_initializer": "_variables.initializing",
    "glorot_normal_initializer": "_variables.initializers",
    "glorot_uniform_initializer": "_variables.initializers",
    "initialize_all_variables": "_variables.initializing",
    "initialize_local_variables": "_variables.initializing",
    "initialize_variables": "_variables.initializing",
    "is_variable_initialized": "_variables.initializing",
    "local_variables": "_variables.initializing",
    "local_variables_initializer": "_variables.initializing",
    "make_template": "_variables.template",
    "model_variables": "_variables.initializing",
    "moving_average_variables": "_variables.initializing",
    "no_regularizer": "_variables.scopes",
    "ones_initializer": "_variables.initializers",
    "orthogonal_initializer": "_variables.initializers",
    "random_normal_initializer": "_variables.initializers",
    "random_uniform_initializer": "_variables.initializers",
    "report_uninitialized_variables": "_variables.initializing",
    "resource_variables_enabled": "_variables.initializing",
    "scatter_add": "_variables.assigning",
    "scatter_nd_add": "_variables.assigning",
    "scatter_nd_sub": "_variables.assigning",
    "scatter_nd_update": "_variables.assigning",
    "scatter_sub": "_variables.assigning",
    "scatter_update": "_variables.assigning",
    "tables_initializer": "_variables.initializing",
    "trainable_variables": "_variables.initializing",
    "truncated_normal_initializer": "_variables.initializers",
    "uniform_unit_scaling_initializer": "_variables.initializers",
    "variable_op_scope": "_variables.scopes",
    "variable_scope": "_variables.scopes",
    "variables_initializer": "_variables.initializing",
    "variance_scaling_initializer": "_variables.initializers",
    "zeros_initializer": "_variables.initializers",
    # ops with the arguments of TensorFlow 1
    "accumulate_n": "_surface.arithmetic",
    "add_n": "_surface.arithmetic",
    "clip_by_average_norm": "_surface.clipping",
    "clip_by_global_norm": "_surface.clipping",
    "clip_by_norm": "_surface.clipping",
    "clip_by_value": "_surface.clipping",
    "div": "_surface.arithmetic",
    "div_no_nan": "_surface.arithmetic",
    "divide": "_surface.arithmetic",
    "floor_div": "_surface.arithmetic",
    "floordiv": "_surface.arithmetic",
    "floormod": "_surface.arithmetic",
    "global_norm": "_surface.clipping",
    "is_numeric_tensor": "_surface.arithmetic",
    "logical_xor": "_surface.arithmetic",
    "matmul": "_surface.arithmetic",
    "mod": "_surface.arithmetic",
    "realdiv": "_surface.arithmetic",
    "scalar_mul": "_surface.arithmetic",
    "to_bfloat16": "_surface.arithmetic",
    "to_complex128": "_surface.arithmetic",
    "to_complex64": "_surface.arithmetic",
    "to_double": "_surface.arithmetic",
    "to_float": "_surface.arithmetic",
    "to_int32": "_surface.arithmetic",
    "to_int64": "_surface.arithmetic",
    "truediv": "_surface.arithmetic",
    "where": "_surface.arithmetic",
    "argmax": "_surface.reductions",
    "argmin": "_surface.reductions",
    "count_nonzero": "_surface.reductions",
    "reduce_all": "_surface.reductions",
    "reduce_any": "_surface.reductions",
    "reduce_logsumexp": "_surface.reductions",
    "reduce_max": "_surface.reductions",
    "reduce_mean": "_surface.reductions",
    "reduce_min": "_surface.reductions",
    "reduce_prod": "_surface.reductions",
    "reduce_sum": "_surface.reductions",
    "convert_to_tensor": "_surface.making",
    "fill": "_surface.making",
    "get_seed": "_surface.making",
    "one_hot": "_surface.making",
    "ones": "_surface.making",
    "ones_like": "_surface.making",
    "placeholder_with_default": "_surface.making",
    "rank": "_surface.making",
    "shape": "_surface.making",
    "size": "_surface.making",
    "zeros": "_surface.making",
    "zeros_like": "_surface.making",
    "boolean_mask": "_surface.arranging",
    "concat": "_surface.arranging",
    "expand_dims": "_surface.arranging",
    "gather": "_surface.arranging",
    "pad": "_surface.arranging",
    "range": "_surface.arranging",
    "reverse_v2": "_surface.arranging",
    "split": "_surface.arranging",
    "squeeze": "_surface.arranging",
    "stack": "_surface.arranging",
    "transpose": "_surface.arranging",
    "multinomial": "_surface.random_numbers",
    "random_normal": "_surface.random_numbers",
    "random_shuffle": "_surface.random_numbers",
    "random_uniform": "_surface.random_numbers",
    "set_random_seed": "_surface.random_numbers",
    "truncated_normal": "_surface.random_numbers",
    # training
    "custom_gradient": "_graph.custom_gradients",
    "gradients": "_graph.gradients",
    "hessians": "_graph.hessians",
    # names for still older programs
    "NoGradient": "_surface.older",
    "NotDifferentiable": "_surface.older",
    "RegisterGradient": "_surface.older",
    "arg_max": "_surface.older",
    "arg_min": "_surface.older",
    "batch_gather": "_surface.older",
    "container": "_surface.older",
    "control_flow_v2_enabled": "_surface.older",
    "disable_control_flow_v2": "_surface.older",
    "enable_control_flow_v2": "_surface.older",
    "executing_eagerly_outside_functions": "_surface.older",
    "guarantee_const": "_surface.older",
    "init_scope": "_surface.older",
    "is_symbolic_tensor": "_surface.older",
    "lin_space": "_surface.older",
    "no_gradient": "_surface.older",
    "op_scope": "_surface.older",
    "parallel_stack": "_surface.older",
    "shape_n": "_surface.older",
    "where_v2": "_surface.older",
    # control flow, and nodes that run Python
    "case": "_surface.control",
    "cond": "_surface.control",
    "foldl": "_surface.folding",
    "foldr": "_surface.folding",
    "scan": "_surface.folding",
    "confusion_matrix": "_surface.checks",
    "random_crop": "_surface.random_numbers",
    "sparse_to_dense": "_surface.older",
    "map_fn": "_surface.mapping",
    "switch_case": "_surface.control",
    "tuple": "_surface.joint",
    "while_loop": "_surface.control",
    "Assert": "_surface.checks",
    "Print": "_surface.python_nodes",
    "add_check_numerics_ops": "_surface.checks",
    "assert_equal": "_surface.checks",
    "assert_greater": "_surface.checks",
    "assert_greater_equal": "_surface.checks",
    "assert_less": "_surface.checks",
    "assert_less_equal": "_surface.checks",
    "assert_near": "_surface.checks",
    "assert_negative": "_surface.checks",
    "assert_non_negative": "_surface.checks",
    "assert_non_positive": "_surface.checks",
    "assert_none_equal": "_surface.checks",
    "assert_positive": "_surface.checks",
    "assert_rank": "_surface.checks",
    "assert_rank_at_least": "_surface.checks",
    "assert_rank_in": "_surface.checks",
    "assert_type": "_surface.checks",
    "numpy_function": "_surface.python_nodes",
    "print": "_surface.python_nodes",
    "py_func": "_surface.python_nodes",
    "py_function": "_surface.python_nodes",
    # settings of the process
    "Dimension": "_graph.dimension",
    "dimension_at_index": "_graph.dimension",
    "dimension_value": "_graph.dimension",
    "disable_eager_execution": "_surface.switches",
    "disable_tensor_equality": "_surface.switches",
    "disable_v2_behavior": "_surface.switches",
    "disable_v2_tensorshape": "_surface.switches",
    "enable_eager_execution": "_surface.switches",
    "enable_tensor_equality": "_surface.switches",
    "enable_v2_behavior": "_surface.switches",
    "enable_v2_tensorshape": "_surface.switches",
    "executing_eagerly": "_surface.switches",
}
"""Names of TensorFlow 1, and the files they come from."""

_NAMESPACES = frozenset(
    {
        "app",
        "device_lib",
        "flags",
        "gfile",
        "initializers",
        "layers",
        "logging",
        "losses",
        "metrics",
        "summary",
        "train",
    }
)
"""Namespaces that are modules here: `train` and the like."""

_WRAPPED_NAMESPACES: dict[str, dict[str, str] | None] = {
    "bitwise": {},
    "compat": None,
    "debugging": dict.fromkeys(
        (
            "Assert",
            "assert_equal",
            "assert_greater",
            "assert_greater_equal",
            "assert_less",
            "assert_less_equal",
            "assert_near",
            "assert_negative",
            "assert_non_negative",
            "assert_non_positive",
            "assert_none_equal",
            "assert_positive",
            "assert_rank",
            "assert_rank_at_least",
            "assert_rank_in",
            "assert_type",
        ),
        "_surface.checks",
    ),
    "image": {},
    "io": {},
    "linalg": {},
    "math": {},
    "nn": {
        "avg_pool": "_surface.neural",
        "batch_normalization": "_surface.neural",
        "conv2d": "_surface.neural",
        "conv2d_transpose": "_surface.neural",
        "dropout": "_surface.neural",
        "embedding_lookup": "_surface.neural",
        "fused_batch_norm": "_surface.neural",
        "in_top_k": "_surface.neural",
        "l2_normalize": "_surface.neural",
        "log_softmax": "_surface.neural",
        "max_pool": "_surface.neural",
        "moments": "_surface.neural",
        "relu_layer": "_surface.neural",
        "sigmoid_cross_entropy_with_logits": "_surface.neural_losses",
        "softmax": "_surface.neural",
        "softmax_cross_entropy_with_logits": "_surface.neural_losses",
        "softmax_cross_entropy_with_logits_v2": "_surface.neural_losses",
        "sparse_softmax_cross_entropy_with_logits": "_surface.neural_losses",
        "weighted_cross_entropy_with_logits": "_surface.neural_losses",
        "xw_plus_b": "_surface.neural",
        "zero_fraction": "_surface.neural",
    },
    "ragged": {},
    "random": {
        "categorical": "_surface.random_numbers",
        "get_seed": "_surface.making",
        "multinomial": "_surface.random_numbers",
        "normal": "_surface.random_numbers",
        "set_random_seed": "_surface.random_numbers",
        "shuffle": "_surface.random_numbers",
        "truncated_normal": "_surface.random_numbers",
        "uniform": "_surface.random_numbers",
    },
    "raw_ops": {},
    "saved_model": None,
    "sparse": {},
    "strings": {},
    "test": None,
}
"""Namespaces of `nbtf` whose functions build graphs here, and what TensorFlow 1 has in them besides.

Where None stands for that, the functions stay as they are.
"""


def own_version(name: str, value: _Any) -> _Any:
    """Returns what `compat.v1` offers for a public function of `nbtf`: its own of that name, or a wrapped one.

    Args:
      name: the function's name; `tf.math.add` and `tf.add` are one function.
      value: what `nbtf` has under it; what is no function comes back as it is.
    """
    import nbtf
    from nbtf.compat._v1._surface.wrapping import eager, wrapped

    if name in _FROM and eager(getattr(nbtf, name, value)) is eager(value):
        return getattr(_sys.modules[__name__], name)
    return wrapped(value)


_MOVED = {
    "OpError": "errors",
    "string_split": "strings.split",
    "decode_raw": "io",
    "assert_proper_iterable": "debugging",
    "assert_same_float_dtype": "debugging",
    "assert_integer": "debugging",
    "assert_scalar": "debugging",
    "unsorted_segment_sqrt_n": "math",
    "sparse_tensor_dense_matmul": "sparse.sparse_dense_matmul",
    "sparse_reorder": "sparse.reorder",
    "sparse_tensor_to_dense": "sparse.to_dense",
    "tensor_scatter_update": ".tensor_scatter_nd_update",
    "tensor_scatter_sub": ".tensor_scatter_nd_sub",
    "tensor_scatter_add": ".tensor_scatter_nd_add",
    "angle": "math",
    "bincount": "math",
    "ceil": "math",
    "check_numerics": "debugging",
    "cholesky": "linalg",
    "cholesky_solve": "linalg",
    "conj": "math",
    "cross": "linalg",
    "cumprod": "math",
    "diag": "linalg.tensor_diag",
    "diag_part": "linalg.tensor_diag_part",
    "erf": "math",
    "erfc": "math",
    "expm1": "math",
    "imag": "math",
    "invert_permutation": "math",
    "is_finite": "math",
    "is_inf": "math",
    "is_nan": "math",
    "log": "math",
    "log1p": "math",
    "matrix_band_part": "linalg.band_part",
    "matrix_determinant": "linalg.det",
    "matrix_diag": "linalg.diag",
    "matrix_diag_part": "linalg.diag_part",
    "matrix_inverse": "linalg.inv",
    "matrix_set_diag": "linalg.set_diag",
    "matrix_solve": "linalg.solve",
    "matrix_transpose": "linalg",
    "matrix_triangular_solve": "linalg.triangular_solve",
    "qr": "linalg",
    "real": "math",
    "reciprocal": "math",
    "reduce_join": "strings",
    "regex_replace": "strings",
    "rint": "math",
    "rsqrt": "math",
    "segment_max": "math",
    "segment_mean": "math",
    "segment_min": "math",
    "segment_prod": "math",
    "segment_sum": "math",
    "self_adjoint_eig": "linalg.eigh",
    "self_adjoint_eigvals": "linalg.eigvalsh",
    "squared_difference": "math",
    "string_join": "strings.join",
    "string_strip": "strings.strip",
    "string_to_number": "strings.to_number",
    "substr": "strings",
    "svd": "linalg",
    "top_k": "nn",
    "trace": "linalg",
    "unsorted_segment_max": "math",
    "unsorted_segment_mean": "math",
    "unsorted_segment_min": "math",
    "unsorted_segment_prod": "math",
    "unsorted_segment_sum": "math",
    "verify_tensor_all_finite": "debugging.assert_all_finite",
}
"""Names of TensorFlow 1 that stand elsewhere today: the namespace, and the name there if it is another."""

_EAGER = frozenset({"Variable"})
"""Names for which the eager ones of `nbtf` stand after `enable_eager_execution`."""

_SWITCHED = _EAGER | {"TensorShape"}
"""Names that are fetched each time: what they mean may change without a switch, by `tf.runtime.restart`."""

_KEPT = set[str]()
"""Names that were fetched, and stand in the module's own namespace until something is switched.

They hide builtins such as `print` and `range` from this file, which therefore uses none of those.
"""


def forget() -> None:
    """Fetches all names again: something was switched."""
    for name in _KEPT:
        globals().pop(name, None)
    _KEPT.clear()


def _find(name: str) -> _Any:
    import nbtf
    from nbtf.compat._v1._graph.process import process

    now = process()
    if name == "TensorShape" and not now.v2_shapes:
        from nbtf.compat._v1._graph.dimension import DimensionedShape

        return DimensionedShape
    if name in _FROM and not (now.eager and name in _EAGER and hasattr(nbtf, name)):
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
    """Returns the module, or namespace, that `import nbtf.compat.v1.train` asks for.

    Args:
      name: the full name.

    Raises:
      ModuleNotFoundError: there is none of that name.
    """
    inside = name.removeprefix("nbtf.compat.v1.")
    try:
        return _import_module(_V1 + inside)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{_V1}{inside}.".startswith(f"{error.name}."):
            raise  # a package that the module needs
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
