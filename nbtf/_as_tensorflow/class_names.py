"""The classes that Keras 3 recognizes by the text of their names and modules, which `isinstance` would not need."""

from __future__ import annotations

from typing import Any

from nbtf._ops.ragged_and_sparse.ragged import RaggedTensor
from nbtf._ops.ragged_and_sparse.sparse import SparseTensor
from nbtf._runtime.tensor import Tensor
from nbtf.data.dataset import Dataset
from nbtf.distribute.datasets import DistributedDataset
from nbtf.keras.layers.tracking import TrackedDict, TrackedList

NAMED: tuple[tuple[Any, str, str], ...] = (
    (Dataset, "DatasetV2", "python.data.ops.dataset_ops"),
    (DistributedDataset, "DistributedDataset", "python.distribute.input_lib"),
    (RaggedTensor, "RaggedTensor", "python.ops.ragged.ragged_tensor"),
    (SparseTensor, "SparseTensor", "python.framework.sparse_tensor"),
    (Tensor, "Tensor", "python.framework.tensor"),
    (TrackedDict, "_DictWrapper", "python.trackable.data_structures"),
    (TrackedList, "ListWrapper", "python.trackable.data_structures"),
)
"""Each class, with its name and module in TensorFlow. `keras.src.trainers.data_adapters` compares them, and errors of
optree show the last two."""


_NBTFS: dict[Any, tuple[str, str]] = {}
"""nbtf's names and modules of the classes that have TensorFlow's now."""


def give_names() -> None:
    """Gives the classes TensorFlow's names, until `restore_names`."""
    for value_class, name, module in NAMED:
        _NBTFS.setdefault(value_class, (value_class.__name__, value_class.__module__))
        value_class.__name__ = value_class.__qualname__ = name
        value_class.__module__ = f"tensorflow.{module}"


def restore_names() -> None:
    """Gives the classes nbtf's names again."""
    for value_class, (name, module) in _NBTFS.items():
        value_class.__name__ = value_class.__qualname__ = name
        value_class.__module__ = module
    _NBTFS.clear()
