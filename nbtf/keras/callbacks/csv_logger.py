"""How results get into a table on disk."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable
from typing import Any

from nbtf.keras.callbacks.callback import Callback


class CSVLogger(Callback):
    """Writes the results of each pass into a line of a file.

    Args:
      filename: the file.
      separator: what stands between the values.
      append: whether lines are added to a file that is there.
    """

    def __init__(self, filename: Any, separator: str = ",", append: bool = False) -> None:
        """Takes the options."""
        self.filename: str = os.fspath(filename)
        self.sep, self.append = separator, append
        self._file: Any = None
        self._names: list[str] | None = None

    def on_train_begin(self, logs: Any = None) -> None:
        """Opens the file."""
        has_names = self.append and os.path.exists(self.filename) and os.path.getsize(self.filename) > 0
        self._file = open(self.filename, "a" if self.append else "w", newline="", encoding="utf-8")
        self._header, self._names = not has_names, None

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Writes a line."""
        results: dict[str, Any] = logs or {}
        names = self._names
        if names is None:
            # As Keras: a later pass may have a validation, if this one has none.
            names = sorted(results)
            names += [] if any(name.startswith("val_") for name in names) else [f"val_{name}" for name in names]
            self._names = names
        writer = csv.writer(self._file, delimiter=self.sep, lineterminator="\n")
        if self._header:
            writer.writerow(["epoch", *names])
            self._header = False
        writer.writerow([epoch, *(_plain(results.get(name, "NA")) for name in names)])
        self._file.flush()

    def on_train_end(self, logs: Any = None) -> None:
        """Closes the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _plain(value: Any) -> Any:
    if isinstance(value, Iterable) and not isinstance(value, str):
        return f'"[{", ".join(map(str, value))}]"'  # pyright: ignore[reportUnknownArgumentType]
    return value
