"""Are TensorFlow's checkpoints read as they were written, and are damaged or hostile ones refused by name?"""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._storage.checksums import crc32c
from nbtf._storage.wire import block, varint, whole_number
from nbtf.errors import DataLossError
from tests.hostile_files import grammar
from tests.storage import tensor_bundles as bundles

Entries = dict[bytes, bytes]
SUFFIX = "/.ATTRIBUTES/VARIABLE_VALUE"
V, TEXT, COUNTER = f"v{SUFFIX}", f"text{SUFFIX}", f"save_counter{SUFFIX}"
NODES = [({"v": 1, "text": 2, "save_counter": 3, "same": 0}, None), ({}, V), ({}, TEXT), ({}, COUNTER)]
ARRAYS: dict[str, Any] = {
    V: np.array([1.0, 2.0], np.float32),
    TEXT: np.array([b"a", b"", b"b\0"], object),
    COUNTER: np.int64(5),
    "empty": np.zeros((0, 3)),
    "flags": np.array([True, False]),
    bundles.GRAPH: bundles.graph(NODES),
}


REMAINDERS = [*range(256)]
for _ in range(8):
    REMAINDERS = [number >> 1 ^ (0x82F63B78 if number & 1 else 0) for number in REMAINDERS]


def entries() -> tuple[Entries, bytes]:
    """Returns the entries of a small checkpoint, and the content of its shard."""
    return bundles.entries_of(ARRAYS)


def written(folder: Path, index: Entries, content: bytes) -> str:
    """Writes a checkpoint with valid checksums, and returns its prefix."""
    return bundles.write(folder / "c", bundles.table(index.items()), content)


def restored(prefix: str) -> list[Any]:
    """Returns what all readers find in a checkpoint."""
    listed = tf.train.list_variables(prefix)
    values = [np.asarray(tf.train.load_variable(prefix, name)).tolist() for name, _ in listed]
    v, text = tf.Variable([0.0, 0.0]), tf.Variable(["x", "y", "z"])
    checkpoint = tf.train.Checkpoint(v=v, text=text)
    checkpoint.restore(prefix).expect_partial()
    both = [v.numpy().tolist(), text.numpy().tolist(), int(checkpoint.save_counter)]
    return [listed, values, both]


def test_values_are_those_that_were_written(tmp_path: Path) -> None:
    listed, values, both = restored(written(tmp_path, *entries()))

    assert [name for name, _ in listed] == sorted(ARRAYS)
    assert values == [np.asarray(ARRAYS[name]).tolist() for name in sorted(ARRAYS)]
    assert both == [[1.0, 2.0], [b"a", b"", b"b\0"], 5]


@pytest.mark.parametrize(
    "size", [0, 1, 3, 4, 1023, 1024, 1025, 54_215, 54_216, 54_224, 54_231, 104_561, 2**22, 2**22 + 3, 2**22 + 108_433]
)
def test_checksums_of_long_content_are_those_of_a_loop_over_its_bytes(size: int) -> None:
    content = np.random.default_rng(size).bytes(size)
    remainder = 0xFFFFFFFF
    for byte in content:
        remainder = REMAINDERS[(remainder ^ byte) & 0xFF] ^ remainder >> 8

    assert crc32c(content) == remainder ^ 0xFFFFFFFF


@pytest.mark.parametrize("file", ["c.index", "c.data-00000-of-00001"])
def test_a_file_that_is_cut_or_changed_anywhere_is_refused_or_read_as_it_was(file: str, tmp_path: Path) -> None:
    prefix, path = written(tmp_path, *entries()), tmp_path / file
    expected, content = restored(prefix), path.read_bytes()
    refused = 0
    changed = [content[:length] for length in range(len(content))]
    for place in range(len(content)):
        for bits in (1, 0x80, 0xFF):
            changed.append(content[:place] + bytes([content[place] ^ bits]) + content[place + 1 :])
    for each in changed:
        path.write_bytes(each)
        try:
            found = restored(prefix)
        except DataLossError:
            refused += 1
        else:
            assert found == expected  # a number in the footer may be written with a zero after it

    assert refused >= len(changed) - 4


def _graph(nodes: Any) -> Callable[[Entries, bytes], tuple[Entries, bytes]]:
    return lambda _index, _content: bundles.entries_of({**ARRAYS, bundles.GRAPH: bundles.graph(nodes)})


def _entry(**changed: Any) -> Callable[[Entries, bytes], tuple[Entries, bytes]]:
    def change(index: Entries, content: bytes) -> tuple[Entries, bytes]:
        name = changed.get("name", V)
        fields = {"offset": content.index(bundles.stored(ARRAYS[name])[0])} | changed
        fields.pop("name", None)
        return {**index, name.encode(): bundles.entry(ARRAYS[name], **fields)}, content

    return change


def _header(message: bytes) -> Callable[[Entries, bytes], tuple[Entries, bytes]]:
    return lambda index, content: ({**index, b"": message}, content)


HOSTILE: dict[str, tuple[Any, str]] = {
    "a place beyond the file": (_entry(offset=10**15), r"data-00000.*ends at"),
    "a negative place": (_entry(offset=-1), r"index.*expected positive"),
    "a huge shape": (_entry(shape=[2**40, 2**20]), r"data-00000.*do not fit its shape"),
    "a huge shape and size": (_entry(shape=[2**40], size=2**42), r"ends at"),
    "a negative length": (_entry(shape=[-2]), r"index.*not fully known"),
    "many axes": (_entry(shape=[1] * 65), r"65 axes"),
    "zeros of a huge shape": (_entry(shape=[0, 2**62, 2**62], size=0), "is damaged"),
    "another file": (_entry(shard=1), r"in file 1, but there are 1"),
    "bytes of another value": (_entry(dtype=10, shape=[8]), "truth value|does not match|share"),
    "many texts": (_entry(name=TEXT, shape=[2**40]), "cannot hold"),
    "other texts": (_entry(name=TEXT, shape=[2]), "strings of"),
    "an unknown dtype": (_entry(dtype=99), "99 is not the number of any dtype"),
    "no header": (lambda index, content: ({k: v for k, v in index.items() if k}, content), "no header"),
    "no files": (_header(whole_number(1, 0)), "declares 0 files"),
    "a big-endian machine": (_header(whole_number(1, 1) + whole_number(2, 1)), "little-endian"),
    "no object": (_graph([]), "contains no object"),
    "a part beyond the objects": (_graph([({"v": 4}, None), ({}, V)]), "part 4, but there are 2"),
    "a negative part": (_graph([({"v": -1}, None)]), "part -1"),
    "shared bytes": (
        lambda index, content: ({**index, b"w": index[V.encode()], b"x": index[V.encode()]}, content),
        "share the bytes",
    ),
    "text that is no graph": (
        lambda _index, _content: bundles.entries_of({**ARRAYS, bundles.GRAPH: b"\xff\xff"}),
        "object graph.*Wire format",
    ),
    "one name for two parts": (
        lambda _index, _content: bundles.entries_of(
            {**ARRAYS, bundles.GRAPH: block(1, 2 * block(1, whole_number(1, 0) + block(2, "a")))}
        ),
        "two parts 'a'",
    ),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_checkpoint_with_valid_checksums_is_refused(case: str, tmp_path: Path) -> None:
    change, message = HOSTILE[case]
    prefix = written(tmp_path, *change(*entries()))
    tracemalloc.start()
    try:
        with pytest.raises(DataLossError, match=message):
            restored(prefix)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def _tables() -> Iterator[tuple[str, bytes, str]]:
    pairs = [*entries()[0].items()]
    yield "compressed", bundles.table(pairs, compression=1), "compressed with snappy; expected"
    yield "two equal keys", bundles.table([*pairs[:2], *pairs[1:]]), "unique and sorted"
    yield "unsorted keys", bundles.table(pairs[::-1]), "unique and sorted"
    yield "another kind of file", b"PK\3\4" + bytes(100), "does not end like a table"
    key = b"k" * 60_000
    yield "long keys", bundles.table([(key + b"%05d" % n, b"") for n in range(500)], 500, every=500), "expand to keys"
    yield "one endless key", bundles.table([(b"k" * 70_000, b"")]), "bytes in the name"
    yield "no entries", bundles.table([]), "no header"


@pytest.mark.parametrize(("content", "message"), [pytest.param(*rest, id=name) for name, *rest in _tables()])
def test_a_hostile_index_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    prefix = bundles.write(tmp_path / "c", content, b"")

    with pytest.raises(DataLossError, match=rf"c\.index.*{message}"):
        tf.train.list_variables(prefix)


def test_blocks_that_overlap_are_refused(tmp_path: Path) -> None:
    content = bundles.table(entries()[0].items(), 1)
    first = varint(0) + varint(len(bundles.table_block([(b"", bundles.HEADER)])))
    again = bundles.table_block([(b"a", first), (b"b", first)], 1)
    place = varint(len(content)) + varint(len(again))
    footer = (varint(0) + first[1:] + place).ljust(40, b"\0") + content[-8:]
    bundles.write(tmp_path / "c", content + again + b"\0" + bundles.checksum(again + b"\0") + footer, b"")

    with pytest.raises(DataLossError, match="begins before the end of the one before"):
        tf.train.list_variables(tmp_path / "c")


def test_any_message_with_valid_checksums_is_read_or_refused(tmp_path: Path) -> None:
    outcomes, others = {True: 0, False: 0}, list[str]()
    for seed in range(400):
        random, (index, content) = Random(seed), entries()
        if seed % 3:
            key = random.choice([*index])
            index[key] = grammar.damaged(index[key], random)
        else:
            damaged = grammar.damaged(ARRAYS[bundles.GRAPH], random)
            index, content = bundles.entries_of({**ARRAYS, bundles.GRAPH: damaged})
        try:
            restored(written(tmp_path, index, content))
            outcomes[True] += 1
        except DataLossError:
            outcomes[False] += 1
        except (ValueError, tf.errors.InvalidArgumentError) as error:  # a whole file of other objects
            others.append(str(error))

    assert min(outcomes.values()) > 20, outcomes
    assert [text for text in others if not re.search("incompatible tensor|no object graph|expected dtype", text)] == []


def test_a_deep_graph_takes_memory_for_its_objects_alone(tmp_path: Path) -> None:
    count = 20_000
    nodes = [({"part" * 10: number + 1}, None) for number in range(count)]
    arrays = {**ARRAYS, bundles.GRAPH: bundles.graph([*nodes, ({}, V)])}
    prefix = written(tmp_path, *bundles.entries_of(arrays))
    tracemalloc.start()
    try:
        status = tf.train.Checkpoint(v=tf.Variable(1.0)).restore(prefix).expect_partial()
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()
    with pytest.raises(AssertionError, match="not bound to checkpointed values"):
        status.assert_consumed()


def test_a_missing_file_of_values_is_named(tmp_path: Path) -> None:
    prefix = written(tmp_path, *entries())
    (tmp_path / "c.data-00000-of-00001").unlink()

    with pytest.raises(DataLossError, match=r"c\.data-00000-of-00001 is missing, but .*c\.index needs it"):
        tf.train.load_variable(prefix, V)


def test_a_checkpoint_without_a_graph_is_read_by_name(tmp_path: Path) -> None:
    index, content = bundles.entries_of({"v": np.float32(3)})
    prefix = written(tmp_path, index, content)

    assert tf.train.load_variable(prefix, "v") == 3
    with pytest.raises(ValueError, match="values by name but no object graph"):
        tf.train.Checkpoint().restore(prefix)


def test_values_of_other_dtypes_stay_unrestored(tmp_path: Path) -> None:
    index, content = _entry(dtype=21)(*entries())  # a variant, as TensorFlow writes positions of iterators
    prefix = written(tmp_path, index, content)
    text = tf.Variable(["x", "y", "z"])
    status = tf.train.Checkpoint(v=tf.Variable([0.0, 0.0]), text=text).restore(prefix)

    assert V in dict(tf.train.list_variables(prefix))
    assert V not in tf.train.load_checkpoint(prefix).get_variable_to_dtype_map()
    assert text.numpy().tolist() == [b"a", b"", b"b\0"]
    with pytest.raises(AssertionError, match=r"Unresolved object in checkpoint \(root\)\.v"):
        status.assert_consumed()
    status.expect_partial()


def test_a_value_in_pieces_is_refused_and_the_others_are_read(tmp_path: Path) -> None:
    index, content = entries()
    index[V.encode()] += block(7, b"")
    index[b"\0piece"] = index[b"flags"]
    prefix = written(tmp_path, dict(sorted(index.items())), content)

    assert tf.train.load_variable(prefix, "flags").tolist() == [True, False]
    assert b"\0piece".decode() not in dict(tf.train.list_variables(prefix))
    with pytest.raises(DataLossError, match="in pieces, because it was a partitioned variable"):
        tf.train.load_variable(prefix, V)


STATE = """model_checkpoint_path: "{}c"
all_model_checkpoint_paths: "{}b"
all_model_checkpoint_paths: "{}c"
all_model_checkpoint_timestamps: 1796031586.5
all_model_checkpoint_timestamps: 1.7960315875e+09
last_preserved_timestamp: 1796031585.5
"""


@pytest.mark.parametrize("start", ["", "{folder}/"])
def test_a_state_file_of_tensorflow_is_read(start: str, tmp_path: Path) -> None:
    written(tmp_path, *entries())
    (tmp_path / "checkpoint").write_text(STATE.replace("{}", start.replace("{folder}", str(tmp_path))))
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(), tmp_path, 2)

    assert tf.train.latest_checkpoint(tmp_path) == manager.latest_checkpoint == str(tmp_path / "c")
    assert manager.checkpoints == [str(tmp_path / "b"), str(tmp_path / "c")]


def test_escaped_names_in_a_state_file_are_read(tmp_path: Path) -> None:
    bundles.write(tmp_path / 'é "1"', bundles.table(entries()[0].items()), entries()[1])
    (tmp_path / "checkpoint").write_text(r'model_checkpoint_path: "\303\251 \"1\""')

    assert tf.train.latest_checkpoint(tmp_path) == str(tmp_path / 'é "1"')


@pytest.mark.parametrize(
    "text",
    [
        'model_checkpoint_path: "../c"',
        'model_checkpoint_path: "/etc/passwd"',
        'model_checkpoint_path: "\\056./c"',
        'model_checkpoint_path: "\\377"',
        "model_checkpoint_path: 3",
        "model_checkpoint_path: x",
        'model_checkpoint_path: "c',
        'all_model_checkpoint_paths: "c"',
        'model_checkpoint_path: "c" all_model_checkpoint_paths: "../c"',
        'model_checkpoint_path: "c" {',
        'model_checkpoint_path: "c" last_preserved_timestamp: "x"',
    ],
)
def test_a_damaged_state_file_of_tensorflow_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "checkpoint").write_text(text)

    with pytest.raises(DataLossError, match=r"checkpoint (is damaged|names)"):
        tf.train.latest_checkpoint(tmp_path)
