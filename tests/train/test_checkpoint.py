"""Are values saved by the names of attributes, and do they come back, also on several devices?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf.keras import optimizers
from nbtf.train.tensorflow_graph import from_message
from tests.machines import machine
from tests.threads import in_threads, switching_often


def test_values_come_back(tmp_path: Path) -> None:
    v = tf.Variable([1.0, 2.0])
    checkpoint = tf.train.Checkpoint(v=v, parts={"a": [tf.Variable(3)]})
    path = checkpoint.save(tmp_path / "ckpt")
    v.assign([9.0, 9.0])
    checkpoint.restore(path).assert_consumed()

    assert v.numpy().tolist() == [1.0, 2.0]
    assert tf.train.list_variables(path) == [
        ("_CHECKPOINTABLE_OBJECT_GRAPH", []),
        ("parts/a/0/.ATTRIBUTES/VARIABLE_VALUE", []),
        ("save_counter/.ATTRIBUTES/VARIABLE_VALUE", []),
        ("v/.ATTRIBUTES/VARIABLE_VALUE", [2]),
    ]
    assert tf.train.load_variable(path, "v/.ATTRIBUTES/VARIABLE_VALUE").tolist() == [1.0, 2.0]


def test_checkpoints_are_numbered_and_the_last_is_found(tmp_path: Path) -> None:
    checkpoint = tf.train.Checkpoint(v=tf.Variable(0.0))
    paths = [checkpoint.save(tmp_path / "sub" / "ckpt") for _ in range(2)]

    assert [Path(path).name for path in paths] == ["ckpt-1", "ckpt-2"]
    assert tf.train.latest_checkpoint(tmp_path / "sub") == paths[1]
    assert tf.train.latest_checkpoint(tmp_path) is None


def test_an_optimizer_is_saved_with_what_it_keeps(tmp_path: Path) -> None:
    def made() -> tuple[Any, Any]:
        return tf.Variable([1.0, 1.0]), optimizers.Adam(0.1)

    def step(weight: Any, optimizer: Any) -> list[float]:
        optimizer.apply_gradients([(tf.constant([1.0, -3.0]), weight)])
        return weight.numpy().tolist()

    weight, optimizer = made()
    step(weight, optimizer)
    path = tf.train.Checkpoint(weight=weight, optimizer=optimizer).save(tmp_path / "ckpt")
    expected = step(weight, optimizer)

    weight, optimizer = made()
    optimizer.build([weight])
    tf.train.Checkpoint(weight=weight, optimizer=optimizer).restore(path).assert_consumed()
    assert step(weight, optimizer) == expected


def test_a_checkpoint_that_is_not_there_is_an_error() -> None:
    with pytest.raises(tf.errors.NotFoundError, match="You may be missing the checkpoint suffix"):
        tf.train.Checkpoint().restore("nowhere")
    with pytest.raises(tf.errors.NotFoundError, match=r"^Unsuccessful TensorSliceReader.* files for nowhere$"):
        tf.train.Checkpoint().read("nowhere")


def test_another_shape_or_dtype_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    path = tf.train.Checkpoint(a=tf.Variable(5.0), v=tf.Variable([1.0])).write(tmp_path / "ckpt")
    a = tf.Variable(0.0)

    with pytest.raises(ValueError, match=r"incompatible tensor with shape \(1,\) .* variable with shape \(2,\)"):
        tf.train.Checkpoint(a=a, v=tf.Variable([1.0, 2.0])).read(path).expect_partial()
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="expected dtype int32 does not equal original dtype float"
    ):
        tf.train.Checkpoint(a=a, v=tf.Variable([1])).read(path).expect_partial()
    assert float(a) == 0.0


@pytest.mark.parametrize(
    "value", [3, "text", None, tf.constant(1.0), np.ones(2)], ids=["int", "str", "none", "tensor", "array"]
)
def test_what_holds_no_variables_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="was expecting x to be a trackable object"):
        tf.train.Checkpoint(x=value)


def test_a_root_is_saved_without_a_name_of_its_own(tmp_path: Path) -> None:
    module = tf.Module()
    module.v = tf.Variable(1.0)
    path = tf.train.Checkpoint(module, w=tf.Variable(2.0)).write(tmp_path / "ckpt")

    assert [name for name, _ in tf.train.list_variables(path)][1:] == [
        "v/.ATTRIBUTES/VARIABLE_VALUE",
        "w/.ATTRIBUTES/VARIABLE_VALUE",
    ]
    with pytest.raises(ValueError, match=r"keyword argument v if root\.v already exists"):
        tf.train.Checkpoint(module, v=tf.Variable(2.0))


@pytest.mark.parametrize("make", [tf.Variable, tf.keras.Variable], ids=["variable", "weight"])
def test_a_variable_may_be_the_root(make: Any, tmp_path: Path) -> None:
    path = tf.train.Checkpoint(make(3.0), step=tf.Variable(7)).save(tmp_path / "ckpt")
    root, step = make(0.0), tf.Variable(0)
    tf.train.Checkpoint(root, step=step).restore(path).assert_consumed()

    assert "/.ATTRIBUTES/VARIABLE_VALUE" in dict(tf.train.list_variables(path))
    assert float(root.numpy()) == 3.0
    assert int(step.numpy()) == 7


def test_a_root_that_is_a_variable_is_the_first_object_of_the_graph(tmp_path: Path) -> None:
    def objects() -> tuple[tf.Variable, tf.Variable, tf.train.Checkpoint]:
        root, other = tf.Variable([0.0]), tf.Variable(0)
        return root, other, tf.train.Checkpoint(root=root, other=other, again=root, several=[other, root])

    root, other, checkpoint = objects()
    root.assign([7.0])
    other.assign(4)
    checkpoint.write(tmp_path / "ckpt")
    message = tf.train.load_checkpoint(tmp_path / "ckpt").get_tensor("_CHECKPOINTABLE_OBJECT_GRAPH")
    graph = from_message(message, "ckpt")
    root, other, checkpoint = objects()
    checkpoint.read(tmp_path / "ckpt").assert_consumed()

    assert ([7.0], 4) == (root.numpy().tolist(), other.numpy())
    assert len(graph) - 1 == graph[0].children["again"] == graph[0].children[""]  # as TensorFlow's are read
    assert "/.ATTRIBUTES/VARIABLE_VALUE" == graph[-1].key


def test_counters_go_on_where_the_saved_one_was(tmp_path: Path) -> None:
    path = tf.train.Checkpoint(v=tf.Variable(1.0)).save(tmp_path / "ckpt")
    checkpoint = tf.train.Checkpoint(v=tf.Variable(0.0))
    checkpoint.restore(path).assert_consumed()

    assert Path(checkpoint.save(tmp_path / "ckpt")).name == "ckpt-2"


def test_keys_are_those_of_tensorflow(tmp_path: Path) -> None:
    model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1), tf.keras.layers.BatchNormalization()])
    optimizer = optimizers.SGD(momentum=0.9)
    optimizer.build(model.trainable_variables)
    shared = tf.Variable(1.0)
    path = tf.train.Checkpoint(
        model=model, optimizer=optimizer, x=shared, y=shared, names={"a/b": [tf.Variable(1.0)]}
    ).write(tmp_path / "ckpt")

    expected = [  # as TensorFlow 2.21 with Keras 3 lists them
        "model/_functional/_operations/2/moving_mean",
        "model/_functional/_operations/2/moving_variance",
        "names/a.Sb/0",
        "optimizer/_iterations",
        "optimizer/_learning_rate",
        *(f"optimizer/_trainable_variables/{number}" for number in range(4)),
        *(f"optimizer/_variables/{number}" for number in range(2, 6)),
        "x",
    ]
    assert [f"{name}/.ATTRIBUTES/VARIABLE_VALUE" for name in expected] == [
        name for name, _ in tf.train.list_variables(path)
    ][1:]


def test_the_iterator_of_a_dataset_goes_on_where_it_was(tmp_path: Path) -> None:
    dataset = tf.data.Dataset.range(10).batch(2)
    iterator = iter(dataset)
    next(iterator)
    path = tf.train.Checkpoint(iterator=iterator).write(tmp_path / "ckpt")
    other = iter(dataset)
    tf.train.Checkpoint(iterator=other).read(path).assert_consumed()

    assert next(other).numpy().tolist() == next(iterator).numpy().tolist() == [2, 3]
    with pytest.raises(tf.errors.UnimplementedError, match="shuffled"):
        tf.train.Checkpoint(iterator=iter(dataset.shuffle(3))).write(path)


def test_values_saved_by_name_are_refused_with_the_way_to_read_them(tmp_path: Path) -> None:
    np.savez(tmp_path / "ckpt.npz", v=np.float32(1))

    with pytest.raises(ValueError, match=r"tf\.train\.load_variable"):
        tf.train.Checkpoint(v=tf.Variable(1.0)).read(tmp_path / "ckpt")
    assert tf.train.load_variable(tmp_path / "ckpt", "v") == 1.0


def test_mirrored_variables_are_saved_once_and_restored_everywhere(tmp_path: Path) -> None:
    with machine(2):
        with tf.distribute.MirroredStrategy().scope():
            v: Any = tf.Variable([1.0])
        path = tf.train.Checkpoint(v=v).save(tmp_path / "ckpt")
        v.assign([5.0])
        tf.train.Checkpoint(v=v).restore(path)

        assert [one.numpy().tolist() for one in v.values] == [[1.0], [1.0]]
    alone = tf.Variable([0.0])
    tf.train.Checkpoint(v=alone).restore(path).assert_consumed()
    assert alone.numpy().tolist() == [1.0]


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ckpt.npz").write_bytes(b"something else")

    with pytest.raises(ValueError, match="does not contain weights written by nbtf"):
        tf.train.Checkpoint(v=tf.Variable(1.0)).restore(tmp_path / "ckpt")


@pytest.mark.parametrize(
    "graph",
    [
        b"{",
        b"[]",
        b'{"nodes": []}',
        b'{"nodes": [{"children": {"v": 7}}]}',
        b'{"nodes": [{"children": [1]}]}',
        b'{"nodes": [{"children": {}, "key": []}]}',
    ],
)
def test_a_damaged_graph_is_refused(tmp_path: Path, graph: bytes) -> None:
    np.savez(tmp_path / "ckpt.npz", _CHECKPOINTABLE_OBJECT_GRAPH=np.bytes_(graph))

    with pytest.raises(tf.errors.DataLossError, match=r"ckpt\.npz"):
        tf.train.Checkpoint(v=tf.Variable(1.0)).read(tmp_path / "ckpt")


def test_no_two_threads_save_under_one_number(tmp_path: Path) -> None:
    checkpoint, prefixes = tf.train.Checkpoint(value=tf.Variable(1.0)), list[str]()

    with switching_often():
        in_threads(lambda number: prefixes.append(checkpoint.save(tmp_path / "point")), 8)

    assert sorted(prefixes) == [str(tmp_path / f"point-{number}") for number in range(1, 9)]
