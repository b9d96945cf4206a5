"""How results get into a table on disk."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable
from typing import Any

from nbtf._storage import files
from nbtf.keras.callbacks.callback import Callback


class CSVLogger(Callback):
    """Writes the results of each pass into a line of a file.

    A table that is there is replaced when the first pass has ended, together with its line.

    Args:
      filename: the file.
      separator: what stands between the values.
      append: whether lines are added to a file that is there.
    """

    def __init__(self, filename: Any, separator: str = ",", append: bool = False) -> None:
        self.filename: str = os.fspath(filename)
        self.sep, self.append = separator, append
        self._names: list[str] | None = None
        self._starts_anew = False

    def on_train_begin(self, logs: Any = None) -> None:
        """Looks whether there is a table to go on with."""
        has_names = self.append and os.path.exists(self.filename) and os.path.getsize(self.filename) > 0
        self._names, self._starts_anew = None, not has_names

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Writes a line."""
        results: dict[str, Any] = logs or {}
        names = self._names
        if names is None:
            # As Keras: a later pass may have a validation, if this one has none.
            names = sorted(results)
            names += [] if any(name.startswith("val_") for name in names) else [f"val_{name}" for name in names]
            self._names = names
        lines = io.StringIO()
        writer = csv.writer(lines, delimiter=self.sep, lineterminator="\n")
        if self._starts_anew:
            writer.writerow(["epoch", *names])
        writer.writerow([epoch, *(_plain(results.get(name, "NA")) for name in names)])
        save = files.write if self._starts_anew else files.append
        save(self.filename, lines.getvalue())
        self._starts_anew = False


def _plain(value: Any) -> Any:
    if isinstance(value, Iterable) and not isinstance(value, str):
        return f'"[{", ".join(map(str, value))}]"'  # pyright: ignore[reportUnknownArgumentType]
    return value
