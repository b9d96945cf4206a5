"""Are the insides of TensorFlow's functions reported: every node with device, reason and line, and every copy?"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from nbtf._frameworks.tensorflow.functions import Inside, inside_of
from nbtf._frameworks.tensorflow.kernels import KernelRegistry
from nbtf._frameworks.tensorflow.partitions import Contents, PlacedNode
from nbtf._frameworks.tensorflow.reasons import Reasons

tf: Any = pytest.importorskip("tensorflow")
contexts: Any = import_module("tensorflow.python.eager.context")
execute: Any = import_module("tensorflow.python.eager.execute")
kernels: Any = import_module("tensorflow.python.framework.kernels")
op_callbacks: Any = import_module("tensorflow.python.framework.op_callbacks")
op_def_registry: Any = import_module("tensorflow.python.framework.op_def_registry")

from tests.frameworks.tensorflow import function_programs  # noqa: E402  # it needs TensorFlow
from tests.frameworks.tensorflow.function_programs import PROGRAMS, Program, square  # noqa: E402
from tests.rings import with_nightly  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
_ARGUMENTS = ("_Arg", "_DeviceArg", "_Retval", "_DeviceRetval")
_TRANSFERS = ("_Send", "_Recv", "_HostSend", "_HostRecv")


@pytest.fixture(scope="module", autouse=True)
def four_cpus() -> None:
    function_programs.begin_with_four_cpus()


@pytest.fixture(autouse=True)
def no_collection() -> Iterator[None]:
    yield
    contexts.context().disable_graph_collection()
    op_callbacks.clear_op_callbacks()


class Watch:
    """Asks for the inside of each function that a program calls."""

    def __init__(self) -> None:
        self.context = contexts.context()
        self.context.ensure_initialized()
        registry = KernelRegistry(kernels.get_registered_kernels_for_op, op_def_registry.get)
        reasons = Reasons(registry, self.context.devices(), lambda number: tf.as_dtype(number).name)
        self.inside: Inside = inside_of(tf, self.context, reasons)
        self.calls: list[tuple[str, Contents]] = []

    def __call__(
        self, op_type: str, inputs: Any, attributes: Any, outputs: Any, op_name: Any = None, graph: Any = None
    ) -> None:
        if graph is None and self.context.has_function(op_type):
            requested = self.context.device_name or ""
            self.calls.append((op_type, self.inside.rows_of(op_type, inputs, requested)))

    def __enter__(self) -> Watch:
        self.inside.start()
        op_callbacks.add_op_callback(self)
        return self

    def __exit__(self, *_: object) -> None:
        op_callbacks.remove_op_callback(self)
        self.inside.stop()

    @property
    def contents(self) -> list[Contents]:
        """The inside of each function, once for each time that TensorFlow has placed it."""
        return list({id(each): each for _, each in self.calls if not each.unknown}.values())

    @property
    def nodes(self) -> list[PlacedNode]:
        return [node for each in self.contents for node in each.nodes]


@contextmanager
def collecting() -> Generator[Callable[[], Any]]:
    """Collects graphs as a program does, and yields the function that exports them."""
    context = contexts.context()
    context.enable_graph_collection()
    yield context.export_run_metadata
    context.disable_graph_collection()


@cache
def walked(program: Program) -> tuple[Watch, list[Any]]:
    """The watch of a program, which runs once, and the graphs of its functions, without those of single ops."""
    with Watch() as watch, collecting() as export:
        program()
        graphs = export().function_graphs
    return watch, [each for each in graphs if not is_single_op(each.pre_optimization_graph)]


def is_single_op(graph: Any) -> bool:
    nodes = [node for node in graph.node if node.op not in _ARGUMENTS]
    return len(nodes) == 1 and nodes[0].name == nodes[0].op


def short(device: str) -> str:
    return device.rpartition("device:")[2]


def kinds(watch: Watch, op: str) -> set[tuple[str, str]]:
    return {(node.reason.kind, short(node.device)) for node in watch.nodes if node.op == op}


# Programs


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_nodes_are_those_of_the_partition_graphs(program: Program) -> None:
    watch, graphs = walked(program)
    expected = [
        sorted(
            (node.name, node.op, node.device)
            for part in graph.partition_graphs
            for node in part.node
            if node.op not in _ARGUMENTS + _TRANSFERS
        )
        for graph in graphs
    ]
    assert sorted(expected) == sorted(sorted(node[:3] for node in each.nodes) for each in watch.contents)


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_copies_are_those_of_the_partition_graphs(program: Program) -> None:
    watch, graphs = walked(program)
    expected: Counter[tuple[str, str]] = Counter()
    for graph in graphs:
        nodes = [node for part in graph.partition_graphs for node in part.node]
        received = {node.attr["tensor_name"].s for node in nodes if node.op == "_Recv"}
        for node in nodes:
            if node.op == "_Send" and node.attr["tensor_name"].s in received and not node.input[0].startswith("^"):
                pair = node.attr["send_device"].s.decode(), node.attr["recv_device"].s.decode()
                expected[pair] += pair[0] != pair[1]
    assert +expected == Counter((copy.source, copy.target) for each in watch.contents for copy in each.copies)


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_nodes_have_a_line_or_are_the_optimizers(program: Program) -> None:
    watch, _ = walked(program)
    file = function_programs.__file__
    explained = [node for node in watch.nodes if node.by_optimizer or (node.site and node.site[0] == file)]
    assert len(explained) >= 0.95 * len(watch.nodes)
    assert watch.nodes


USUAL = [*PROGRAMS][::4]


@pytest.mark.parametrize("name", with_nightly(USUAL, [name for name in PROGRAMS if name not in USUAL]))
def test_program_computes_the_same_bits(name: str) -> None:
    program = PROGRAMS[name]
    tf.random.set_seed(1)
    expected = tf.nest.flatten(program())
    tf.random.set_seed(1)
    with Watch():
        actual = tf.nest.flatten(program())
    assert [np.asarray(value).tobytes() for value in expected] == [np.asarray(value).tobytes() for value in actual]


# Reasons


def test_reason_is_the_device_that_the_program_requested() -> None:
    watch, _ = walked(PROGRAMS["two_devices"])
    assert kinds(watch, "_MklMatMul") | kinds(watch, "MatMul") == {("explicit scope", "CPU:3")}
    assert kinds(watch, "Sum") == {("no GPU", "CPU:0")}


def test_requested_device_that_does_not_exist_is_named() -> None:
    watch, _ = walked(PROGRAMS["missing_device"])
    (node,) = [node for node in watch.nodes if node.op == "MatrixInverse"]
    assert node.reason == ("soft placement", "GPU:7")


def test_device_scope_around_a_call_places_the_nodes_inside() -> None:
    watch, _ = walked(PROGRAMS["called_in_a_device_scope"])
    assert kinds(watch, "Sin") == {("explicit scope", "CPU:2")}


def test_device_of_a_call_applies_to_the_nodes_of_the_called_function() -> None:
    watch, _ = walked(PROGRAMS["nested"])
    inlined = [node for node in watch.nodes if "/PartitionedCall" in node.name and node.op == "Relu"]
    assert {(node.reason.kind, short(node.device)) for node in inlined} == {("explicit scope", "CPU:1")}


def test_node_follows_its_variable() -> None:
    watch, _ = walked(PROGRAMS["variables"])
    assert ("follows variable", "CPU:1") in kinds(watch, "ReadVariableOp") | kinds(watch, "AssignSubVariableOp")


def test_node_follows_its_iterator() -> None:
    watch, _ = walked(PROGRAMS["iterator_argument"])
    assert kinds(watch, "IteratorGetNext") == {("follows resource", "CPU:0")}


def test_replicas_have_their_numbers() -> None:
    watch, _ = walked(PROGRAMS["mirrored"])
    replicas = {(node.reason.detail, short(node.device)) for node in watch.nodes if "replica" in node.reason.kind}
    assert replicas == {("0", "CPU:0"), ("1", "CPU:1")}


def test_optimizer_s_nodes_are_labelled_and_counted() -> None:
    watch, _ = walked(PROGRAMS["what_an_optimizer_changes"])
    (contents,) = watch.contents
    optimizers = [node for node in contents.nodes if node.by_optimizer]
    assert {node.reason.kind for node in optimizers} == {"TensorFlow's optimizer"}
    assert contents.optimizer_count == len(optimizers) > 0


# Lines


def lines(watch: Watch, op: str) -> set[str]:
    source = open(function_programs.__file__).read().splitlines()
    return {source[node.site[1] - 1].strip() for node in watch.nodes if node.op == op and node.site}


def test_node_has_the_line_inside_the_innermost_function() -> None:
    assert lines(walked(PROGRAMS["nested"])[0], "Relu") == {"return tf.nn.relu(x) * 2.0"}


def test_gradient_has_the_line_that_asks_for_it() -> None:
    watch, _ = walked(PROGRAMS["gradient_inside"])
    assert lines(watch, "ResourceApplyGradientDescent") | lines(watch, "AssignSubVariableOp") == {
        "weights.assign_sub(gradient)"
    }


def test_parts_of_a_loop_have_the_line_of_the_loop() -> None:
    assert lines(walked(PROGRAMS["loop_over_a_range"])[0], "Merge") == {"for i in tf.range(3):"}


def test_keras_s_nodes_have_the_line_of_fit() -> None:
    assert "model.fit(X, Y, batch_size=10, epochs=2, verbose=0)" in lines(walked(PROGRAMS["keras_fit"])[0], "Mean")


# Copies


def test_copy_has_the_bytes_of_a_known_shape_and_the_line_that_needs_it() -> None:
    watch, _ = walked(PROGRAMS["two_devices"])
    (contents,) = watch.contents
    sizes = [(copy.tensor, short(copy.source), short(copy.target), copy.nbytes) for copy in contents.copies]
    assert sizes == [("x", "CPU:0", "CPU:3", 256), ("MatMul", "CPU:3", "CPU:0", 256)]
    source = open(function_programs.__file__).read().splitlines()
    assert [source[copy.site[1] - 1].strip() for copy in contents.copies if copy.site] == [
        "y = tf.matmul(x, x)",
        "return tf.reduce_sum(y + x)",
    ]


def test_copy_in_a_loop_is_marked() -> None:
    watch, _ = walked(PROGRAMS["loop_over_a_range"])
    assert {copy.in_loop for each in watch.contents for copy in each.copies} == {True}


def test_bytes_of_an_unknown_shape_are_none() -> None:
    watch, _ = walked(PROGRAMS["module"])
    assert None in {copy.nbytes for each in watch.contents for copy in each.copies}


# Calls


@tf.function
def doubled(x: Any) -> Any:
    return x * 2.0


def test_second_call_has_the_same_contents() -> None:
    with Watch() as watch:
        step = tf.function(lambda x: x + 1.0)
        step(square())
        step(square())
    (_, first), (_, second) = watch.calls
    assert first is second
    assert first.nodes


def test_function_is_placed_anew_in_another_scope_and_for_inputs_elsewhere() -> None:
    with Watch() as watch:
        step, x = tf.function(lambda x: x + 1.0), square()
        with tf.device("CPU:1"):
            moved = tf.identity(x)
        for _ in range(2):
            step(x)
            with tf.device("CPU:2"):
                step(x)
            step(moved)
    devices = [
        ({short(node.device) for node in each.nodes if "Add" in node.op}, [short(copy.source) for copy in each.copies])
        for _, each in watch.calls
    ]
    assert devices == 2 * [({"CPU:0"}, []), ({"CPU:2"}, ["CPU:0"]), ({"CPU:0"}, ["CPU:1"])]


def called(watch: Watch, function: Any, *args: Any) -> Any:
    """Calls a function as a watch does that may change the attributes of the call; returns the results."""
    concrete = function.get_concrete_function(*args)
    name, inputs, context = concrete.name.decode(), [*args, *concrete.captured_inputs], watch.context
    options = [part for pair in context.function_call_options.as_attrs().items() for part in pair]
    attributes = watch.inside.attributes_of_call(name, options)
    results = execute.execute(name, len(concrete.outputs), inputs, tuple(attributes), context)
    watch.calls.append((name, watch.inside.rows_of(name, inputs, context.device_name or "")))
    return results


def test_function_that_ran_before_is_prepared_once_more() -> None:
    weights = tf.Variable(square())
    step = tf.function(lambda x: weights.assign_add(x @ weights))
    step(square())
    with Watch() as watch:
        op_callbacks.clear_op_callbacks()
        before = weights.numpy()
        called(watch, step, square())
        called(watch, step, square())
        op_callbacks.add_op_callback(watch)
    (_, first), (_, second) = watch.calls
    assert first is second
    assert {"AssignAddVariableOp", "ReadVariableOp"} <= {node.op for node in first.nodes}
    product = before + square().numpy() @ before
    np.testing.assert_allclose(weights.numpy(), product + square().numpy() @ product, rtol=1e-5)


def test_function_with_random_kernels_is_reported_as_unknown_and_draws_the_same_numbers() -> None:
    def draws(is_watched: bool) -> list[float]:
        tf.random.set_seed(3)
        step = tf.function(lambda: tf.random.uniform((), seed=5))
        numbers = [step().numpy()]
        with Watch() as watch:
            op_callbacks.clear_op_callbacks()
            numbers += [called(watch, step)[0].numpy() if is_watched else step().numpy() for _ in range(2)]
            op_callbacks.add_op_callback(watch)
        assert {"random numbers" in contents.unknown for _, contents in watch.calls} == {True} or not is_watched
        return numbers

    assert draws(False) == draws(True)


def test_function_that_ran_before_is_unknown_if_it_cannot_be_prepared_again() -> None:
    doubled(square())
    with Watch() as watch:
        doubled(square())
        doubled(square(3))
    (_, earlier), (_, later) = watch.calls
    assert "before it was watched" in earlier.unknown
    assert not earlier.nodes
    assert later.nodes


def test_what_an_earlier_watch_has_learned_is_kept() -> None:
    step = tf.function(lambda x: x * 5.0)
    with Watch() as watch:
        step(square())
    with watch:
        step(square())
    (_, first), (_, second) = watch.calls
    assert first is second
    assert first.nodes


def test_function_that_was_traced_but_never_ran_is_known() -> None:
    step = tf.function(lambda x: x - 1.0)
    concrete = step.get_concrete_function(square())
    with Watch() as watch:
        concrete(square())
    assert [node.op for node in watch.nodes if node.op == "Sub"] == ["Sub"]


def test_compiled_function_is_one_op() -> None:
    with Watch() as watch:
        tf.function(lambda x: x @ x + 1.0, jit_compile=True)(square())
    ((_, contents),) = watch.calls
    assert "XLA" in contents.unknown


def test_call_that_failed_leaves_its_inside_for_the_next_call() -> None:
    @tf.function
    def step(x: Any) -> Any:
        with tf.control_dependencies([tf.debugging.assert_less(x, 1.0)]):
            return x * 3.0

    with Watch() as watch:
        with pytest.raises(tf.errors.InvalidArgumentError):
            step(square() + 5.0)
        step(square())
    ((_, contents),) = watch.calls
    assert "Mul" in {node.op for node in contents.nodes}


def test_function_without_eager_ops_between_takes_no_other_functions_graph() -> None:
    with Watch() as watch:
        first, second = tf.function(lambda x: x * 2.0), tf.function(lambda x: x * 3)
        for x in (square(), tf.range(3)):
            (first if x.dtype.is_floating else second)(x)
    assert len(watch.contents) == 2


# The program's own collection


def test_program_s_export_gets_all_graphs_and_each_once() -> None:
    with Watch():
        context = contexts.context()
        tf.function(lambda x: x + 1.0)(square())
        assert not context.export_run_metadata().function_graphs
        context.enable_graph_collection()
        tf.function(lambda x: x + 2.0)(square())
        assert len(context.export_run_metadata().function_graphs) == 1
        assert not context.export_run_metadata().function_graphs
        tf.function(lambda x: x + 3.0)(square())
        context.disable_graph_collection()
        assert not context.export_run_metadata().function_graphs


def test_collection_ends_with_the_watch_unless_the_program_collects() -> None:
    context = contexts.context()
    with Watch():
        pass
    tf.function(lambda x: x + 1.0)(square())
    assert not context.export_run_metadata().function_graphs
    with Watch():
        context.enable_run_metadata()
        tf.function(lambda x: x + 2.0)(square())
    tf.function(lambda x: x + 3.0)(square())
    assert len(context.export_run_metadata().function_graphs) == 2
    assert not any(name in vars(context) for name in ("export_run_metadata", "enable_graph_collection"))


def test_graphs_that_the_program_has_collected_before_stay_its_own() -> None:
    context = contexts.context()
    context.enable_graph_collection()
    tf.function(lambda x: x + 1.0)(square())
    with Watch():
        tf.function(lambda x: x + 2.0)(square())
        assert len(context.export_run_metadata().function_graphs) == 2
    tf.function(lambda x: x + 3.0)(square())
    assert len(context.export_run_metadata().function_graphs) == 1


def test_trace_of_summaries_is_complete(tmp_path: Any) -> None:
    writer = tf.summary.create_file_writer(str(tmp_path))
    with Watch() as watch, writer.as_default():
        tf.summary.trace_on(graph=True)
        tf.function(lambda x: x + 1.0)(square())
        tf.summary.trace_export("trace", step=0)
        writer.close()
    (file,) = tmp_path.glob("events*")
    events = [tf.compat.v1.Event.FromString(record.numpy()) for record in tf.data.TFRecordDataset([str(file)])]
    traces = [
        tf.compat.v1.RunMetadata.FromString(value.tensor.string_val[0])
        for event in events
        for value in event.summary.value
        if value.metadata.plugin_data.plugin_name == "graph_run_metadata_graph"
    ]
    parts = [part for trace in traces for graph in trace.function_graphs for part in graph.partition_graphs]
    assert "AddV2" in {node.op for part in parts for node in part.node} & {node.op for node in watch.nodes}


def test_deleted_functions_are_released() -> None:
    with Watch() as watch:
        step = tf.function(lambda x: x + 1.0)
        step(square())
        name = watch.calls[-1][0]
        del step
        gc.collect()
        assert not watch.context.has_function(name)


def test_a_thousand_new_ops_are_taken_over() -> None:
    with Watch() as watch:
        for _ in range(1100):
            tf.Variable(1.0)
            watch.inside.collect()
        step = tf.function(lambda x: x + 1.0)
        step(square())
    assert watch.nodes
