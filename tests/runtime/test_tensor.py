"""What does a tensor do beside its ops, on every kind of device?"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._runtime.tensor import Absent, Tensor
from tests.machines import LOCAL, SCRATCH, machine


@pytest.mark.usefixtures("on_device")
def test_numpy_gives_a_copy_that_may_be_changed() -> None:
    x = tf.constant([1.0, 2.0])

    x.numpy()[0] = 9

    assert [1.0, 2.0] == x.numpy().tolist()


@pytest.mark.usefixtures("on_device")
@pytest.mark.parametrize("read", [np.array, np.asarray, lambda x: np.asarray(x, np.float32), np.from_dlpack])
def test_numpy_reads_a_copy(read: Any) -> None:
    x = tf.constant([1.0, 2.0])

    array = read(x)
    changed = np.array(array)
    changed[0] = 9
    if array.flags.writeable:
        array[0] = 9

    assert (np.float32, [1.0, 2.0]) == (array.dtype, x.numpy().tolist())


@pytest.mark.usefixtures("on_device")
def test_array_of_another_library_becomes_a_tensor() -> None:
    class Foreign:
        """An array that speaks DLPack and nothing else."""

        def __init__(self, array: np.ndarray[Any, Any]) -> None:
            self._array = array

        def __dlpack__(self, **how: Any) -> Any:
            return self._array.__dlpack__(**how)

        def __dlpack_device__(self) -> Any:
            return self._array.__dlpack_device__()

    source = np.array([1.5, 2.5])
    foreign: Any = Foreign(source)
    x = tf.constant(foreign)
    source[0] = 9

    assert (tf.float64, [1.5, 2.5]) == (x.dtype, x.numpy().tolist())


@pytest.mark.parametrize("value", [1.5, [[1, 2], [3, 4]], ["a", "é"], True, [], [1j]])
def test_pickled_tensor_comes_back_on_the_device_that_is_current(on_device: str, value: Any) -> None:
    with tf.device("CPU:0"):
        x = tf.constant(value)

    back = pickle.loads(pickle.dumps(x))

    assert (x.dtype, x.shape, on_device) == (back.dtype, back.shape, back.device)
    assert np.array_equal(x.numpy(), back.numpy())


@pytest.mark.usefixtures("on_device")
def test_text_is_that_of_a_tensor_on_the_cpu() -> None:
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])

    assert "tf.Tensor(\n[[1. 2.]\n [3. 4.]], shape=(2, 2), dtype=float32)" == str(x)
    assert (
        "<tf.Tensor: shape=(2, 2), dtype=float32, numpy=\narray([[1., 2.],\n       [3., 4.]], dtype=float32)>"
    ) == repr(x)


@pytest.mark.usefixtures("on_device")
def test_copies_in_python_are_the_tensor_itself() -> None:
    x = tf.constant([1.0])

    assert x is copy.copy(x)
    assert x is copy.deepcopy(x)


@pytest.mark.usefixtures("on_device")
def test_references_are_equal_when_their_tensor_is_the_same() -> None:
    x, y = tf.constant([1.0]), tf.constant([1.0])

    assert {x.ref(): 1, y.ref(): 2} == {x.ref(): 1, y.ref(): 2}
    assert x.ref() != y.ref()
    assert x is x.ref().deref()


def test_attributes_of_the_user_may_be_set() -> None:
    x: Any = tf.constant([1.0])
    x.note = "mine"

    assert "mine" == x.note


@pytest.mark.parametrize("name", ["device", "backing_device", "dtype", "shape", "ndim"])
def test_what_it_is_cannot_be_changed(name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(tf.constant([1.0]), name, None)


def test_names_that_are_only_explained_are_not_offered() -> None:
    explained = {name for name, value in vars(Tensor).items() if isinstance(value, Absent)}

    assert {"T", "reshape", "astype", "op", "graph", "name"} <= explained
    assert set() == explained & set(dir(tf.constant([1.0])))
    assert [] == [name for name in explained if hasattr(tf.constant([1.0]), name)]


def test_explanation_says_what_to_write() -> None:
    x: Any = tf.constant([1.0])

    with pytest.raises(AttributeError, match="EagerTensor object has no attribute 'astype'") as caught:
        x.astype(float)

    assert "such as tf.reshape" in caught.value.__notes__[0]


@pytest.mark.parametrize("key", [0, slice(0, 1), ..., -1])
def test_values_are_not_set_by_an_index(key: Any) -> None:
    x: Any = tf.constant([1, 2])

    with pytest.raises(TypeError, match=r"^'nbtf.python.framework.ops.EagerTensor' object does not support item assig"):
        x[key] = 5
    with pytest.raises(TypeError, match=r"EagerTensor' object does not support item assignment"):
        x[key] += 5
    with pytest.raises(TypeError, match=r"^'nbtf.python.framework.ops.EagerTensor' object doesn't support item del"):
        del x[key]
    assert [1, 2] == x.numpy().tolist()


# Where it is


@pytest.fixture
def _two_gpus() -> Iterator[None]:
    with machine(2):
        yield


@pytest.mark.usefixtures("_two_gpus")
def test_tensor_can_be_copied_by_name() -> None:
    x = tf.constant([1.0, 2.0])

    assert [f"{LOCAL}CPU:0", f"{LOCAL}GPU:1"] == [x.cpu().device, x.gpu(1).device]
    assert [[1.0, 2.0], [1.0, 2.0]] == [x.cpu().numpy().tolist(), x.gpu(1).numpy().tolist()]


@pytest.mark.usefixtures("_two_gpus")
def test_copy_to_a_device_that_is_missing_is_refused_whatever_placement_allows() -> None:
    with pytest.raises(RuntimeError, match=r"^GPU:5 unknown device.$"):
        tf.constant([1.0]).gpu(5)


@pytest.mark.usefixtures("_two_gpus")
def test_copies_have_memory_of_their_own() -> None:
    x = tf.constant([1.0] * 64)
    there = x.gpu(1)
    used = [tf.config.experimental.get_memory_info(name)["current"] for name in ("GPU:0", "GPU:1")]
    del x

    assert [SCRATCH + 256, SCRATCH + 256] == used
    assert 64.0 == there.numpy().sum()


@pytest.mark.usefixtures("_two_gpus")
def test_scalar_of_a_gpu_is_a_python_value_where_one_is_needed() -> None:
    assert (3, 1.5, True, [1]) == (int(tf.constant(3)), float(tf.constant(1.5)), bool(tf.constant([1.0])), [0, 1][1:])
    assert "b" == "abc"[tf.constant(1)]
    assert [0, 1, 2] == list(range(tf.constant(3)))
    assert "1.50" == f"{tf.constant(1.5):.2f}"
