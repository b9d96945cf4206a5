"""Writing of record files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nbtf._storage.records import COMPRESSIONS, RecordWriter


@dataclass(eq=False)
class TFRecordOptions:
    """The compression of a record file.

    Args:
      compression_type: `""`, `"ZLIB"` or `"GZIP"`; None for no compression.
      flush_mode: accepted and ignored.
      input_buffer_size: accepted and ignored.
      output_buffer_size: accepted and ignored.
      window_bits: accepted and ignored.
      compression_level: 0 to 9; -1 or None for the default.
      compression_method: accepted and ignored.
      mem_level: accepted and ignored.
      compression_strategy: accepted and ignored.

    Raises:
      ValueError: if the compression is unknown.

    >>> tf.io.TFRecordOptions("GZIP").compression_type
    'GZIP'
    """

    compression_type: str | None = None
    flush_mode: int | None = None
    input_buffer_size: int | None = None
    output_buffer_size: int | None = None
    window_bits: int | None = None
    compression_level: int | None = None
    compression_method: int | None = None
    mem_level: int | None = None
    compression_strategy: int | None = None

    def __post_init__(self) -> None:
        if (self.compression_type or "") not in COMPRESSIONS:
            raise ValueError(f'Not a valid compression_type: "{self.compression_type}"')


class TFRecordWriter:
    """Writes a record file, which appears under its path when the writer is closed.

    Args:
      path: path of the file; an existing file is replaced.
      options: `TFRecordOptions`, or the name of a compression.

    Raises:
      NotFoundError: if the folder does not exist.
      ValueError: if the compression is unknown.

    >>> path = str(getfixture("tmp_path") / "a.tfrecord")
    >>> with tf.io.TFRecordWriter(path) as writer:
    ...     writer.write(b"one")
    >>> [record.numpy() for record in tf.data.TFRecordDataset(path)]
    [b'one']
    """

    def __init__(self, path: Any, options: TFRecordOptions | str | None = None) -> None:
        if not isinstance(options, TFRecordOptions):
            options = TFRecordOptions(options)
        level = -1 if options.compression_level is None else options.compression_level
        self._writer = RecordWriter(path, options.compression_type or "", level)

    def write(self, record: Any) -> None:
        """Appends a record, given as bytes or a string.

        Raises:
          TypeError: if `record` is anything else.
          FailedPreconditionError: if the writer is closed.
        """
        if not isinstance(record, bytes | str):
            raise TypeError(f"A record must be bytes or a string. Received: {record!r}")
        self._writer.write(record.encode() if isinstance(record, str) else record)

    def flush(self) -> None:
        """Passes the buffered records to the operating system.

        Raises:
          FailedPreconditionError: if the writer is closed.
        """
        self._writer.flush()

    def close(self) -> None:
        """Moves the finished file to its path; further calls do nothing."""
        self._writer.close()

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(self, *error: object) -> None:
        """Closes the file."""
        self.close()

    def __del__(self) -> None:
        """Closes the file."""
        if hasattr(self, "_writer"):
            self.close()
