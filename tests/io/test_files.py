"""Do `tf.io` and `tf.io.gfile` treat files and bytes as TensorFlow does? Its bytes are recorded here."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbtf as tf

gfile = tf.io.gfile


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    tf.io.write_file("a/b/x.txt", "hello")
    tf.io.write_file("y.txt", b"\x00\xff")
    return tmp_path


def test_files_are_written_and_read() -> None:
    assert [b"hello", b"\x00\xff"] == [tf.io.read_file(path).numpy() for path in ("a/b/x.txt", "y.txt")]


def test_functions_read_and_write_each_time() -> None:
    @tf.function
    def rewrite(text: Any) -> Any:
        before = tf.io.read_file("y.txt")
        tf.io.write_file("y.txt", text)
        return before

    assert [b"\x00\xff", b"one"] == [rewrite(tf.constant(text)).numpy() for text in ("one", "two")]
    assert b"two" == tf.io.read_file("y.txt").numpy()


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.txt", [b"./y.txt"]),
        ("a/*/*.txt", [b"a/b/x.txt"]),
        (["a/b/*", "*.txt"], [b"./y.txt", b"a/b/x.txt"]),
        ("zzz*", []),
        ("y.t?t", [b"./y.txt"]),
        ("[xy].txt", [b"./y.txt"]),
    ],
)
def test_patterns_match_as_in_tensorflow(pattern: Any, expected: list[bytes]) -> None:
    assert expected == tf.io.matching_files(pattern).numpy().tolist()


def test_files_and_folders_are_changed() -> None:
    gfile.makedirs("m/n/o")
    gfile.makedirs("m/n/o")
    gfile.mkdir("m2")
    gfile.copy("y.txt", "m2/y.txt")
    gfile.copy("y.txt", "m2/y.txt", overwrite=True)
    gfile.rename("m2/y.txt", "m/z.txt")
    gfile.rmtree("m2")

    assert [("m", ["n"], ["z.txt"]), ("m/n", ["o"], []), ("m/n/o", [], [])] == list(gfile.walk("m"))
    assert ["m/n/o", "m/n", "m"] == [path for path, _, _ in gfile.walk("m", topdown=False)]
    assert (["a", "m", "y.txt"], ["n", "z.txt"]) == (sorted(gfile.listdir(".")), sorted(gfile.listdir("m")))
    assert (True, False, True, False) == (*map(gfile.exists, ("m", "m2")), *map(gfile.isdir, ("m", "y.txt")))
    assert (2, False, True) == (
        gfile.stat("y.txt").length,
        gfile.stat("y.txt").is_directory,
        gfile.stat("m").is_directory,
    )
    assert (["m/z.txt", "./y.txt"], "a/b") == (gfile.glob(["m/*.txt", "*.txt"]), gfile.join("a", "b"))


def test_streams_read_and_write() -> None:
    with gfile.GFile("w.txt", "w") as file:
        file.write("one\ntwo\n")
        file.write("three")
        file.flush()
        assert "one\ntwo\nthree" == gfile.GFile("w.txt").read()
    with gfile.GFile("w.txt", "a") as file:
        file.write("+")
    with gfile.GFile("w.txt") as file:
        assert ("one", "\n", 4, ["two\n", "three+"], 14, "w.txt", "r", "") == (
            *(file.read(3), file.readline(), file.tell(), file.readlines()),
            *(file.size(), file.name, file.mode, file.read()),
        )
    with gfile.GFile("w.txt", "rb") as file:
        file.seek(2)
        assert (b"e\n", True, [b"two\n", b"three+"]) == (file.read(2), file.seekable(), list(file))


def test_a_file_opened_for_writing_is_emptied_by_the_first_text() -> None:
    with gfile.GFile("y.txt", "w") as file:
        assert b"\x00\xff" == tf.io.read_file("y.txt").numpy()
        file.write(b"z")

    assert b"z" == tf.io.read_file("y.txt").numpy()


ERRORS: dict[str, tuple[Callable[[], Any], str, str]] = {
    "read nothing": (lambda: tf.io.read_file("no"), "NotFoundError", "no; No such file or directory"),
    "read a folder": (lambda: tf.io.read_file("a"), "FailedPreconditionError", "a; Is a directory"),
    "read endlessly": (lambda: tf.io.read_file("/dev/zero"), "FailedPreconditionError", "Expected a regular file."),
    "read a vector": (lambda: tf.io.read_file(["a"]), "InvalidArgumentError", "must be scalar, but had shape: [1]"),
    "write a vector": (lambda: tf.io.write_file("x", ["a"]), "InvalidArgumentError", "Contents tensor must be scalar"),
    "write a folder": (lambda: tf.io.write_file("a", "x"), "FailedPreconditionError", "a; Is a directory"),
    "list nothing": (lambda: gfile.listdir("q"), "NotFoundError", "Could not find directory q"),
    "folder in nothing": (lambda: gfile.mkdir("z/z"), "NotFoundError", "z/z; No such file or directory"),
    "folder in a file": (lambda: gfile.makedirs("y.txt/z"), "FailedPreconditionError", "y.txt is not a directory"),
    "copy nothing": (lambda: gfile.copy("no", "z"), "NotFoundError", "no; No such file or directory"),
    "copy over": (lambda: gfile.copy("y.txt", "a/b/x.txt"), "AlreadyExistsError", "file already exists"),
    "rename over": (lambda: gfile.rename("y.txt", "a/b/x.txt"), "AlreadyExistsError", "file already exists"),
    "rename nothing": (lambda: gfile.rename("no", "z"), "NotFoundError", "no; No such file or directory"),
    "remove nothing": (lambda: gfile.remove("no"), "NotFoundError", "no; No such file or directory"),
    "remove a folder": (lambda: gfile.remove("a"), "FailedPreconditionError", "a; Is a directory"),
    "remove no tree": (lambda: gfile.rmtree("no"), "NotFoundError", "no not found"),
    "no statistics": (lambda: gfile.stat("no"), "NotFoundError", "no; No such file or directory"),
    "no mode": (lambda: gfile.GFile("y.txt", "q"), "InvalidArgumentError", "mode is not 'r' or 'w'"),
    "stream of nothing": (lambda: gfile.GFile("no").read(), "NotFoundError", "no; No such file or directory"),
    "stream of a folder": (lambda: gfile.GFile("a").read(), "FailedPreconditionError", "a; Is a directory"),
    "write a reader": (lambda: gfile.GFile("y.txt").write("a"), "PermissionDeniedError", "isn't open for writing"),
    "read a writer": (lambda: gfile.GFile("y.txt", "w").read(), "PermissionDeniedError", "isn't open for reading"),
    "seek before": (lambda: gfile.GFile("y.txt").seek(-1), "InvalidArgumentError", "a negative position: -1"),
    "seek behind": (lambda: gfile.GFile("y.txt").seek(1, 2), "OutOfRangeError", "reached end of file"),
    "base64 of 1": (lambda: tf.io.decode_base64("a"), "InvalidArgumentError", "length cannot be 1 modulo 4"),
    "base64 of plus": (
        lambda: tf.io.decode_base64("a+b/"),
        "InvalidArgumentError",
        "Invalid character found in base64",
    ),
    "base64 inside": (lambda: tf.io.decode_base64("ab=c"), "InvalidArgumentError", "Invalid character found in base64"),
    "other dtype": (
        lambda: tf.io.parse_tensor(tf.io.serialize_tensor(["a"]), tf.int32),
        "InvalidArgumentError",
        "Type mismatch between parsed tensor (string) and dtype (int32)",
    ),
    "no tensor": (
        lambda: tf.io.parse_tensor("zzz", tf.int32),
        "InvalidArgumentError",
        "Could not parse `serialized` as TensorProto, base64: enp6",
    ),
    "too few bytes": (
        lambda: tf.io.parse_tensor(b'\x08\x01\x12\x04\x12\x02\x08\x03"\x04\x00\x00\x00\x00', tf.float32),
        "InvalidArgumentError",
        "Cannot parse tensor from proto",
    ),
    "field missing": (
        lambda: tf.io.decode_csv("1,", [[1], tf.constant([], tf.int32)]),
        "InvalidArgumentError",
        "Field 1 is required but missing in record 0!",
    ),
    "fields missing": (
        lambda: tf.io.decode_csv("1", [[1], [2]]),
        "InvalidArgumentError",
        "Expect 2 fields but have 1 in record 0",
    ),
    "no number": (
        lambda: tf.io.decode_csv("99999999999", [[1]]),
        "InvalidArgumentError",
        "Field 0 in record 0 is not a valid int32: 99999999999",
    ),
    "open quote": (
        lambda: tf.io.decode_csv('"ab', [[""]]),
        "InvalidArgumentError",
        "Quoted field has to end with quote",
    ),
    "text behind quote": (lambda: tf.io.decode_csv('"ab"c', [[""]]), "InvalidArgumentError", "has to be escaped"),
    "quote inside": (
        lambda: tf.io.decode_csv('a"b', [[""]]),
        "InvalidArgumentError",
        "cannot have quotes/CRLFs inside",
    ),
    "line inside": (lambda: tf.io.decode_csv("1\n2", [[1]]), "InvalidArgumentError", "cannot have quotes/CRLFs inside"),
    "two delimiters": (
        lambda: tf.io.decode_csv("1", [[1]], field_delim=",,"),
        "InvalidArgumentError",
        "field_delim should be only 1 char",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_those_of_tensorflow(name: str) -> None:
    call, error, text = ERRORS[name]

    with pytest.raises(getattr(tf.errors, error)) as raised:
        call()

    assert text in str(raised.value)


def test_pipes_are_not_read() -> None:
    os.mkfifo("pipe")
    for call in (tf.io.read_file, lambda path: gfile.GFile(path).read(), lambda path: gfile.copy(path, "z")):
        with pytest.raises(tf.errors.FailedPreconditionError, match="Expected a regular file"):
            call("pipe")


TABLES: dict[str, tuple[Callable[[], Any], Any]] = {
    "dtypes": (lambda: tf.io.decode_csv(["1,2.5", "4,"], [[0], [0.5]]), [[1, 4], [2.5, 0.5]]),
    "quotes": (lambda: tf.io.decode_csv('1,"a""b,c"', [[1], [""]]), [1, b'a"b,c']),
    "no quotes": (lambda: tf.io.decode_csv('1,"a"', [[1], [""]], use_quote_delim=False), [1, b'"a"']),
    "other name of nothing": (lambda: tf.io.decode_csv("NA,2", [[7], [2]], na_value="NA"), [7, 2]),
    "other delimiter": (lambda: tf.io.decode_csv("1;2", [[1], [2.0]], field_delim=";"), [1, 2.0]),
    "some columns": (lambda: tf.io.decode_csv("1,2,3", [[1], [2.0]], select_cols=[0, 2]), [1, 3.0]),
    "blanks": (lambda: tf.io.decode_csv("1, 2, x ", [[1], [2], [""]]), [1, 2, b" x "]),
    "matrix": (lambda: tf.io.decode_csv([["1,2"]], [[1], [2]]), [[[1]], [[2]]]),
    "infinite": (lambda: tf.io.decode_csv("1e400", [[2.0]]), [np.inf]),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_become_columns(name: str) -> None:
    call, expected = TABLES[name]

    assert expected == [np.asarray(column.numpy()).tolist() for column in call()]


DTYPES = "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool complex64 complex128"
ENUMS: dict[str, int] = dict(zip(DTYPES.split(), (19, 1, 2, 6, 5, 3, 9, 4, 17, 22, 23, 10, 8, 18), strict=True))


@pytest.mark.parametrize("dtype", DTYPES.split())
def test_tensors_become_messages_and_come_back(dtype: str) -> None:
    values = np.array([[1, 0], [3, 4]]).astype(dtype)
    data = tf.io.serialize_tensor(values).numpy()

    content = values.tobytes()
    head = bytes([8, ENUMS[dtype], 18, 8, 18, 2, 8, 2, 18, 2, 8, 2, 34, len(content)])
    assert head + content == data
    result = tf.io.parse_tensor(data, dtype)
    assert (dtype, values.tolist()) == (result.dtype, result.numpy().tolist())


def test_texts_become_messages_and_values_fill_up() -> None:
    data = tf.io.serialize_tensor(["a", "bc"]).numpy()

    assert b"\x08\x07\x12\x04\x12\x02\x08\x02B\x01aB\x02bc" == data
    assert [b"a", b"bc"] == tf.io.parse_tensor(data, tf.string).numpy().tolist()
    one = b"\x08\x01\x12\x04\x12\x02\x08\x03*\x04\x00\x00\x80\x3f"
    assert [1.0, 1.0, 1.0] == tf.io.parse_tensor(one, tf.float32).numpy().tolist()
