"""Does a variable keep its value where it was made, and change only when told?"""

from __future__ import annotations

import copy
import gc
import pickle
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._ops.variables.resource import AssignAddVariableOp
from nbtf._record.events import OpExecuted, OpPlaced
from tests.machines import machine

F = "dtype=float32"


def two_cpus() -> None:
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 3)


def placed(act: Any) -> list[str]:
    """The ops that something runs, as `MatMul@1`."""
    events: list[Any] = []
    stop = tf.runtime.observe(events.append)
    try:
        act()
    finally:
        stop()
    return [f"{e.op}@{e.device[-1]}" for e in events if isinstance(e, OpPlaced)]


# Making


def test_value_name_and_traits_are_what_was_asked_for() -> None:
    v = tf.Variable([1.0, 2.0], trainable=False, name="w", aggregation=tf.VariableAggregation.MEAN)

    assert ("w:0", (2,), tf.float32, False) == (v.name, v.shape, v.dtype, v.trainable)
    assert tf.VariableAggregation.MEAN is v.aggregation
    assert [1.0, 2.0] == v.numpy().tolist()


def test_names_are_not_made_unique() -> None:
    assert ["Variable:0", "Variable:0"] == [tf.Variable(1).name, tf.Variable(2).name]


def test_function_is_called_for_the_initial_value() -> None:
    assert 3.0 == tf.Variable(lambda: 3, dtype=tf.float32).numpy()


def test_variable_of_a_variable_has_storage_of_its_own() -> None:
    a = tf.Variable([1.0])
    b = tf.Variable(a)
    a.assign([2.0])

    assert [1.0] == b.numpy().tolist()


def test_variable_read_on_synchronization_is_not_trainable() -> None:
    assert not tf.Variable(1.0, synchronization=tf.VariableSynchronization.ON_READ).trainable


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        ({}, ValueError, "The `initial_value` arg to `tf.Variable` must be specified"),
        ({"initial_value": 1.5, "dtype": tf.int32}, TypeError, "Cannot convert 1.5 to EagerTensor of dtype int32"),
        ({"initial_value": 1.0, "name": 3}, ValueError, "name for name_scope must be a string."),
        ({"initial_value": 1.0, "constraint": 3}, ValueError, "Argument `constraint` must be None or a callable."),
        ({"initial_value": 1.0, "synchronization": "x"}, ValueError, "Invalid variable synchronization mode: x"),
        ({"initial_value": 1.0, "aggregation": "x"}, ValueError, "Invalid variable aggregation mode: x"),
        ({"initial_value": 1.0, "variable_def": 1}, ValueError, "mutually exclusive, but got both: variable_def=1,"),
        (
            {"initial_value": [1.0, 2.0], "shape": [3]},
            ValueError,
            "In this `tf.Variable` creation, the initial value's shape ((2,)) is not compatible with the explicitly "
            "supplied `shape` argument ([3]).",
        ),
    ],
)
def test_unsuitable_arguments_are_refused(arguments: dict[str, Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as caught:
        tf.Variable(**arguments)

    assert text in str(caught.value)


def test_initial_tensor_of_another_dtype_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"^initial_value: Tensor conversion requested dtype int32 for Tensor"):
        tf.Variable(tf.constant(1.5), dtype=tf.int32)


def test_creators_see_the_arguments_innermost_first() -> None:
    seen: list[str] = []

    def outer(next_creator: Any, **kwargs: Any) -> Any:
        seen.append(f"outer {kwargs['initial_value']}")
        return next_creator(**kwargs)

    def inner(next_creator: Any, **kwargs: Any) -> Any:
        seen.append(f"inner {kwargs['initial_value']}")
        return next_creator(**{**kwargs, "initial_value": 7.0})

    with tf.variable_creator_scope(outer), tf.variable_creator_scope(inner):
        v = tf.Variable(2.0, name="z")

    assert ["inner 2.0", "outer 7.0"] == seen
    assert f"<tf.Variable 'z:0' shape=() {F}, numpy=7.0>" == repr(v)


def test_creator_may_make_something_else() -> None:
    with tf.variable_creator_scope(lambda next_creator, **kwargs: "mirror"):
        assert "mirror" == tf.Variable(1.0)
    assert isinstance(tf.Variable(1.0), tf.Variable)


# Text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, f"<tf.Variable 'Variable:0' shape=() {F}, numpy=1.0>"),
        ("abc", "<tf.Variable 'Variable:0' shape=() dtype=string, numpy=b'abc'>"),
        ([True], "<tf.Variable 'Variable:0' shape=(1,) dtype=bool, numpy=array([ True])>"),
        (
            [[1.0], [2.0]],
            f"<tf.Variable 'Variable:0' shape=(2, 1) {F}, numpy=\narray([[1.],\n       [2.]], dtype=float32)>",
        ),
    ],
)
def test_text_shows_the_value(value: Any, text: str) -> None:
    v = tf.Variable(value)

    assert [text] * 3 == [repr(v), str(v), f"{v}"]


def test_format_spec_is_refused() -> None:
    with pytest.raises(TypeError, match="unsupported format string"):
        f"{tf.Variable(1.0):.2f}"


def test_wider_shape_is_shown_and_allows_other_lengths() -> None:
    v = tf.Variable([1.0, 2.0], shape=tf.TensorShape([None]))
    v.assign([1.0])

    assert f"<tf.Variable 'Variable:0' shape=(None,) {F}, numpy=array([1.], dtype=float32)>" == repr(v)
    with pytest.raises(ValueError, match=r"variable shape \(None,\), and the assigned value shape \(1, 1\)"):
        v.assign([[1.0]])


# Assigning


def test_assigning_returns_the_variable() -> None:
    v = tf.Variable(1.0)

    assert v is v.assign(2.0).assign_add(1.0).assign_sub(0.5)
    assert 2.5 == v.numpy()
    assert v.assign(1.0, read_value=False) is None


def test_what_was_read_does_not_change_with_the_variable() -> None:
    v = tf.Variable([1.0, 2.0])
    read = [v.value(), v.read_value(), tf.identity(v), v[:], tf.reshape(v, [2, 1]), tf.convert_to_tensor(v)]
    v.assign_add([1.0, 1.0])
    v.scatter_nd_update([[0]], [9.0])

    assert [[1.0, 2.0]] * 6 == [tf.reshape(t, [2]).numpy().tolist() for t in read]


def test_assigned_tensor_does_not_change_with_the_variable() -> None:
    t = tf.constant([1.0, 2.0])
    v = tf.Variable(t)
    v.assign_add(t)

    assert [1.0, 2.0] == t.numpy().tolist()


def test_numpy_gives_a_copy() -> None:
    v = tf.Variable([1.0])
    v.numpy()[0] = 9.0

    assert [1.0] == v.numpy().tolist()


def test_assign_checks_the_shape_before_it_runs() -> None:
    v = tf.Variable([1.0, 2.0], name="w")
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the whole text is compared
        v.assign([1.0])

    assert (
        "Cannot assign value to variable ' w:0': Shape mismatch.The variable shape (2,), "
        "and the assigned value shape (1,) are incompatible."
    ) == str(caught.value)


@pytest.mark.parametrize("method", ["assign_add", "assign_sub"])
@pytest.mark.parametrize(("delta", "shape"), [(1.0, "[]"), ([1.0], "[1]"), ([[1.0, 1.0]], "[1,2]")])
def test_updates_do_not_broadcast(method: str, delta: Any, shape: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        getattr(tf.Variable([1.0, 2.0]), method)(delta)

    text = f"Cannot update variable with shape [2] using a Tensor with shape {shape}, shapes must be equal."
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("value", "kind"),
    [(1.5, TypeError), ("a", TypeError), (tf.constant(1.5), ValueError), (tf.Variable(1.5), ValueError)],
)
def test_values_of_another_dtype_are_refused(value: Any, kind: type[Exception]) -> None:
    v = tf.Variable(1)
    for assign in (v.assign, v.assign_add, v.assign_sub):
        with pytest.raises(kind):
            assign(value)

    assert 1 == v.numpy()


def test_truth_values_cannot_be_added() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.Variable([True]).assign_add([True])


def test_lane_and_road_of_updates_agree() -> None:
    v = tf.Variable([1.0, 2.0])
    w = tf.Variable([1.0, 2.0])
    assert v._updated(np.add, tf.constant([1.0, 1.0]))
    w._update(AssignAddVariableOp, tf.constant([1.0, 1.0]))

    assert v.numpy().tolist() == w.numpy().tolist()


def test_scalar_variable_stays_an_array() -> None:
    v = tf.Variable(1)
    v.assign_add(2)
    v.assign_sub(0)

    assert ((), np.int32) == (v._array.shape, v._array.dtype)


@pytest.mark.parametrize(
    ("act", "text"),
    [
        (lambda v: v.__iadd__(1), "`variable += value` with `tf.Variable`s is not supported. Use `variable.assign_add"),
        (lambda v: v.__isub__(1), "`variable -= value` with `tf.Variable`s is not supported. Use `variable.assign_sub"),
        (lambda v: v.__imul__(1), "`var *= value` with `tf.Variable`s is not supported. Use `var.assign(var * value)`"),
        (lambda v: v.__itruediv__(1), "`var /= value` with `tf.Variable`s is not supported."),
        (lambda v: v.__ipow__(1), "`var **= value` with `tf.Variable`s is not supported."),
    ],
)
def test_augmented_assignment_is_refused(act: Any, text: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        act(tf.Variable(1.0))

    assert str(caught.value).startswith(text)


# Parts


def test_slices_can_be_assigned() -> None:
    v = tf.Variable([[1, 2, 3], [4, 5, 6]])
    v[0, ::2].assign([7, 9])
    v[..., 1].assign(tf.constant([0, 0]))
    v[tf.newaxis, 1, -1].assign([8])

    assert [[7, 0, 9], [4, 0, 8]] == v.numpy().tolist()


def test_slice_takes_a_value_that_broadcasts() -> None:
    v = tf.Variable([1.0, 2.0, 3.0])
    v[1:].assign(5.0)
    assert [1.0, 5.0, 5.0] == v.numpy().tolist()

    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Cannot broadcast input shape \[2\] into final shape"):
        v[:1].assign([1.0, 2.0])


def test_part_of_a_value_cannot_be_assigned() -> None:
    assert not hasattr(tf.Variable([1.0]).value()[0], "assign")


@pytest.mark.parametrize(
    ("method", "indices", "updates", "expected"),
    [
        ("scatter_nd_update", [[0], [2]], [9.0, 8.0], [9.0, 2.0, 8.0]),
        ("scatter_nd_add", [[1], [1]], [1.0, 1.0], [1.0, 4.0, 3.0]),
        ("scatter_nd_sub", [[1], [1]], [1.0, 1.0], [1.0, 0.0, 3.0]),
        ("scatter_nd_update", [1, 2], [9.0, 8.0], [1.0, 9.0, 8.0]),
    ],
)
def test_scattering_changes_some_elements(method: str, indices: Any, updates: Any, expected: list[float]) -> None:
    assert expected == getattr(tf.Variable([1.0, 2.0, 3.0]), method)(indices, updates).numpy().tolist()


@pytest.mark.parametrize(
    ("method", "expected"),
    [("scatter_update", [1.0, 9.0]), ("scatter_add", [1.0, 20.0]), ("scatter_sub", [1.0, -16.0])],
)
def test_rows_are_given_as_indexed_slices(method: str, expected: list[float]) -> None:
    rows = tf.IndexedSlices([9.0, 9.0], [1, 1])

    assert expected == getattr(tf.Variable([1.0, 2.0]), method)(rows).numpy().tolist()


@pytest.mark.parametrize(
    ("indices", "updates", "text"),
    [
        ([[0], [3]], [9.0, 8.0], "indices[1] = [3] does not index into shape [3]"),
        ([[-1]], [9.0], "indices[0] = [-1] does not index into shape [3]"),
        ([[0], [2]], [9.0], "Dimensions [0,1) of indices[shape=[2,1]] = 2 must match dimensions [0,1) of updates"),
        ([[0]], [[9.0, 1.0]], "Dimensions [1,1) of input[shape=[3]] must match dimensions [1,2) of updates[shape="),
    ],
)
def test_scattering_outside_is_refused(indices: Any, updates: Any, text: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.Variable([1.0, 2.0, 3.0]).scatter_nd_update(indices, updates)

    assert text in str(caught.value)


def test_rows_outside_are_refused() -> None:
    v = tf.Variable([1.0, 2.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[0\] = 7 is not in \[0, 2\)"):
        v.scatter_update(tf.IndexedSlices([9.0], [7]))
    with pytest.raises(TypeError, match=r"must be a `tf.IndexedSlices`. Received arg: \[9.0\]"):
        v.scatter_update([9.0])  # pyright: ignore[reportArgumentType]  # what is refused


def test_indexed_slices_become_the_larger_tensor() -> None:
    slices = tf.IndexedSlices(tf.constant([9.0, 8.0]), tf.constant([0, 0]), tf.constant([3]))

    assert [17.0, 0.0, 0.0] == tf.convert_to_tensor(slices).numpy().tolist()
    assert [-9.0, -8.0] == (-slices).values.numpy().tolist()
    with pytest.raises(ValueError, match="without dense_shape"):
        tf.convert_to_tensor(tf.IndexedSlices([1.0], [0]))


# Python


def test_variable_is_no_tensor_but_stands_for_one() -> None:
    v = tf.Variable([[1.0, 2.0]])

    assert not isinstance(v, tf.Tensor)
    assert [3.0, 4.0, 3.0] == [(v @ [[1.0], [1.0]]).numpy().item(), (2 * v)[0, 1].numpy(), tf.reduce_sum(v).numpy()]
    assert [[True, True]] == tf.equal(v, v).numpy().tolist()  # elementwise


def test_variables_of_two_dtypes_do_not_mix() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"input #1\(zero-based\) was expected to be a float"):
        _ = tf.Variable(1.0) + tf.Variable(1)


def test_scalar_variable_is_a_number() -> None:
    v = tf.Variable(3.5)

    assert (3.5, 3, True, 3.5 + 0j) == (float(v), int(v), bool(v), complex(v))
    assert "b" == "abc"[tf.Variable(1)]


def test_iteration_yields_rows_but_there_is_no_length() -> None:
    v = tf.Variable([[1, 2], [3, 4]])

    assert [[1, 2], [3, 4]] == [row.numpy().tolist() for row in v]
    with pytest.raises(TypeError, match="has no len"):
        len(v)  # pyright: ignore[reportArgumentType]  # what is refused


def test_numpy_reads_a_variable() -> None:
    v = tf.Variable([1.0, 2.0])

    assert 3.0 == np.sum(v)
    assert np.float64 == np.asarray(v, np.float64).dtype


def test_variable_is_a_key_by_reference_only() -> None:
    v = tf.Variable(1.0)
    with pytest.raises(TypeError, match=r"^Variable is unhashable. Instead, use variable.ref\(\) as the key"):
        hash(v)

    assert v is {v.ref(): v}[v.ref()].ref().deref()


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v))])
def test_copies_have_storage_of_their_own(duplicate: Any) -> None:
    v = tf.Variable([1.0], name="w", trainable=False)
    w = duplicate(v)
    v.assign([5.0])

    assert (f"<tf.Variable 'w:0' shape=(1,) {F}, numpy=array([1.], dtype=float32)>", False) == (repr(w), w.trainable)


def test_a_shallow_copy_is_the_variable() -> None:
    v = tf.Variable(1.0)

    assert v is copy.copy(v)


def test_deep_copy_of_a_structure_keeps_what_is_shared() -> None:
    v = tf.Variable(1.0)
    a, b = copy.deepcopy([v, v])

    assert a is b


def test_device_traits_and_name_cannot_be_set() -> None:
    v = tf.Variable(1.0)
    for trait in ("device", "dtype", "shape", "name", "trainable"):
        with pytest.raises(AttributeError):
            setattr(v, trait, None)
    with pytest.raises(AttributeError, match=r"Tensor.op is undefined when eager execution is enabled."):
        _ = v.op


# Places and the log


def test_variable_stays_where_it_was_made() -> None:
    two_cpus()
    with tf.device("CPU:2"):
        v = tf.Variable([1.0])
    with tf.device("CPU:1"):
        v.assign(tf.constant([2.0]))
        v.assign_add([1.0])
        read, value = v.read_value(), v.value()

    assert (["2", "1", "2"], [3.0]) == ([t.device[-1] for t in (v, read, value)], v.numpy().tolist())


@pytest.mark.parametrize(
    ("act", "ops"),
    [
        (lambda v: tf.Variable([1.0]), ["_EagerConst@0", "VarHandleOp@0", "AssignVariableOp@0"]),
        (lambda v: tf.Variable(v), ["ReadVariableOp@1", "VarHandleOp@0", "AssignVariableOp@0"]),
        (lambda v: v.value(), ["ReadVariableOp@1"]),
        (lambda v: v.read_value(), ["ReadVariableOp@1", "Identity@0"]),
        (lambda v: v.numpy(), ["ReadVariableOp@1", "Identity@0"]),
        (repr, ["ReadVariableOp@1", "Identity@1"]),
        (lambda v: v + v, ["ReadVariableOp@1", "ReadVariableOp@1", "AddV2@0"]),
        (lambda v: v.assign([2.0]), ["_EagerConst@0", "AssignVariableOp@1"]),
        (lambda v: v.assign_add([2.0]), ["_EagerConst@0", "AssignAddVariableOp@1"]),
        (lambda v: v.assign_sub(v), ["ReadVariableOp@1", "AssignSubVariableOp@1"]),
        (
            lambda v: v[0].assign(1.0),
            [
                "ReadVariableOp@1",
                *["_EagerConst@0"] * 3,
                "StridedSlice@0",
                "_EagerConst@0",
                "ResourceStridedSliceAssign@1",
            ],
        ),
        (lambda v: v.scatter_nd_add([[0]], [1.0]), ["_EagerConst@0", "_EagerConst@0", "ResourceScatterNdAdd@1"]),
        (lambda v: (v.shape, v.dtype, v.device, v.name), []),
    ],
)
def test_log_tells_the_life_of_a_variable(act: Any, ops: list[str]) -> None:
    two_cpus()
    with tf.device("CPU:1"):
        v = tf.Variable([1.0])

    assert ops == placed(lambda: act(v))


def test_whole_numbers_and_texts_live_on_the_cpu() -> None:
    with machine(1):
        with tf.device("GPU:0"):
            places = [tf.Variable(value).device[-5:] for value in (1.5, 1, "a", True)]

    assert ["GPU:0", "CPU:0", "CPU:0", "GPU:0"] == places


def test_missing_device_is_told_by_the_variable() -> None:
    tf.config.set_soft_device_placement(False)
    t = tf.constant([1.0])
    with tf.device("GPU:0"), pytest.raises(RuntimeError, match="Could not satisfy device specification"):
        tf.Variable(t)


# Memory


def in_use() -> int:
    return tf.config.experimental.get_memory_info("GPU:0")["current"]


def test_update_in_place_takes_no_memory() -> None:
    with machine(1):
        v, one = tf.Variable(tf.zeros([1024])), tf.ones([1024])
        before = in_use()
        tf.config.experimental.reset_memory_stats("GPU:0")
        v.assign_add(one)
        v.assign_sub(one)
        info = tf.config.experimental.get_memory_info("GPU:0")

    assert {"current": before, "peak": before} == info


def test_assigned_tensor_and_variable_show_the_same_memory() -> None:
    with machine(1):
        v, one = tf.Variable(tf.zeros([1024])), tf.ones([1024])
        before = in_use()
        v.assign(one)
        shared = in_use()
        v.scatter_nd_update([[0]], [5.0])

        assert (before - 4096, before, 1.0) == (shared, in_use(), one[0].numpy())


def test_update_of_what_a_tensor_shows_takes_memory_for_both() -> None:
    with machine(1):
        v, one = tf.Variable(tf.zeros([1024])), tf.ones([1024])
        before = in_use()
        read = v.value()
        shared = in_use()
        v.assign_add(one)
        both = in_use()
        del read
        gc.collect()
        after = in_use()

    assert (before, before + 4096, before) == (shared, both, after)


def test_memory_comes_back_when_the_variable_goes() -> None:
    with machine(1):
        keep = tf.ones([1])
        before = in_use()
        v = tf.Variable(tf.zeros([1024]))
        v.assign_sub(tf.ones([1024]))
        del v
        gc.collect()

        assert before == in_use()
        del keep


def test_events_name_what_holds_the_value() -> None:
    events: list[Any] = []
    stop = tf.runtime.observe(events.append)
    v = tf.Variable([1.0])
    v.assign([2.0])
    stop()

    assert v._seq == [e.seq for e in events if isinstance(e, OpExecuted)][-1]


def test_variable_from_before_a_restart_can_be_read_and_no_more() -> None:
    with machine(1):
        v = tf.Variable([1.0])
        tf.runtime.restart()

        assert ([1.0], f"<tf.Variable 'Variable:0' shape=(1,) {F}, numpy=array([1.], dtype=float32)>") == (
            v.numpy().tolist(),
            repr(v),
        )
        with pytest.raises(tf.errors.FailedPreconditionError, match=r"before tf\.runtime\.restart"):
            _ = v + 1


def test_a_part_is_not_set_by_an_index() -> None:
    v: Any = tf.Variable([1.0, 2.0])

    with pytest.raises(TypeError, match="'ResourceVariable' object does not support item assignment"):
        v[0] = 3.0
    with pytest.raises(TypeError, match="'ResourceVariable' object doesn't support item deletion"):
        del v[0]
    assert v.numpy().tolist() == [1.0, 2.0]
