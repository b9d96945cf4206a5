"""Callbacks that keep the results of all epochs: in memory, in a file, or in TensorBoard's format."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Mapping
from typing import Any

from nbtf._storage import files
from nbtf._storage.spreadsheets import as_cell
from nbtf.keras.callbacks.callback import Callback
from nbtf.keras.model_reference import ModelReference
from nbtf.summary import SummaryWriter, create_file_writer, scalar


class History(Callback):
    """Keeps the results of each epoch: `history` has a list for each name, `epoch` the epoch numbers."""

    def __init__(self) -> None:
        self.history: dict[str, list[Any]] = {}
        self.epoch: list[int] = []

    # The model refers to this object as `history`. Strong references both ways would keep weights on their devices.

    @property
    def model(self) -> Any:
        """The model that was trained; None if it was deleted."""
        return None if self._model is None else self._model()

    def set_model(self, model: Any) -> None:
        """Stores a reference to the model."""
        self._model = ModelReference(model)

    def on_train_begin(self, logs: Any = None) -> None:
        """Clears the results."""
        self.epoch = []

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Adds the results of an epoch."""
        self.epoch.append(epoch)
        results: dict[str, Any] = logs or {}
        for name, value in results.items():
            self.history.setdefault(name, []).append(value)
        self.model.__dict__["history"] = self


class CSVLogger(Callback):
    """Writes the results of each epoch to a CSV file, one line per epoch.

    An existing file is replaced when the first epoch ends. Text that a spreadsheet would evaluate, such as a metric
    named `=a`, gets an apostrophe in front.

    Args:
      filename: path of the file.
      separator: separator between the values; a comma by default.
      append: whether to add lines to an existing file; false by default.
    """

    def __init__(self, filename: Any, separator: str = ",", append: bool = False) -> None:
        self.filename: str = os.fspath(filename)
        self.sep: str = separator
        self.append: bool = append
        self._names: list[str] | None = None
        self._starts_anew = False

    def on_train_begin(self, logs: Any = None) -> None:
        """Checks whether to continue an existing table."""
        has_names = self.append and os.path.exists(self.filename) and os.path.getsize(self.filename) > 0
        self._names, self._starts_anew = None, not has_names

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Writes a line with the results of an epoch."""
        results: dict[str, Any] = logs or {}
        names = self._names
        if names is None:
            # As in Keras, columns for a validation are added even if this epoch has none: a later one may.
            names = sorted(results)
            names += [] if any(name.startswith("val_") for name in names) else [f"val_{name}" for name in names]
            self._names = names
        lines = io.StringIO()
        writer = csv.writer(lines, delimiter=self.sep, lineterminator="\n")
        if self._starts_anew:
            writer.writerow(map(as_cell, ["epoch", *names]))
        writer.writerow(map(as_cell, [epoch, *(_plain(results.get(name, "NA")) for name in names)]))
        save = files.write if self._starts_anew else files.append
        save(self.filename, lines.getvalue())
        self._starts_anew = False


def _plain(value: Any) -> Any:
    if isinstance(value, Iterable) and not isinstance(value, str):
        return f'"[{", ".join(map(str, value))}]"'  # pyright: ignore[reportUnknownArgumentType]
    return value


class TensorBoard(Callback):
    """Writes losses and metrics of each epoch to event files in the folders `train` and `validation`.

    Args:
      log_dir: parent folder of these two.
      **kwargs: ignored; histograms of weights, graphs, images and profiles are not written.

    >>> tf.keras.callbacks.TensorBoard(log_dir="./logs", histogram_freq=1).log_dir
    './logs'
    """

    def __init__(self, log_dir: Any = "logs", **kwargs: Any) -> None:
        self.log_dir: str = str(log_dir)
        self._writers: dict[str, SummaryWriter] = {}

    def on_epoch_end(self, epoch: int, logs: Mapping[str, Any] | None = None) -> None:
        """Writes the results of the epoch."""
        for name, value in (logs or {}).items():
            run = "validation" if name.startswith("val_") else "train"
            if run not in self._writers:
                self._writers[run] = create_file_writer(os.path.join(self.log_dir, run))
            with self._writers[run].as_default(step=epoch):
                scalar(f"epoch_{name.removeprefix('val_')}", value)

    def on_train_end(self, logs: Mapping[str, Any] | None = None) -> None:
        """Writes buffered results and closes the files."""
        for writer in self._writers.values():
            writer.close()
        self._writers = {}
