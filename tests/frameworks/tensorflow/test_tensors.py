"""Which memory do TensorFlow's tensors and variables hold, and which of them share it? On logical CPUs as cards."""

from __future__ import annotations

import gc
import weakref
from importlib import import_module
from typing import Any

import pytest

from nbtf._frameworks.tensorflow.tensors import tensors_of


@pytest.fixture
def arrays(real: Any) -> Any:
    return lambda: tensors_of("TensorFlow", real, lambda device: int(device.rpartition(":")[2]))


def test_a_tensor_holds_what_the_allocator_hands_out(real: Any, arrays: Any) -> None:
    x = real.ones([10]) + 1

    holding = arrays().holding(x)

    assert (holding.device, holding.nbytes, holding.requested, holding.sharers) == ("cuda:0", 256, 40, 1)


@pytest.mark.parametrize("number", [0, 1, 3])
def test_the_device_is_the_one_with_the_memory(real: Any, arrays: Any, number: int) -> None:
    with real.device(f"CPU:{number}"):
        x = real.ones([10]) + 1
        v = real.Variable(real.ones([20]))

    assert arrays().holding(x).device == f"cuda:{number}"
    assert arrays().holding(v).device == f"cuda:{number}"


@pytest.mark.parametrize(
    "share",
    [
        lambda tf, x: tf.identity(x),
        lambda tf, x: tf.reshape(x, [64, 64]),
        lambda tf, x: x[:256],
        lambda tf, x: x[256:512],
        lambda tf, x: tf.unstack(tf.reshape(x, [4, 1024]))[3],
    ],
    ids=["identity", "reshape", "slice", "slice inside", "unstack"],
)
def test_tensors_of_one_buffer_share_it(real: Any, arrays: Any, share: Any) -> None:
    x = real.range(4096.0) + 1
    y = share(real, x)
    gc.collect()

    first, second = (arrays().holding(tensor) for tensor in (x, y))

    assert first == second
    assert (first.requested, first.sharers) == (4 * 4096, 2)


def test_a_result_of_an_op_shares_nothing(real: Any, arrays: Any) -> None:
    x = real.range(4096.0)
    y = x + 1

    assert arrays().holding(x)[:3] != arrays().holding(y)[:3]
    assert arrays().holding(y).sharers == 1


def test_a_read_variable_shares_memory_until_it_is_assigned(real: Any, arrays: Any) -> None:
    v = real.Variable(real.range(4096.0) + 1)
    value = v.read_value()
    assert arrays().holding(value) == arrays().holding(v)
    assert arrays().holding(v).sharers == 2

    v.assign_add(real.ones([4096]))

    assert arrays().holding(value)[:3] != arrays().holding(v)[:3]


def test_a_sparsely_updated_variable_is_not_copied(real: Any, arrays: Any) -> None:
    v = real.Variable(real.zeros([1024, 4]))
    v.scatter_update(real.IndexedSlices(real.ones([1, 4]), real.constant([3])))
    before = arrays().holding(v)

    v.scatter_add(real.IndexedSlices(real.ones([1, 4]), real.constant([3])))

    assert arrays().holding(v)[:3] == before[:3]
    assert real.reduce_sum(v).numpy() == 8


@pytest.mark.parametrize(
    "make",
    [
        lambda tf: tf.constant(["text"]),
        lambda tf: tf.zeros([0, 3]),
        lambda tf: tf.data.Dataset.range(3)._variant_tensor,
        lambda tf: tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, 0).resource_handle,
        lambda tf: object(),
        lambda tf: 3.0,
    ],
    ids=["strings", "no elements", "dataset", "table", "object", "number"],
)
def test_what_has_no_buffer_holds_nothing(real: Any, arrays: Any, make: Any) -> None:
    assert arrays().holding(make(real)) is None


def test_a_keras_variable_and_its_value_hold_the_same(real: Any, arrays: Any) -> None:
    keras: Any = pytest.importorskip("keras")
    layer = keras.layers.Dense(8)
    layer.build((None, 16))

    assert arrays().holding(layer.kernel) == arrays().holding(layer.kernel._value)
    assert arrays().describe(layer.kernel) == "[16, 8] float32"


def test_a_description_is_shape_and_dtype(real: Any, arrays: Any) -> None:
    assert arrays().describe(real.ones([2, 3], real.float64)) == "[2, 3] float64"
    assert arrays().describe(real.Variable([True])) == "[1] bool"


def test_reading_variables_is_seen_by_no_tape_and_no_callback(real: Any, arrays: Any) -> None:
    op_callbacks: Any = import_module("tensorflow.python.framework.op_callbacks")
    v, seen = real.Variable(real.ones([100])), list[str]()
    described, log = arrays(), real.debugging.get_log_device_placement()
    op_callbacks.add_op_callback(lambda op, *_, **__: seen.append(op))
    try:
        with real.GradientTape() as tape:
            y = v * 2.0
            seen.clear()
            assert described.holding(v) is not None
            assert not seen
            z = y + 1.0
        assert seen
    finally:
        op_callbacks.clear_op_callbacks()
    assert tape.gradient(z, v).numpy().sum() == 200
    assert real.debugging.get_log_device_placement() == log


def test_reading_variables_while_a_function_is_traced(real: Any, arrays: Any) -> None:
    v, seen = real.Variable(real.ones([100])), list[Any]()

    @real.function
    def step() -> Any:
        seen.append(arrays().holding(v))
        return v + 1.0

    step()

    assert seen[0].requested == 400
    assert [op.type for op in step.get_concrete_function().graph.get_operations()].count("ReadVariableOp") == 1


def test_a_look_keeps_no_tensor_alive(real: Any, arrays: Any) -> None:
    x = real.ones([100]) + 1
    gone = weakref.ref(x)
    described = arrays()
    assert described.holding(x) is not None

    del x

    assert gone() is None


def test_tensors_that_others_share_are_not_pythons_alone(real: Any, arrays: Any) -> None:
    x = real.range(4096.0) + 1
    assert arrays().is_pythons([x], 0)

    y = real.identity(x)

    assert not arrays().is_pythons([x], 0)
    assert arrays().is_pythons([x, y], 0)


def test_a_list_of_tensors_in_one_tensor_makes_sharing_unknown(real: Any, arrays: Any) -> None:
    x = real.range(4096.0) + 1
    held = real.raw_ops.TensorListFromTensor(tensor=real.reshape(x, [2, 2048]), element_shape=[2048])

    assert not arrays().is_pythons([x], 0)
    del held
