"""Advice for missing names: what to use in place of TensorFlow 1's names, and of names that moved."""

from __future__ import annotations

from collections.abc import Sequence

_TF1 = frozenset(
    (
        "AUTO_REUSE AttrValue ConfigProto Dimension GPUOptions GraphDef GraphKeys GraphOptions InteractiveSession "
        "NodeDef OpError Operation OptimizerOptions Print RunMetadata RunOptions Session VariableScope accumulate_n "
        "add_to_collection add_to_collections all_variables angle app arg_max arg_min assert_greater_equal "
        "assert_integer assert_less_equal assert_near assert_negative assert_non_negative assert_non_positive "
        "assert_none_equal assert_positive assert_proper_iterable assert_rank_at_least assert_rank_in "
        "assert_same_float_dtype assert_scalar assert_type assign assign_add assign_sub batch_gather bincount ceil "
        "check_numerics cholesky cholesky_solve colocate_with conj constant_initializer control_flow_v2_enabled "
        "count_nonzero cross cumprod decode_raw device_lib diag diag_part dimension_at_index dimension_value "
        "disable_control_flow_v2 disable_eager_execution disable_resource_variables disable_tensor_equality "
        "disable_v2_behavior disable_v2_tensorshape div div_no_nan enable_control_flow_v2 enable_eager_execution "
        "enable_resource_variables enable_tensor_equality enable_v2_behavior enable_v2_tensorshape erf erfc "
        "executing_eagerly_outside_functions expm1 flags floor_div floordiv floormod get_collection "
        "get_collection_ref get_default_graph get_default_session get_local_variable get_seed get_variable "
        "get_variable_scope gfile global_norm global_variables global_variables_initializer glorot_normal_initializer "
        "glorot_uniform_initializer imag init_scope initialize_all_variables initialize_local_variables "
        "initialize_variables invert_permutation is_finite is_inf is_nan is_numeric_tensor is_symbolic_tensor "
        "is_variable_initialized layers lin_space local_variables local_variables_initializer log log1p logging "
        "logical_xor make_template matrix_band_part matrix_determinant matrix_diag matrix_diag_part matrix_inverse "
        "matrix_set_diag matrix_solve matrix_transpose matrix_triangular_solve mod model_variables "
        "moving_average_variables multinomial no_regularizer ones_initializer orthogonal_initializer placeholder "
        "placeholder_with_default py_func qr random_normal random_normal_initializer random_shuffle random_uniform "
        "random_uniform_initializer real realdiv reciprocal reduce_join regex_replace report_uninitialized_variables "
        "reset_default_graph resource_variables_enabled reverse_v2 rint rsqrt scatter_add scatter_nd_add "
        "scatter_nd_sub scatter_nd_update scatter_sub scatter_update segment_max segment_mean segment_min "
        "segment_prod segment_sum self_adjoint_eig self_adjoint_eigvals set_random_seed sparse_reorder "
        "sparse_tensor_dense_matmul sparse_tensor_to_dense squared_difference string_join string_split string_strip "
        "string_to_number substr svd tables_initializer tensor_scatter_add tensor_scatter_sub tensor_scatter_update "
        "to_bfloat16 to_complex128 to_complex64 to_double to_float to_int32 to_int64 top_k trace trainable_variables "
        "truncated_normal truncated_normal_initializer tuple unsorted_segment_max unsorted_segment_mean "
        "unsorted_segment_min unsorted_segment_prod unsorted_segment_sqrt_n unsorted_segment_sum variable_scope "
        "variables_initializer variance_scaling_initializer verify_tensor_all_finite where_v2 zeros_initializer"
    ).split()
)
"""Names of TensorFlow 1 that `compat.v1` has."""

_IN_BOTH = frozenset(
    (
        "Operation constant_initializer init_scope is_symbolic_tensor ones_initializer random_normal_initializer "
        "random_uniform_initializer realdiv tuple zeros_initializer"
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

_QUEUES = "nbtf has no input queues. Feed placeholders, or iterate over a tf.data.Dataset and feed its elements."
_GRAPHS = "nbtf does not write graphs. Build them again, and restore their variables with tf.train.Saver."
_CLUSTERS = (
    "nbtf sessions use only this process. Use the devices of this computer, or simulate more hosts: "
    "tf.runtime.simulate_cluster(hosts=2, gpus=8)."
)
_FILES = "Read files with Python or NumPy, and feed their contents."
_ESTIMATORS = "Write the training loop with tf.train.MonitoredTrainingSession, or use nbtf.keras, which runs eagerly."
_CELLS = (
    "Write the loop over the steps with tf.get_variable, tf.scan or tf.while_loop, or use LSTM and GRU from "
    "nbtf.keras.layers, which run eagerly."
)
_SAVED = "Save variables with tf.train.Saver; nbtf.saved_model writes models that run eagerly."
_PICTURES = "Process images with NumPy or Pillow, and feed them."
_SPARSE = "Sparse tensors run eagerly: see nbtf.sparse. In a graph, use dense tensors, or indices and tf.gather."
_TESTS = "Use unittest or pytest."
_EVENTS = "Write summaries with tf.summary.FileWriter, or plot values in the notebook."
_COUNTS = "Compute the metric with variables, or with NumPy from the session's results."
_REGISTRY = (
    "nbtf has no registry of gradients. Define a gradient with tf.custom_gradient, or stop gradients with "
    "tf.stop_gradient."
)
_HOOKS = "Write a subclass of tf.train.SessionRunHook, or do it in the training loop."

_INSTEAD = {
    _QUEUES: "FIFOQueue PaddingFIFOQueue PriorityQueue QueueBase RandomShuffleQueue train.QueueRunner "
    "train.add_queue_runner train.batch train.batch_join train.input_producer train.limit_epochs "
    "train.match_filenames_once train.maybe_batch train.maybe_shuffle_batch train.queue_runner "
    "train.range_input_producer train.shuffle_batch train.shuffle_batch_join train.slice_input_producer "
    "train.string_input_producer",
    _FILES: "FixedLenFeature FixedLenSequenceFeature FixedLengthRecordReader IdentityReader ReaderBase TFRecordReader "
    "TextLineReader VarLenFeature WholeFileReader decode_csv decode_json_example matching_files parse_example "
    "parse_single_example parse_tensor python_io read_file write_file",
    _GRAPHS: "MetaGraphDef graph_util import_graph_def train.export_meta_graph train.import_meta_graph "
    "train.write_graph io.write_graph",
    _CLUSTERS: "train.ClusterDef train.ServerDef train.SyncReplicasOptimizer",
    _ESTIMATORS: "estimator feature_column train.Supervisor train.basic_train_loop",
    _CELLS: "nn.rnn_cell nn.dynamic_rnn nn.static_rnn nn.bidirectional_dynamic_rnn nn.static_bidirectional_rnn "
    "nn.raw_rnn",
    _SAVED: "saved_model.simple_save saved_model.builder saved_model.Builder saved_model.loader "
    "saved_model.tag_constants saved_model.signature_constants saved_model.utils saved_model.signature_def_utils "
    "saved_model.build_signature_def saved_model.predict_signature_def saved_model.build_tensor_info TensorInfo",
    _PICTURES: "image.resize_images image.resize_bilinear image.resize_nearest_neighbor "
    "image.decode_jpeg image.decode_png image.encode_jpeg image.encode_png "
    "image.random_flip_left_right image.per_image_standardization image.resize_image_with_crop_or_pad "
    "image.random_crop",
    _SPARSE: "SparseConditionalAccumulator SparseTensorValue sparse_add sparse_concat sparse_fill_empty_rows "
    "sparse_mask sparse_merge sparse_placeholder sparse_reduce_sum sparse_reshape sparse_retain sparse_segment_mean "
    "sparse_segment_sum sparse_slice sparse_softmax sparse_split sparse_to_indicator sparse_transpose",
    _TESTS: "test.mock",
    _EVENTS: "Event HistogramProto Summary summary.FileWriterCache summary.Summary train.summary_iterator",
    _COUNTS: "metrics",
    "Write a loop `for element in dataset:` around the session's run, and feed `element.numpy()`.": (
        "data.make_initializable_iterator"
    ),
    "tf.runtime.recording() measures the time of each node.": "profiler",
    "Draw random numbers with tf.random_normal and tf.random_uniform.": "distributions",
    "Use gradient descent, or another optimizer of tf.train.": "train.AdadeltaOptimizer train.AdagradDAOptimizer "
    "train.FtrlOptimizer train.ProximalAdagradOptimizer train.ProximalGradientDescentOptimizer",
    _REGISTRY: "NoGradient NotDifferentiable RegisterGradient no_gradient",
    _HOOKS: "train.CheckpointSaverHook train.FeedFnHook train.FinalOpsHook train.LoggingTensorHook "
    "train.SecondOrStepTimer train.StepCounterHook train.SummarySaverHook",
    "Use tf.train.MonitoredTrainingSession.": "train.ChiefSessionCreator train.MonitoredSession train.Scaffold "
    "train.SessionCreator train.SingularMonitoredSession train.WorkerSessionCreator",
    "Use tf.train.exponential_decay, tf.train.polynomial_decay or tf.train.piecewise_constant.": "train.cosine_decay "
    "train.cosine_decay_restarts train.inverse_time_decay train.linear_cosine_decay train.natural_exp_decay "
    "train.noisy_linear_cosine_decay",
    "tf.train.Saver records checkpoints and deletes old ones.": "train.remove_checkpoint train.update_checkpoint_state",
    "Layers are functions: tf.layers.dense, conv2d, max_pooling2d, flatten and dropout.": "layers.AveragePooling2D "
    "layers.BatchNormalization layers.Conv2D layers.Dense layers.Dropout layers.Flatten layers.Layer "
    "layers.MaxPooling2D",
    "Write the formula with ops, and call tf.losses.compute_weighted_loss on the result.": "losses.Reduction "
    "losses.absolute_difference losses.cosine_distance losses.hinge_loss losses.huber_loss losses.log_loss "
    "losses.mean_pairwise_squared_error losses.sigmoid_cross_entropy",
    "Use tf.variance_scaling_initializer.": "initializers.uniform_unit_scaling uniform_unit_scaling_initializer",
    "Use an array as the initial value: np.eye(n).": "initializers.identity",
    "Use tf.summary.scalar, tf.summary.histogram or tf.summary.image.": "summary.audio summary.tensor_summary "
    "summary.text",
    "Call tf.logging.info or another level when it applies.": "logging.TaskLevelStatusMessage logging.flush "
    "logging.log_every_n logging.log_first_n logging.log_if logging.vlog",
    "Call tf.debugging.check_numerics on the tensors to check.": "add_check_numerics_ops",
    "Fetch tf.report_uninitialized_variables().": "assert_variables_initialized",
    "Use tf.clip_by_norm.": "clip_by_average_norm",
    "Fetch labels and predictions, and call nbtf.math.confusion_matrix on their values.": "confusion_matrix",
    "Leave the block out: the values of variables belong to their session.": "container",
    "Use tf.assign_add, and compare the value in Python.": "count_up_to",
    "Use tf.identity.": "guarantee_const",
    "Use tf.name_scope(name, default_name, values).": "op_scope",
    "Use tf.stack.": "parallel_stack",
    "Call tf.shape for each tensor.": "shape_n",
    "Use tf.scatter_nd, or tf.one_hot.": "sparse_to_dense",
    "Use tf.variable_scope(name_or_scope, default_name, values).": "variable_op_scope",
    "Use tf.nn.moments and tf.nn.batch_normalization.": "layers.batch_normalization nn.fused_batch_norm",
    "Use tf.nn.relu(tf.nn.xw_plus_b(x, weights, biases)).": "nn.relu_layer",
    "Use tf.nn.avg_pool.": "layers.average_pooling2d",
}
"""The advice, and the names for which it is given."""


_OLDER = {
    "all_variables": "tf.global_variables()",
    "batch_matmul": "tf.matmul",
    "complex_abs": "tf.abs",
    "histogram_summary": "tf.summary.histogram",
    "image_summary": "tf.summary.image",
    "merge_all_summaries": "tf.summary.merge_all",
    "merge_summary": "tf.summary.merge",
    "mul": "tf.multiply",
    "neg": "tf.negative",
    "pack": "tf.stack",
    "scalar_summary": "tf.summary.scalar",
    "select": "tf.where",
    "sub": "tf.subtract",
    "unpack": "tf.unstack",
}
"""Names that TensorFlow 1.0 had already removed, and their replacements."""

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


def of_tensorflow_1(name: str) -> AttributeError:
    """Returns the AttributeError for a missing name of `compat.v1`, with advice as a note.

    Args:
      name: the name with its namespace, such as `train.batch`.
    """
    namespace, _, last = name.rpartition(".")
    return absence(f"nbtf.compat.v1.{namespace}".rstrip("."), last, instead_of(name))


def instead_of(name: str) -> str:
    """Returns advice for a missing name of `compat.v1`; empty if TensorFlow never had the name."""
    if name == "contrib":
        return CONTRIB
    if name in _OLDER:
        return f"Since TensorFlow 1.0, use {_OLDER[name]}."
    return next((advice for advice, names in _INSTEAD.items() if name in names.split()), "")


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
    return today or instead_of(name)


def of_namespace(module: str, name: str, offered: Sequence[str]) -> AttributeError:
    """Returns the AttributeError for a name of a namespace that nbtf has in part; a note lists the available names."""
    error = AttributeError(f"module '{module}' has no attribute '{name}'")
    error.add_note(f"Available: {', '.join(sorted(public for public in offered if public[0] != '_'))}.")
    return error
