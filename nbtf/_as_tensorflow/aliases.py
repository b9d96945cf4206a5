"""The private TensorFlow modules that libraries import: which nbtf names stand for each, and who needs them.

The modules that users' programs import, such as `tensorflow.python.client.device_lib`, are listed in `nbtf.python`.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple


class Alias(NamedTuple):
    """A TensorFlow module: where its names are in nbtf, and the modules of other libraries that import it."""

    counterpart: str
    """A module, or a module and the names that it lends: `nbtf.module:first second`."""
    needed_by: str


_INSIDE = "nbtf._as_tensorflow"

ALIASES = {
    "compiler.tf2xla.python.xla": Alias(
        f"{_INSIDE}.xla:dynamic_update_slice", "keras.src.backend.tensorflow.core, for keras.ops.slice_update"
    ),
    "core.util.event_pb2": Alias(f"{_INSIDE}.private_modules:Event", "keras.src.callbacks.tensorboard_test"),
    "experimental.dtensor": Alias(
        f"{_INSIDE}.private_modules:Layout Mesh", "keras.src.backend.tensorflow.distribution_lib"
    ),
    "python.eager.context": Alias(
        f"{_INSIDE}.private_modules:_reset_context async_wait context executing_eagerly num_gpus",
        "keras.src.backend.tensorflow.trainer, and keras.src.backend.common.global_state for clear_session",
    ),
    "python.framework.config": Alias(
        f"{_INSIDE}.private_modules:disable_op_determinism enable_op_determinism is_op_determinism_enabled",
        "keras.src.trainers.trainer, while it builds a model",
    ),
    "python.data.ops.dataset_ops": Alias(f"{_INSIDE}.private_modules:DatasetV2", "class_names.py: pickles of classes"),
    "python.distribute.input_lib": Alias("nbtf.distribute.datasets:DistributedDataset", "class_names.py"),
    "python.framework.sparse_tensor": Alias("nbtf.sparse:SparseTensor", "class_names.py"),
    "python.framework.tensor": Alias("nbtf:Tensor", "class_names.py"),
    "python.ops.ragged.ragged_tensor": Alias("nbtf:RaggedTensor", "class_names.py"),
    "python.ops.linalg.sparse.sparse_csr_matrix_ops": Alias(
        f"{_INSIDE}.sparse_matrices:csr_sparse_matrix_to_sparse_tensor sparse_matrix_sparse_mat_mul "
        "sparse_tensor_to_csr_sparse_matrix",
        "keras.src.backend.tensorflow.numpy, for matmul",
    ),
    "python.ops.math_ops": Alias("nbtf.compat._v1", "keras.src.backend.tensorflow.numpy, for is_nan"),
    "python.trackable.data_structures": Alias(
        f"{_INSIDE}.private_modules:ListWrapper _DictWrapper", "keras.src.tree.optree_impl and dmtree_impl"
    ),
    "saved_model.experimental": Alias(
        f"{_INSIDE}.private_modules:TrackableResource", "keras.src.export.saved_model_export_archive"
    ),
}
"""The modules by name, without `tensorflow.`."""

PACKAGES = frozenset(name.rsplit(".", count)[0] for name in ALIASES for count in range(1, name.count(".") + 1))
"""The packages that contain them."""


def aliased(inside: str) -> ModuleType | None:
    """Returns the module for a name in the table, or one of their packages; None for other names.

    Args:
      inside: the name without `tensorflow.`.
    """
    if inside not in ALIASES:
        return ModuleType(f"tensorflow.{inside}", "A part of TensorFlow.") if inside in PACKAGES else None
    module_name, _, lent = ALIASES[inside].counterpart.partition(":")
    source: Any = import_module(module_name)
    if not lent:
        return source
    module = ModuleType(f"tensorflow.{inside}", source.__doc__)
    for name in lent.split():
        vars(module)[name] = getattr(source, name)
    return module


def children(inside: str) -> list[str]:
    """Returns the names of the modules in the table that a package contains."""
    return [name.rpartition(".")[2] for name in ALIASES if name.rpartition(".")[0] == inside]
