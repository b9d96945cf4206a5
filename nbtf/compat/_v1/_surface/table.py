"""The functions of TensorFlow 1 that differ from `nbtf`'s only in the names, order or defaults of their arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from nbtf._types import bfloat16, complex64, complex128, float32, float64, int32, int64

_NONE: Mapping[str, Any] = {}  # never modified


class Row(NamedTuple):
    """A function of TensorFlow 1, in terms of a function of `nbtf`.

    An argument that the function of `nbtf` lacks is accepted and ignored, unless `older` gives its current name.
    """

    arguments: str
    """TensorFlow 1's parameters, as in a `def`."""
    function: str
    """Name of the function in `nbtf`."""
    scope: str = ""
    """Name scope of its nodes; without one, `name` is the name of its node."""
    names_last: bool = True
    """Whether its last node gets the name of the scope."""
    older: Mapping[str, str] = _NONE
    """Current names of arguments that TensorFlow 1 also, or only, has under another name."""
    fixed: Mapping[str, Any] = _NONE
    """Arguments of the function of `nbtf` that have a fixed value."""


_POSITION = "input, axis=None, name=None, dimension=None, output_type=int64"
_OLDER_POSITION = "input, dimension, output_type=int64, name=None"
_POOL = "value, ksize, strides, padding, data_format='NHWC', name=None, input=None"
_SOFTMAX = "logits, axis=None, name=None, dim=None"
_REDUCTION = "input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None"
_AXIS = {"reduction_indices": "axis", "keep_dims": "keepdims"}
_DIMENSION, _DIM, _VALUE, _FILTER = {"dimension": "axis"}, {"dim": "axis"}, {"value": "input"}, {"filter": "filters"}

ROWS: dict[str, Row] = {
    "reduce_all": Row(_REDUCTION, "reduce_all", older=_AXIS),
    "reduce_any": Row(_REDUCTION, "reduce_any", older=_AXIS),
    "reduce_max": Row(_REDUCTION, "reduce_max", older=_AXIS),
    "reduce_mean": Row(_REDUCTION, "reduce_mean", older=_AXIS),
    "reduce_min": Row(_REDUCTION, "reduce_min", older=_AXIS),
    "reduce_prod": Row(_REDUCTION, "reduce_prod", older=_AXIS),
    "reduce_sum": Row(_REDUCTION, "reduce_sum", older=_AXIS),
    "reduce_logsumexp": Row(_REDUCTION, "reduce_logsumexp", "ReduceLogSumExp", older=_AXIS),
    "count_nonzero": Row(
        "input_tensor=None, axis=None, keepdims=None, dtype=int64, name=None, reduction_indices=None, keep_dims=None, "
        "input=None",
        "math.count_nonzero",
        "count_nonzero",
        False,
        {**_AXIS, "input_tensor": "input"},
    ),
    "argmax": Row(_POSITION, "argmax", older=_DIMENSION),
    "argmin": Row(_POSITION, "argmin", older=_DIMENSION),
    "arg_max": Row(_OLDER_POSITION, "argmax", older=_DIMENSION),
    "arg_min": Row(_OLDER_POSITION, "argmin", older=_DIMENSION),
    "to_float": Row("x, name='ToFloat'", "cast", fixed={"dtype": float32}),
    "to_double": Row("x, name='ToDouble'", "cast", fixed={"dtype": float64}),
    "to_int32": Row("x, name='ToInt32'", "cast", fixed={"dtype": int32}),
    "to_int64": Row("x, name='ToInt64'", "cast", fixed={"dtype": int64}),
    "to_bfloat16": Row("x, name='ToBFloat16'", "cast", fixed={"dtype": bfloat16}),
    "to_complex64": Row("x, name='ToComplex64'", "cast", fixed={"dtype": complex64}),
    "to_complex128": Row("x, name='ToComplex128'", "cast", fixed={"dtype": complex128}),
    "div_no_nan": Row("x, y, name=None", "math.divide_no_nan", "div_no_nan"),
    "clip_by_value": Row("t, clip_value_min, clip_value_max, name=None", "clip_by_value", "clip_by_value"),
    "clip_by_norm": Row("t, clip_norm, axes=None, name=None", "clip_by_norm", "clip_by_norm"),
    "global_norm": Row("t_list, name=None", "linalg.global_norm", "global_norm", fixed={"name": "global_norm"}),
    "expand_dims": Row("input, axis=None, name=None, dim=None", "expand_dims", older=_DIM),
    "squeeze": Row("input, axis=None, name=None, squeeze_dims=None", "squeeze", older={"squeeze_dims": "axis"}),
    "gather": Row("params, indices, validate_indices=None, name=None, axis=None, batch_dims=0", "gather"),
    "pad": Row("tensor, paddings, mode='CONSTANT', name=None, constant_values=0", "pad"),
    "boolean_mask": Row("tensor, mask, name='boolean_mask', axis=None", "boolean_mask", "boolean_mask", False),
    "lin_space": Row("start, stop, num, name=None", "linspace", "linspace", False),
    "nn.conv2d": Row(
        "input, filter=None, strides=None, padding=None, use_cudnn_on_gpu=True, data_format='NHWC', "
        "dilations=(1, 1, 1, 1), name=None, filters=None",
        "nn.conv2d",
        older=_FILTER,
    ),
    "nn.conv2d_transpose": Row(
        "value=None, filter=None, output_shape=None, strides=None, padding='SAME', data_format='NHWC', "
        "name='conv2d_transpose', input=None, filters=None, dilations=None",
        "nn.conv2d_transpose",
        older={**_VALUE, **_FILTER},
    ),
    "nn.max_pool": Row(_POOL, "nn.max_pool2d", older=_VALUE),
    "nn.avg_pool": Row(_POOL, "nn.avg_pool2d", older=_VALUE),
    "nn.softmax": Row(_SOFTMAX, "nn.softmax", older=_DIM),
    "nn.log_softmax": Row(_SOFTMAX, "nn.log_softmax", older=_DIM),
    "nn.moments": Row(
        "x, axes, shift=None, name=None, keep_dims=None, keepdims=None",
        "nn.moments",
        "moments",
        False,
        {"keep_dims": "keepdims"},
    ),
    "nn.embedding_lookup": Row(
        "params, ids, partition_strategy='mod', name=None, validate_indices=True, max_norm=None",
        "nn.embedding_lookup",
        "embedding_lookup",
        False,
    ),
    "nn.in_top_k": Row("predictions, targets, k, name=None", "nn.in_top_k", "in_top_k", False),
    "nn.l2_normalize": Row(
        "x, axis=None, epsilon=1e-12, name=None, dim=None", "math.l2_normalize", "l2_normalize", older=_DIM
    ),
    "nn.batch_normalization": Row(
        "x, mean, variance, offset, scale, variance_epsilon, name=None", "nn.batch_normalization", "batchnorm", False
    ),
    "nn.softmax_cross_entropy_with_logits_v2": Row(
        "labels, logits, axis=None, name=None, dim=None",
        "nn.softmax_cross_entropy_with_logits",
        "softmax_cross_entropy_with_logits",
        False,
        _DIM,
    ),
    "nn.sigmoid_cross_entropy_with_logits": Row(
        "labels=None, logits=None, name=None", "nn.sigmoid_cross_entropy_with_logits", "logistic_loss"
    ),
    "nn.weighted_cross_entropy_with_logits": Row(
        "labels=None, logits=None, pos_weight=None, name=None, targets=None",
        "nn.weighted_cross_entropy_with_logits",
        "logistic_loss",
        older={"targets": "labels"},
    ),
}
"""TensorFlow 1's functions by name; those of `tf.nn` with their namespace."""

_OWN_SCOPES = (
    "boolean_mask confusion_matrix dropout einsum embedding_lookup eye foldl foldr l2_normalize linspace "
    "matrix_transpose meshgrid moments norm normalize reduce_std reduce_variance repeat saturate_cast scan "
    "weighted_moments zero_fraction"
)
"""Functions whose name scope has their own name."""

SCOPES = {
    **{name: name for name in _OWN_SCOPES.split()},
    "cosine_similarity": "cosine_distance",
    "det": "MatrixDeterminant",
    "sequence_mask": "SequenceMask",
    "sigmoid_cross_entropy_with_logits": "logistic_loss",
    "tensordot": "Tensordot",
    "trace": "Trace",
    "weighted_cross_entropy_with_logits": "logistic_loss",
}
"""Functions with the same arguments that create several nodes, and the name scope that contains them.

Source: the `name_scope` of each in the Python files of TensorFlow 2.21.
"""
