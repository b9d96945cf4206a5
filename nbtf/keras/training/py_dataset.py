"""What a data set is that a program writes itself: batches by number."""

from __future__ import annotations

from typing import Any


class PyDataset:
    """Subclass it, and write `__len__`, the number of batches, and `__getitem__`, which returns the batch of a number.

    A batch is a tuple of inputs, targets and, where wanted, weights. Batches are asked for one by one, in this thread.

    Args:
      workers, use_multiprocessing, max_queue_size: accepted for TensorFlow's sake, without effect.

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
        """Returns a batch."""
        raise NotImplementedError

    @property
    def num_batches(self) -> int | None:
        """The number of batches; None for as many as are asked for."""
        return len(self)

    def on_epoch_begin(self) -> None:
        """Is called before each pass."""

    def on_epoch_end(self) -> None:
        """Is called after each pass."""
