"""Small colour images of a hundred classes."""

from __future__ import annotations

from nbtf.keras.datasets.cache import Split, batch, find_data_set


def load_data(label_mode: str = "fine") -> tuple[Split, Split]:
    """Returns 50,000 images for training and 10,000 for testing, each with the number of its class.

    Args:
      label_mode: `"fine"` for 100 classes, `"coarse"` for 20.

    Returns:
      `(x_train, y_train), (x_test, y_test)`: uint8, shapes `[n, 32, 32, 3]` and `[n, 1]`.

    Raises:
      ValueError: if `label_mode` is neither of these.
      FileNotFoundError: if the files (the binary version) are not on this computer.
    """
    if label_mode not in ("fine", "coarse"):
        raise ValueError(f"`label_mode` must be one of `'fine'`, `'coarse'`. Received: label_mode={label_mode}.")
    folder = find_data_set("cifar-100-binary")
    label_column = 1 if label_mode == "fine" else 0
    return batch(folder / "train.bin", labels=2, label_column=label_column), batch(
        folder / "test.bin", labels=2, label_column=label_column
    )
