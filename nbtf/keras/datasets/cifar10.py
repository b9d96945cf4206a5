"""Small colour images of ten classes."""

from __future__ import annotations

from nbtf.keras.datasets.cache import Split, batch, find_data_set, join_splits


def load_data() -> tuple[Split, Split]:
    """Returns 50,000 images for training and 10,000 for testing, each with the number of its class.

    Returns:
      `(x_train, y_train), (x_test, y_test)`: uint8, shapes `[n, 32, 32, 3]` and `[n, 1]`.

    Raises:
      FileNotFoundError: if the files (the binary version) are not on this computer.
    """
    folder = find_data_set("cifar-10-batches-bin")
    batches = [batch(folder / f"data_batch_{number}.bin", labels=1) for number in range(1, 6)]
    return join_splits(batches), batch(folder / "test_batch.bin", labels=1)
