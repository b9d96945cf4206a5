"""Writes training logs for TensorBoard: records with checksums, each a message with a time.

Source: TensorFlow, `tensorflow/core/lib/io/record_writer.h` (the records) and `core/util/event.proto` (the messages).
"""

from __future__ import annotations

import itertools
import os
import platform
import struct
import time
import weakref

from nbtf._locks import new_lock
from nbtf._storage import files
from nbtf._storage.checksums import masked_checksum
from nbtf._storage.wire import block, double, whole_number

_VERSION = "brain.Event:2"
"""Content of a file's first message. Source: TensorFlow, `tensorflow/core/util/events_writer.cc`."""

_NUMBERS = itertools.count()


def record(data: bytes) -> bytes:
    """Returns data as a record: its length, the length's checksum, the data, the data's checksum."""
    length = struct.pack("<Q", len(data))
    return length + masked_checksum(length) + data + masked_checksum(data)


class EventFile:
    """An event file in a folder; both are created immediately. Messages are buffered until there are enough of them.

    Args:
      folder: the folder.
      suffix: end of the file's name.
      queue: number of messages to buffer; `flush` writes them at any time.

    Raises:
      OSError: if the folder or the file cannot be created.
    """

    def __init__(self, folder: str | os.PathLike[str], suffix: str = "", queue: int = 10) -> None:
        """Creates the file with its first message."""
        files.make_folder(folder)
        now = time.time()
        name = f"events.out.tfevents.{int(now)}.{platform.node()}.{os.getpid()}.{next(_NUMBERS)}{suffix}"
        self.path = os.path.join(os.fspath(folder), name)
        self._queue, self._waiting, self._lock = queue, bytearray(), new_lock()
        self._count = 0
        files.create(self.path, record(double(1, now) + block(3, _VERSION)))
        weakref.finalize(self, _write_rest, self.path, self._waiting, os.getpid())

    def add(self, step: int, field: int, content: bytes) -> None:
        """Adds a message with the current time.

        Args:
          step: training step.
          field: field number of the content in the event message.
          content: the encoded content.

        Raises:
          OSError: if it cannot be written; it stays in the buffer for the next attempt.
        """
        event = record(double(1, time.time()) + whole_number(2, step) + block(field, content))
        with self._lock:
            self._waiting += event
            self._count += 1
            is_full = self._count > self._queue
        if is_full:
            self.flush()

    def flush(self) -> None:
        """Writes the buffered messages.

        Raises:
          OSError: if they cannot be written; they stay in the buffer for the next attempt.
        """
        with self._lock:
            if self._waiting:
                files.append(self.path, bytes(self._waiting))
            self._waiting.clear()
            self._count = 0


def _write_rest(path: str, waiting: bytearray, process: int) -> None:
    """Writes the buffer when the file object is freed, also at program exit; a forked process does nothing."""
    if waiting and process == os.getpid() and os.path.exists(path):
        files.append(path, bytes(waiting))
