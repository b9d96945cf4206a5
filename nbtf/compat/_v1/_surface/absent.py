"""Alternatives to the TensorFlow 1 names that nbtf does not provide."""

from __future__ import annotations

from nbtf._missing import CONTRIB, absence

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
_TABLES = "Look up words in a Python dictionary, and feed numbers."

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
    "image.decode_jpeg image.decode_png image.decode_image image.encode_jpeg image.encode_png "
    "image.random_flip_left_right image.per_image_standardization image.random_brightness "
    "image.random_contrast image.resize_image_with_crop_or_pad "
    "image.random_crop",
    _SPARSE: "SparseConditionalAccumulator SparseTensorValue sparse_add sparse_concat sparse_fill_empty_rows "
    "sparse_mask sparse_merge sparse_placeholder sparse_reduce_sum sparse_reshape sparse_retain sparse_segment_mean "
    "sparse_segment_sum sparse_slice sparse_softmax sparse_split sparse_to_indicator sparse_transpose "
    "nn.embedding_lookup_sparse",
    _TESTS: "test.mock",
    _EVENTS: "Event HistogramProto Summary SummaryMetadata summary.Summary summary.FileWriterCache "
    "train.SummarySaverHook train.summary_iterator",
    _COUNTS: "metrics.auc metrics.false_negatives metrics.false_positives metrics.mean_absolute_error "
    "metrics.mean_iou metrics.mean_per_class_accuracy metrics.mean_squared_error metrics.precision "
    "metrics.precision_at_k metrics.recall metrics.recall_at_k metrics.root_mean_squared_error metrics.true_positives",
    _TABLES: "lookup",
    "Write a loop `for element in dataset:` around the session's run, and feed `element.numpy()`.": (
        "data.make_initializable_iterator"
    ),
    "tf.runtime.recording() measures the time of each node.": "profiler",
    "Draw random numbers with tf.random_normal and tf.random_uniform.": "distributions",
    "Use gradient descent, or another optimizer of tf.train.": "train.ProximalAdagradOptimizer "
    "train.ProximalGradientDescentOptimizer train.AdagradDAOptimizer",
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


def refusal(name: str) -> AttributeError:
    """Returns the AttributeError for a missing name of `compat.v1`, with advice as a note.

    Args:
      name: the name with its namespace, such as `train.batch`.
    """
    namespace, _, last = name.rpartition(".")
    return absence(f"nbtf.compat.v1.{namespace}".rstrip("."), last, hint(name))


def hint(name: str) -> str:
    """Returns advice for a missing name of `compat.v1`; empty if TensorFlow never had the name."""
    if name == "contrib":
        return CONTRIB
    if name in _OLDER:
        return f"Since TensorFlow 1.0, use {_OLDER[name]}."
    return next((advice for advice, names in _INSTEAD.items() if name in names.split()), "")
