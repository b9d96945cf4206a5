"""Data sets defined by a program, which return batches by number."""

from __future__ import annotations

from typing import Any


class PyDataset:
    """Base class of data sets. Subclass it, and define `__len__` (number of batches) and `__getitem__` (a batch).

    A batch is a tuple of inputs, targets and optionally weights. Batches are requested one by one, in this thread.

    Args:
      workers, use_multiprocessing, max_queue_size: ignored, for compatibility with TensorFlow.

    >>> class Squares(tf.keras.utils.PyDataset):
    ...     def __len__(self):
    ...         return 2
    ...     def __getitem__(self, index):
    ...         x = np.arange(3.0) + 3 * index
    ...         return x, x * x
    >>> Squares().num_batches
    2
    """

    def __init__(self, workers: int = 1, use_multiprocessing: bool = False, max_queue_size: int = 10) -> None:
        self.workers: int = workers
        self.use_multiprocessing: bool = use_multiprocessing
        self.max_queue_size: int = max_queue_size

    def __len__(self) -> int:
        raise NotImplementedError

    def __getitem__(self, index: int) -> Any:
        """Returns the batch with this number."""
        raise NotImplementedError

    @property
    def num_batches(self) -> int | None:
        """The number of batches; None for an endless data set."""
        return len(self)

    def on_epoch_begin(self) -> None:
        """Called before each epoch."""

    def on_epoch_end(self) -> None:
        """Called after each epoch."""
