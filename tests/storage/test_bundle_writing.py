"""Are the values of a written checkpoint those that are read, after any damage and any interrupted save?"""

from __future__ import annotations

import math
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._storage import limits
from nbtf._storage.bundle_writing import write_bundle
from nbtf._storage.limits import UnsavableError
from nbtf._storage.sorted_tables import as_table, parse_table
from nbtf._storage.tensor_bundle import TensorBundle, files_of
from nbtf.errors import DataLossError
from tests.storage import tensor_bundles as bundles
from tests.storage.saved_subjects import DTYPES, same

LETTERS = ["a", "b", "/", ".", ".S", "..", "\0", "é", "字", "😀", " ", '"', "VARIABLE_VALUE", "x" * 300]


def name(random: Random) -> str:
    return "n" + "".join(random.choice(LETTERS) for _ in range(random.randrange(8)))


def value(random: Random) -> Any:
    """Returns an array of any dtype and shape, or strings."""
    shape = [random.choice([0, 1, 1, 2, 3, 7]) for _ in range(random.randrange(5))]
    count = math.prod(shape)
    kind = random.choice([*DTYPES, "bfloat16", "strings"])
    if kind == "strings":
        texts = np.empty(count, object)
        texts[:] = [random.randbytes(random.choice([0, 1, 5, 200])) for _ in range(count)]
        return texts.reshape(shape)
    if kind == "bool":
        return np.array([random.random() < 0.5 for _ in range(count)], bool).reshape(shape)
    dtype = tf.bfloat16.np_dtype if kind == "bfloat16" else np.dtype(kind)
    array = np.frombuffer(random.randbytes(count * dtype.itemsize), dtype).reshape(shape)
    return random.choice([array, array.T, np.asfortranarray(array), array.astype(dtype.newbyteorder(">"))])


def small() -> dict[str, Any]:
    return {"b": np.arange(3.0), "a": np.array([b"x", b""], object), "c/d": np.int32(7), "e": np.zeros((0, 2))}


def test_any_values_are_read_as_they_were_written(tmp_path: Path) -> None:
    for seed in range(150):
        random = Random(seed)
        values = {name(random): value(random) for _ in range(random.choice([0, 1, 3, 10, 60]))}
        write_bundle(tmp_path / "c", values)
        found = TensorBundle(tmp_path / "c").read_all()

        assert list(found) == sorted(values, key=str.encode)
        for key, array in found.items():
            expected = np.asarray(values[key])
            assert array.dtype == expected.dtype.newbyteorder("=")
            assert same(array.tobytes() if array.dtype.kind == "V" else array, _native(expected)), (seed, key)


def _native(array: Any) -> Any:
    return array.tobytes() if array.dtype.kind == "V" else array.astype(array.dtype.newbyteorder("="))


def test_values_of_several_megabytes_are_read_as_they_were_written(tmp_path: Path) -> None:
    values = {str(size): np.random.default_rng(size).bytes(size) for size in (2**22 - 1, 2**22, 2**23 + 5)}
    numbers = {f"n{key}": np.frombuffer(content, np.uint8) for key, content in values.items()}
    write_bundle(tmp_path / "c", {**values, **numbers})
    found = TensorBundle(tmp_path / "c").read_all()

    assert all(found[key].item() == content for key, content in values.items())
    assert all((found[key] == array).all() for key, array in numbers.items())


@pytest.mark.parametrize("count", [0, 1, 15, 16, 17, 5000])
def test_a_table_of_any_keys_is_read_as_it_was_written(count: int) -> None:
    random = Random(count)
    table = {random.choice([b"", b"key", b"\0"]) + random.randbytes(random.randrange(9)): b"v" for _ in range(count)}

    assert parse_table(as_table(table)) == dict(sorted(table.items()))


def test_a_short_table_has_the_bytes_of_another_writer() -> None:
    table = {b"": bundles.HEADER, b"abc": b"1", b"abd": b"", b"b": b"2" * 200}

    assert as_table(table) == bundles.table(table.items())


def test_every_cut_and_every_changed_byte_is_refused_or_changes_nothing(tmp_path: Path) -> None:
    write_bundle(tmp_path / "c", small())
    expected = TensorBundle(tmp_path / "c").read_all()
    refused = 0
    for file in files_of(tmp_path / "c"):
        content = file.read_bytes()
        changed = [content[:length] for length in range(len(content))]
        for place in range(len(content)):
            changed += [content[:place] + bytes([content[place] ^ bits]) + content[place + 1 :] for bits in (1, 0x80)]
        for each in changed:
            file.write_bytes(each)
            try:
                found = TensorBundle(tmp_path / "c").read_all()
            except DataLossError:
                refused += 1
            else:
                assert same(found, expected)
                assert len(each) == len(content)
        assert refused >= len(changed) - 4
        refused = 0
        file.write_bytes(content)


def test_a_replaced_checkpoint_has_two_files_again(tmp_path: Path) -> None:
    for number in range(5):
        write_bundle(tmp_path / "c", {"v": np.int64(number)})
        write_bundle(tmp_path / "c2", {"v": np.int64(-number)})

        assert TensorBundle(tmp_path / "c").read("v") == number
        assert len(files_of(tmp_path / "c")) == 2
    assert len([*tmp_path.iterdir()]) == 4


def test_what_a_killed_save_left_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "c.data-00000-of-00001").write_bytes(b"left")
    write_bundle(tmp_path / "c", {"v": np.int64(1)})

    assert [file.name for file in sorted(tmp_path.iterdir())] == ["c.data-00000-of-00001", "c.index"]
    (tmp_path / "c.data-00000-of-00002").write_bytes(b"left")
    write_bundle(tmp_path / "c", {"v": np.int64(2)})
    assert [file.name for file in sorted(tmp_path.iterdir())] == ["c.data-00000-of-00003", "c.index"]
    assert TensorBundle(tmp_path / "c").read("v") == 2


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"": 1}, "name '' is empty"),
        ({"\0a": 1}, "starts with a NUL"),
        ({"a\ud800": 1}, "a character that UTF-8 cannot write"),
        ({"a" * 65_001: 1}, "65,001 bytes in the name"),
        ({"a": np.zeros(2, "datetime64[s]")}, r"has the type datetime64\[s\], which checkpoints cannot store"),
        ({"a": np.zeros(2, "V3")}, "which checkpoints cannot store"),
        ({"a": np.array([b"x", None], object)}, "None, which is neither a number nor text"),
    ],
)
def test_values_that_could_not_be_read_are_refused_and_the_earlier_ones_stay(
    values: dict[str, Any], message: str, tmp_path: Path
) -> None:
    write_bundle(tmp_path / "c", small())
    with pytest.raises(UnsavableError, match=rf"c\.index was not saved: .*{message}"):
        write_bundle(tmp_path / "c", {**small(), **values})

    assert same(TensorBundle(tmp_path / "c").read_all()["b"], np.arange(3.0))


@pytest.mark.parametrize(
    ("limit", "maximum"), [(limits.INDEX_BYTES, 300), (limits.OBJECTS, 5)], ids=["index", "objects"]
)
def test_a_graph_that_could_not_be_read_is_not_written(
    limit: limits.Limit, maximum: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def checkpoint(count: int) -> Any:
        return tf.train.Checkpoint(v=[tf.Variable(float(number)) for number in range(count)])

    checkpoint(2).write(tmp_path / "c")
    monkeypatch.setattr(limit, "maximum", maximum)
    with pytest.raises(UnsavableError, match=rf"c\.index was not saved: \S+ {limit.bounds}; the limit is {maximum}"):
        checkpoint(9).write(tmp_path / "c")

    checkpoint(2).read(tmp_path / "c").assert_consumed()
