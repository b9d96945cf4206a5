"""Are files of records those of TensorFlow, and are damaged ones found out?"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import nbtf as tf

RECORDS = [b"one", b"", b"x" * 3000]
ONE = b"\x03\x00\x00\x00\x00\x00\x00\x00\xb0\x99I\x0eone\x01@U\x08"
"""A record as TensorFlow 2.21 writes it."""


def written(path: Path, compression: str | None = None) -> str:
    with tf.io.TFRecordWriter(path, compression) as writer:
        for record in RECORDS:
            writer.write(record)
    return str(path)


def read(path: object, compression: str | None = None) -> list[bytes]:
    return [
        record.numpy()
        for record in tf.data.TFRecordDataset(
            path if isinstance(path, list | tf.data.Dataset) else str(path), compression
        )
    ]


@pytest.mark.parametrize("compression", [None, "", "GZIP", "ZLIB"])
def test_records_are_read_again(tmp_path: Path, compression: str | None) -> None:
    path = written(tmp_path / "r", compression)

    assert RECORDS == read(path, compression)
    assert 2 * RECORDS == read([path, path], compression)
    assert RECORDS == read(tf.data.Dataset.from_tensor_slices([path]), compression)


def test_bytes_are_those_of_tensorflow(tmp_path: Path) -> None:
    path = written(tmp_path / "r")

    assert Path(path).read_bytes().startswith(ONE)


def test_every_changed_byte_and_every_cut_is_found_out(tmp_path: Path) -> None:
    path = tmp_path / "r"
    for place in range(len(ONE)):
        path.write_bytes(ONE[:place] + bytes([ONE[place] ^ 1]) + ONE[place + 1 :])
        with pytest.raises(tf.errors.DataLossError):
            read(path)
    for length in range(1, len(ONE)):
        path.write_bytes(ONE[:length])
        with pytest.raises(tf.errors.DataLossError, match="truncated record at 0"):
            read(path)


@pytest.mark.parametrize("compression", ["GZIP", "ZLIB"])
def test_other_compression_is_found_out(tmp_path: Path, compression: str) -> None:
    with pytest.raises(tf.errors.DataLossError, match=r"Is this even a TFRecord file\?"):
        read(written(tmp_path / "r", compression))
    with pytest.raises(tf.errors.DataLossError):
        read(written(tmp_path / "r"), compression)


def test_a_file_that_existed_stays_until_the_writer_is_closed(tmp_path: Path) -> None:
    path = written(tmp_path / "r")
    writer = tf.io.TFRecordWriter(path)
    writer.write("new")
    writer.flush()
    before = read(path)
    writer.close()
    writer.close()

    assert (RECORDS, [b"new"]) == (before, read(path))
    with pytest.raises(tf.errors.FailedPreconditionError, match="Writer is closed"):
        writer.write(b"")


def test_what_is_no_file_of_records_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(tf.errors.NotFoundError, match="No such file or directory"):
        read(tmp_path / "none")
    for path in (tmp_path / "pipe", "/dev/zero", tmp_path):
        with pytest.raises(tf.errors.FailedPreconditionError):
            read(path)
    with pytest.raises(tf.errors.NotFoundError):
        tf.io.TFRecordWriter(tmp_path / "none" / "r")
    with pytest.raises(ValueError, match='Not a valid compression_type: "X"'):
        tf.io.TFRecordOptions("X")
