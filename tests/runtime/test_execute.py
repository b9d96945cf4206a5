"""What happens to an op on its way, on the road and in the lane?"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import nbtf as tf
from nbtf._ops.op import OPS
from nbtf._record.events import Reason
from nbtf._runtime import decisions
from nbtf._runtime.context import CURRENT
from nbtf._runtime.decisions import key_of
from nbtf._runtime.scopes import EXPLICIT, HERE, Scope, merged, set_scope
from nbtf._runtime.tape import Call
from nbtf.errors import InvalidArgumentError, ResourceExhaustedError
from tests.machines import LOCAL, MIB, SCRATCH, machine


@pytest.fixture(autouse=True)
def nothing_open() -> Iterator[None]:
    yield
    set_scope(None)


@pytest.fixture
def two_gpus() -> Iterator[None]:
    with machine(2, "Tesla K20m"):
        yield


def in_use(device: str = "GPU:0") -> int:
    return tf.config.experimental.get_memory_info(device)["current"]


# A graph takes the op


class FakeNode:
    """What a graph gives for an op."""

    def __init__(self, dtype: Any = None) -> None:
        self._dtype = dtype


class FakeGraph:
    """Takes ops and constants down and runs none."""

    def __init__(self) -> None:
        self.taken: list[tuple[Any, ...]] = []

    def add(self, op: Any, inputs: Sequence[Any], attrs: Mapping[str, Any], name: str | None) -> Any:
        self.taken.append((op.type, len(inputs), dict(attrs), name))
        return FakeNode()

    def constant(self, array: Any, dtype: Any, *origin: Any) -> Any:
        self.taken.append(("Const", array.tolist(), dtype.name))
        return FakeNode(dtype)


def test_graph_takes_the_op_with_its_name() -> None:
    x, graph = tf.constant([1.0]), FakeGraph()
    set_scope(Scope(graph=graph))

    result: Any = tf.add(x, x, name="total")

    assert isinstance(result, FakeNode)
    assert [("AddV2", 2, {}, "total")] == graph.taken


def test_graph_gets_the_attributes_as_they_were_written() -> None:
    x, graph = tf.constant([1.0, 2.0]), FakeGraph()
    set_scope(Scope(graph=graph))

    tf.reduce_sum(x, axis=-1, keepdims=True, name="total")

    assert [("Sum", 1, {"axis": -1, "keepdims": True}, "total")] == graph.taken


def test_graph_takes_constants() -> None:
    graph = FakeGraph()
    set_scope(Scope(graph=graph))

    tf.constant([1.0, 2.0])

    assert [("Const", [1.0, 2.0], "float32")] == graph.taken


def test_block_inside_a_graph_keeps_it() -> None:
    x, graph = tf.constant([1.0]), FakeGraph()
    set_scope(Scope(graph=graph))

    with tf.device("CPU:0"):
        tf.negative(x)

    assert ["Neg"] == [op for op, *_ in graph.taken]


def test_graph_does_not_start_the_runtime() -> None:
    graph = FakeGraph()
    set_scope(Scope(graph=graph))

    tf.add(1.0, 2.0)

    assert not CURRENT.context.configuration.frozen


# Tapes hear calls


class FakeTape:
    """Writes down what it hears."""

    def __init__(self) -> None:
        self.heard: list[tuple[Any, ...]] = []

    def record(self, op: Any, inputs: Sequence[Any], attrs: Mapping[str, Any], result: Any) -> None:
        self.heard.append((op.type, tuple(inputs), dict(attrs), result))


def watched(value: Any, tape: FakeTape) -> tf.Tensor:
    x = tf.constant(value)
    x._watch = tape
    return x


def test_tape_hears_what_it_watches_in_the_lane() -> None:
    tape = FakeTape()
    x, other = watched([1.0, 2.0], tape), tf.constant([3.0, 4.0])
    set_scope(Scope(tapes=(tape,), lane=HERE.device))

    y = tf.add(other, x)
    tf.negative(other)

    ((op, inputs, attrs, result),) = tape.heard
    assert ("AddV2", {}) == (op, attrs)
    assert [id(other), id(x), id(y)] == [*map(id, inputs), id(result)]


def test_tape_hears_on_the_road_after_the_op_has_run() -> None:
    tape = FakeTape()
    x = watched([1.0, 2.0], tape)
    set_scope(Scope(tapes=(tape,)))

    y = tf.reduce_sum(x, axis=[0])

    assert [("Sum", {"axis": (0,), "keepdims": False})] == [(op, attrs) for op, _, attrs, _ in tape.heard]
    assert y is tape.heard[0][3]


def test_several_tapes_hear_the_same_call() -> None:
    tapes = FakeTape(), FakeTape()
    x = watched([1.0], tapes[0])
    set_scope(Scope(tapes=tapes))

    tf.negative(x)

    assert [["Neg"], ["Neg"]] == [[op for op, *_ in tape.heard] for tape in tapes]


def test_tape_hears_all_results_of_an_op_that_has_several() -> None:
    tape = FakeTape()
    x = watched([1.0, 2.0], tape)
    set_scope(Scope(tapes=(tape,)))

    parts = tf.unstack(x)

    assert parts is tape.heard[-1][3]


def test_tape_hears_nothing_of_an_op_that_fails() -> None:
    tape = FakeTape()
    x = watched([1.0, 2.0], tape)
    set_scope(Scope(tapes=(tape,), lane=HERE.device))

    with pytest.raises(InvalidArgumentError):
        tf.reshape(x, [3])

    assert [] == tape.heard


def test_call_knows_its_only_output_and_who_wants_gradients() -> None:
    call = Call("Ink", [1, 2], {}, ["out"], gradients_wanted=(True, False))

    assert ("out", True, False) == (call.output, call.needs(0), call.needs(1))


def test_call_of_which_nobody_said_anything_needs_all_gradients() -> None:
    assert Call("Ink", [1], {}, ["out"]).needs(0)


# Where inputs come from


@pytest.mark.usefixtures("two_gpus")
def test_inputs_are_copied_to_where_the_op_runs_and_the_copies_do_not_stay() -> None:
    with tf.device("GPU:1"):
        x = tf.constant([1.0] * 1000)
    before = in_use("GPU:0")

    with tf.device("GPU:0"):
        y = tf.reduce_sum(x)

    assert (1000.0, f"{LOCAL}GPU:0", f"{LOCAL}GPU:1") == (y.numpy(), y.device, x.device)
    assert 256 == in_use("GPU:0") - before


@pytest.mark.usefixtures("two_gpus")
def test_op_that_fails_gives_back_the_copies_of_its_inputs() -> None:
    with tf.device("GPU:1"):
        x = tf.constant([1.0] * 1000)
    before = in_use("GPU:0")

    with pytest.raises(InvalidArgumentError), tf.device("GPU:0"):
        tf.reshape(x, [3])

    gc.collect()
    assert before == in_use("GPU:0")


@pytest.mark.usefixtures("two_gpus")
def test_lists_of_inputs_are_copied_one_by_one() -> None:
    parts: list[Any] = []
    for device in ("CPU:0", "GPU:0", "GPU:1"):
        with tf.device(device):
            parts.append(tf.constant([1.0, 2.0]))

    with tf.runtime.recording() as record, tf.device("GPU:1"):
        total = tf.add_n(parts)

    assert [3.0, 6.0] == total.numpy().tolist()
    assert [("CPU:0", "GPU:1", 8), ("GPU:0", "GPU:1", 8)] == record.copies


# Results in host memory


@pytest.mark.usefixtures("two_gpus")
@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: tf.constant([1, 2]) + 1, "host-memory dtype"),
        (lambda: tf.shape(tf.constant([[1.0, 2.0]])), "lowest-numbered GPU"),
        (lambda: tf.identity(tf.constant("a")), "host-memory dtype"),
    ],
)
def test_integers_and_texts_of_a_gpu_are_kept_in_host_memory(make: Callable[[], Any], reason: str) -> None:
    with tf.runtime.recording() as record:
        result = make()

    assert (f"{LOCAL}GPU:0", f"{LOCAL}CPU:0") == (result.device, result.backing_device)
    assert reason == [event.reason.kind for event in record.events if isinstance(event, tf.runtime.OpPlaced)][-1]
    assert [] == [copy for copy in record.copies if copy[0] != "CPU:0"]


@pytest.mark.usefixtures("two_gpus")
def test_results_in_host_memory_take_no_memory_of_the_card() -> None:
    tf.constant([1.0])
    gc.collect()

    kept = tf.constant([1] * 1000) + 1

    assert (SCRATCH, 1000) == (in_use(), kept.shape[0])


@pytest.mark.usefixtures("two_gpus")
def test_device_asked_for_is_the_reason_also_in_host_memory() -> None:
    with tf.runtime.recording() as record, tf.device("GPU:1"):
        tf.constant([1, 2]) + 1  # pyright: ignore[reportUnusedExpression]

    reasons = [event.reason.kind for event in record.events if isinstance(event, tf.runtime.OpPlaced)]
    assert {"explicit scope"} == set(reasons)


@pytest.mark.usefixtures("two_gpus")
def test_integers_made_from_values_of_the_card_are_on_the_card() -> None:
    x = tf.constant([1.5, 2.5])

    assert f"{LOCAL}GPU:0" == tf.cast(x, tf.int32).backing_device


@pytest.mark.usefixtures("two_gpus")
def test_integers_in_host_memory_are_copied_by_name_too() -> None:
    n = tf.constant([1, 2])

    with tf.runtime.recording() as record:
        there = n.cpu()
    assert (f"{LOCAL}CPU:0", f"{LOCAL}CPU:0", []) == (there.device, there.backing_device, record.copies)
    assert (f"{LOCAL}GPU:1", [1, 2]) == (n.gpu(1).device, n.gpu(1).numpy().tolist())


# Where it runs


@pytest.mark.usefixtures("two_gpus")
def test_kernels_are_looked_up_by_dtype_each_time() -> None:
    devices = [tf.matmul(tf.constant([[one]]), tf.constant([[one]])).device for one in (1.5, 1, 1.5)]

    assert [f"{LOCAL}GPU:0", f"{LOCAL}CPU:0", f"{LOCAL}GPU:0"] == devices


@pytest.mark.usefixtures("two_gpus")
def test_replica_is_the_reason_also_after_the_same_op_was_asked_for_by_name() -> None:
    with tf.runtime.recording() as record:
        for reason in (EXPLICIT, Reason("replica of a strategy", "1"), EXPLICIT):
            set_scope(Scope(merged("GPU:1", None, reason)))
            tf.constant([1.0])

    reasons = [event.reason.kind for event in record.events if isinstance(event, tf.runtime.OpPlaced)]
    assert ["explicit scope", "replica of a strategy", "explicit scope"] == reasons


# The device policy


def conflict(op: str, number: int, expected: str, actual: str) -> str:
    place = f"{LOCAL}{expected} but is actually on {LOCAL}{actual} (operation running on {LOCAL}{expected})"
    return (
        f"Tensors on conflicting devices: cannot compute {op} as input #{number} was expected to be on {place} Tensors "
        "can be copied explicitly using: `with tf.device(device_name): x = tf.identity(x)` or transparently copied by "
        "using tf.config.experimental.set_device_policy('silent'). Copying tensors between devices may slow down your "
        f"model [Op:{op}] name: "
    )


@pytest.mark.usefixtures("two_gpus")
def test_explicit_policy_refuses_copies_and_names_the_input() -> None:
    near = tf.constant([1.0])
    with tf.device("GPU:1"):
        far = tf.constant([1.0])
    tf.config.experimental.set_device_policy("explicit")

    with pytest.raises(InvalidArgumentError) as caught:
        tf.add(near, far)

    assert conflict("AddV2", 1, "GPU:0", "GPU:1") == caught.value.message


@pytest.mark.usefixtures("two_gpus")
def test_explicit_policy_counts_the_inputs_in_lists() -> None:
    with tf.device("GPU:1"):
        far = tf.constant([1.0])
    near = tf.constant([1.0])
    tf.config.experimental.set_device_policy("explicit")

    with pytest.raises(InvalidArgumentError) as caught:
        tf.add_n([near, near, far])

    assert conflict("AddN", 2, "GPU:0", "GPU:1") == caught.value.message


@pytest.mark.usefixtures("two_gpus")
def test_explicit_policy_allows_identity_shapes_and_constants() -> None:
    with tf.device("GPU:1"):
        far = tf.constant([1.0])
    tf.config.experimental.set_device_policy("explicit")

    assert (f"{LOCAL}GPU:0", [1]) == (tf.identity(far).device, tf.shape(far).numpy().tolist())
    assert f"{LOCAL}GPU:0" == tf.constant([1.0]).device


@pytest.mark.usefixtures("two_gpus")
def test_policy_may_be_silent_for_integers_only() -> None:
    with tf.device("GPU:1"):
        n, x = tf.constant([1, 2]), tf.constant([1.0])
    tf.config.experimental.set_device_policy("silent_for_int32")

    assert [1.0, 2.0] == tf.cast(n, tf.float32).numpy().tolist()
    with pytest.raises(InvalidArgumentError, match="cannot compute Neg as input #0"):
        tf.negative(x)


@pytest.mark.usefixtures("two_gpus")
def test_policy_may_warn_at_the_users_line() -> None:
    with tf.device("GPU:1"):
        far = tf.constant([1.0])
    tf.config.experimental.set_device_policy("warn")

    with pytest.warns(RuntimeWarning, match=r"^before computing Neg input #0 was expected to be on ") as caught:
        result = tf.negative(far)

    assert [__file__] == [warning.filename for warning in caught]
    assert [-1.0] == result.numpy().tolist()


# What goes wrong


def test_error_in_a_kernel_is_in_tensorflows_words() -> None:
    x = tf.constant([1.0, 2.0])

    with pytest.raises(InvalidArgumentError) as caught:
        tf.reshape(x, [3])

    assert (
        f"{{{{function_node __wrapped__Reshape_device_{LOCAL}CPU:0}}}} Input to reshape is a tensor with 2 values, but "
        "the requested shape has 3 [Op:Reshape]"
    ) == caught.value.message


def test_name_is_passed_down_and_stands_in_the_error() -> None:
    with pytest.raises(InvalidArgumentError, match=r"\[Op:Reshape\] name: mine$"):
        tf.reshape(tf.constant([1.0, 2.0]), tf.constant([3]), name="mine")


@pytest.mark.parametrize(
    ("function", "arguments", "end"),
    [
        (tf.reshape, ([1, 2], [3]), "[Op:Reshape]"),
        (tf.reshape, (np.arange(2), (3,)), "[Op:Reshape]"),
        (tf.gather, ([1, 2], 5), "[Op:GatherV2]"),
        (tf.gather, (np.arange(2), 5), "[Op:GatherV2] name: "),
        (tf.tile, (np.arange(2), [1, 2]), "[Op:Tile]"),
        (tf.strings.to_number, ("x",), "[Op:StringToNumber]"),
        (tf.stack, ([[1], [1, 2]],), "[Op:Pack]"),
        (tf.stack, ([np.ones(1), np.ones(2)],), "[Op:Pack] name: stack"),
        (tf.linalg.inv, ([[0.0]],), "[Op:MatrixInverse]"),
        (tf.linalg.inv, (np.zeros((1, 1)),), "[Op:MatrixInverse] name: "),
        (tf.zeros, ([-1],), "[Op:Fill] name: "),
    ],
)
def test_error_names_no_call_with_lists_or_texts(function: Any, arguments: Any, end: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        function(*arguments)

    assert caught.value.message.endswith(end)


@pytest.mark.parametrize(
    ("run", "wrapper"),
    [
        (lambda: tf.stack([np.ones(1), np.ones(2)]), "Pack_N_2"),
        (lambda: tf.concat([np.ones(1), np.ones((1, 1)), np.ones(1)], 0), "ConcatV2_N_3"),
        (lambda: tf.split(np.ones(3), 2), "Split_num_split_2"),
        (lambda: tf.unstack(tf.ones(2), 3), "Unpack_num_3"),
    ],
    ids=["stack", "concat", "split", "unstack"],
)
def test_error_says_how_long_lists_are(run: Any, wrapper: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"function_node __wrapped__{wrapper}_device_"):
        run()


def test_missing_device_names_op_and_node() -> None:
    x = tf.constant([1.0])
    tf.config.set_soft_device_placement(False)

    with tf.device("GPU:0"), pytest.raises(RuntimeError, match=r"CPU:0\]\. \[Op:Neg\] name: mine$"):
        tf.negative(x, name="mine")


def test_host_that_cannot_hold_a_result_is_out_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arrays: Any) -> Any:
        raise MemoryError("no paper")

    x = tf.constant([[1.0, 2.0]])
    monkeypatch.setattr(np, "negative", full)

    with pytest.raises(ResourceExhaustedError) as caught:
        OPS["Neg"](x)

    assert (
        f"{{{{function_node __wrapped__Neg_device_{LOCAL}CPU:0}}}} OOM when allocating tensor with shape[1,2] and type "
        f"float on {LOCAL}CPU:0 by allocator cpu [Op:Neg] name: \nno paper"
    ) == caught.value.message


def test_card_that_is_full_leaves_everything_as_it_was() -> None:
    with machine(1, memory="300MiB"):
        kept = tf.constant([[1.0, 2.0]] * 1000)
        before = in_use()

        with pytest.raises(ResourceExhaustedError, match=r"^.*OOM when allocating tensor with shape\[100000,1000\]"):
            tf.matmul(tf.ones([100_000, 1]), tf.ones([1, 1000]))
        gc.collect()

        assert (before, 3000.0) == (in_use(), tf.reduce_sum(kept).numpy())
        assert MIB * 4 == tf.ones([1024, 1024]).numpy().nbytes


def test_shapes_of_results_are_remembered_by_op_dtype_and_shape(two_gpus: None) -> None:
    with tf.runtime.recording() as record:
        for shape, dtype in (([2], tf.float32), ([2, 3], tf.float32), ([2], tf.float64), ([2], tf.float32)):
            x = tf.ones(shape, dtype)
            tf.add(x, x)
            tf.less(x, x)

    assert [8, 2, 24, 6, 16, 2, 8, 2] == [
        output.nbytes
        for event in record.events
        if isinstance(event, tf.runtime.OpExecuted) and event.op in ("AddV2", "Less")
        for output in event.outputs
    ]


def test_shapes_that_do_not_fit_are_refused_every_time(two_gpus: None) -> None:
    for _ in range(2):
        with pytest.raises(InvalidArgumentError, match="Incompatible shapes"):
            tf.add(tf.ones([2]), tf.ones([3]))


def test_an_error_of_the_device_is_shown_once() -> None:
    with machine(1, memory="1GiB"), pytest.raises(ResourceExhaustedError) as caught:
        tf.zeros([1 << 29])

    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_a_loop_over_shapes_does_not_fill_the_memory(two_gpus: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decisions, "_REMEMBERED", 3)

    for length in range(1, 20):
        tf.negative(tf.zeros([length]))

    assert 0 < len(CURRENT.context.decisions) <= 3


# What results will be, remembered


def charged_for(run: Callable[[], Any]) -> int:
    """The bytes that the results of an op take."""
    before = in_use()
    results = run()
    nbytes = in_use() - before
    del results
    return nbytes


def test_attributes_decide_what_a_result_takes_each_time() -> None:
    with machine(1), tf.device("GPU:0"):
        x = tf.zeros((256, 128))
        with tf.runtime.recording():
            bytes_by_axis = [charged_for(lambda axis=axis: tf.reduce_sum(x, axis=axis)) for axis in (0, 1, 0, [0, 1])]
            parts = [charged_for(lambda sizes=sizes: tf.split(x, sizes)) for sizes in ([1, 255], [128, 128], [1, 255])]

    assert bytes_by_axis == [512, 1024, 512, 256]
    assert parts == [512 + 255 * 512, 2 * 128 * 512, 512 + 255 * 512]


def test_lists_of_one_shape_and_other_lengths_take_what_they_make() -> None:
    with machine(1), tf.device("GPU:0"):
        x = tf.zeros((64,))
        with tf.runtime.recording():
            taken = [charged_for(lambda count=count: tf.concat([x] * count, 0)) for count in (2, 3, 2)]

    assert taken == [512, 768, 512]


@pytest.mark.parametrize(
    ("attrs", "others"),
    [
        ({"a": 1}, {"a": True}),
        ({"a": 0}, {"a": False}),
        ({"a": (1,)}, {"a": [1]}),
        ({"a": 1}, {"a": 1.0}),
        ({"a": 0.0}, {"a": -0.0}),
        ({"a": 1, "b": 2}, {"b": 1, "a": 2}),
    ],
    ids=["1 and True", "0 and False", "tuple and list", "1 and 1.0", "0.0 and -0.0", "names in another order"],
)
def test_equal_attributes_of_other_classes_are_not_taken_for_each_other(attrs: Any, others: Any) -> None:
    assert key_of(attrs) != key_of(others)


@pytest.mark.parametrize("value", [[1.0], [[1]], [None], object()], ids=["[1.0]", "[[1]]", "[None]", "any"])
def test_attributes_of_other_kinds_are_no_key(value: Any) -> None:
    assert key_of({"a": value, "b": 1}) is None
