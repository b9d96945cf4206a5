"""Dataset methods that combine elements and split them again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtf.data import batching, mapping
from nbtf.data.elements import as_element, on_host
from nbtf.data.pipeline import Pipeline, as_count
from nbtf.data.stage import Maker, Stage


class Grouping(Pipeline):
    """The dataset methods that form groups."""

    __slots__ = ()

    def _then(self, stage: Stage) -> Any:
        return Maker.dataset(stage)

    def batch(
        self,
        batch_size: Any,
        drop_remainder: Any = False,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Any:
        """Combines consecutive elements into batches.

        Args:
          batch_size: number of elements in a batch; the last batch may be smaller.
          drop_remainder: whether to drop a smaller last batch.
          num_parallel_calls: accepted; batches are created one after another.
          deterministic: accepted; the order is always that of the input.
          name: accepted and ignored.

        Returns:
          A dataset whose elements have one more axis. Consecutive rows of an array are not copied.

        Raises:
          InvalidArgumentError: if `batch_size` is not positive, or when an element is read, if shapes differ.

        >>> [x.tolist() for x in tf.data.Dataset.range(5).batch(2).as_numpy_iterator()]
        [[0, 1], [2, 3], [4]]
        """
        parallel = num_parallel_calls is not None
        return self._then(batching.Batched(self._stage, as_count(batch_size), bool(drop_remainder), parallel))

    def ragged_batch(
        self,
        batch_size: Any,
        drop_remainder: Any = False,
        row_splits_dtype: Any = None,
        name: str | None = None,
    ) -> Any:
        """Combines elements of different lengths into batches of ragged tensors.

        Args:
          batch_size: number of elements in a batch; the last batch may be smaller.
          drop_remainder: whether to drop a smaller last batch.
          row_splits_dtype: accepted; row splits are int64.
          name: accepted and ignored.

        >>> rows = tf.data.Dataset.range(3).map(tf.range).ragged_batch(3)
        >>> next(iter(rows))
        <tf.RaggedTensor [[], [0], [0, 1]]>
        """
        return self._then(batching.RaggedBatched(self._stage, as_count(batch_size), bool(drop_remainder)))

    def unbatch(self, name: str | None = None) -> Any:
        """Splits each element into its rows.

        Args:
          name: accepted and ignored.

        Raises:
          ValueError: if elements have no rows.

        >>> list(tf.data.Dataset.from_tensors([1, 2]).unbatch().as_numpy_iterator())
        [np.int32(1), np.int32(2)]
        """
        return self._then(batching.Unbatched(self._stage))

    def window(
        self, size: Any, shift: Any = None, stride: Any = 1, drop_remainder: Any = False, name: str | None = None
    ) -> Any:
        """Groups neighbouring elements into windows, each of which is a dataset.

        Args:
          size: number of elements in a window.
          shift: distance between the starts of consecutive windows; `size` by default.
          stride: distance between elements within a window.
          drop_remainder: whether to drop windows that are too small.
          name: accepted and ignored.

        Returns:
          A dataset whose elements are datasets, one for each value of an element.

        Raises:
          InvalidArgumentError: if a number is not positive.

        >>> windows = tf.data.Dataset.range(4).window(3, shift=1, drop_remainder=True)
        >>> [[int(x) for x in window] for window in windows]
        [[0, 1, 2], [1, 2, 3]]
        """
        count = as_count(size)
        distance = count if shift is None else as_count(shift)
        return self._then(batching.Windows(self._stage, count, distance, as_count(stride), bool(drop_remainder)))

    def group_by_window(
        self,
        key_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        window_size: Any = None,
        window_size_func: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> Any:
        """Groups elements with equal keys, and applies a function to each group.

        Args:
          key_func: returns the key of an element, an int64 scalar.
          reduce_func: receives a key and a dataset of elements, and returns a dataset.
          window_size: number of elements in a group.
          window_size_func: alternative to `window_size`: returns the number for a key.
          name: accepted and ignored.

        Raises:
          ValueError: if neither or both sizes are given.

        >>> parity = lambda x: x % 2
        >>> groups = tf.data.Dataset.range(5).group_by_window(parity, lambda key, ds: ds.batch(2), window_size=2)
        >>> [x.tolist() for x in groups.as_numpy_iterator()]
        [[0, 2], [1, 3], [4]]
        """
        if (window_size is None) is (window_size_func is None):
            raise ValueError("Either the `window_size` argument or the `window_size_func` argument must be specified.")

        def size_of(key: int) -> int:
            if window_size_func is None:
                return as_count(window_size)
            return int(on_host(window_size_func, as_element(key)))

        return self._then(mapping.Grouped(self._stage, key_func, reduce_func, size_of))
