"""The sweep: what every op owes, and each sample down lane and road, on the CPU and on a simulated GPU."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import textwrap
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nbtf
import nbtf._ops
from nbtf._devices.discovery import simulated_machine
from nbtf._ops.op import OPS, Op
from nbtf._ops.specs import spec_of
from nbtf._record.events import OpPlaced
from nbtf._runtime.context import Context, use_context
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tape import Call
from tests.ops.arguments import arrays_in, as_double, noise, plain, tensors
from tests.ops.differences import differences
from tests.ops.listening import flat, listening
from tests.ops.samples import Sample, all_samples
from tests.sweeps import check_all, check_each

for _module in pkgutil.walk_packages(nbtf._ops.__path__, "nbtf._ops."):
    importlib.import_module(_module.name)

SAMPLES = all_samples()
OF_CLUSTERS = {"CollectiveReduceV2"}
"""Ops that run on several devices at once, and that strategies alone call: see `tests/distribute/test_clusters.py`."""
TYPES = sorted(OPS.keys() - OF_CLUSTERS)
CUPY_NAMES = frozenset(Path(__file__).with_name("cupy14_names.txt").read_text().splitlines())
NOT_NAMESPACES = {
    "cli",
    "compat",
    "data",
    "distribute",
    "keras",
    "notebook",
    "saved_model",
    "train",
}  # they stand above ops


# What an op owes


def it_has_a_sample(type: str) -> None:
    where = inspect.getsourcefile(OPS[type].kernel)

    assert type in {sample.op for sample in SAMPLES}, f"{type} of {where} has no row in tests/ops/samples/"


def a_public_function_leads_to_it(type: str) -> None:
    functions = [sample.function for sample in SAMPLES if sample.op == type]

    offered = f"no namespace, such as nbtf/math.py, offers the function of one of its samples, {functions}"
    assert any(is_public(function) for function in functions), f"{type}: {offered}"


def its_function_has_a_docstring(type: str) -> None:
    public = [sample.function for sample in SAMPLES if sample.op == type and is_public(sample.function)]
    sentences = [(inspect.getdoc(function) or "").partition("\n")[0] for function in public[:1]]

    assert sentences, f"{type} has no sample of a public function"
    assert sentences[0].endswith("."), f"the first line of {public[0]} is no sentence"


def its_gradient_is_there_or_denied(type: str) -> None:
    record = OPS[type]
    said = [record.has_gradient, record.no_gradient, record.unregistered]

    assert 1 == sum(said), (
        "an op has a gradient, or says no_gradient(...) or, where TensorFlow raises, unregistered(...)"
    )


def its_results_are_known_before_it_runs(type: str) -> None:
    record = OPS[type]

    assert record._infer is not None, "an op has infer, which may leave lengths open that data decide"


def its_kernel_keeps_to_what_cupy_has(type: str) -> None:
    record = OPS[type]
    if record._cpu_only is True:
        return
    used = {record.function} if record.function else names_of_xp(record.kernel)

    assert set() == used - CUPY_NAMES


@pytest.mark.parametrize("type", TYPES)
def test_an_op_has_what_it_owes(type: str) -> None:
    check_all(
        type,
        it_has_a_sample,
        a_public_function_leads_to_it,
        its_function_has_a_docstring,
        its_gradient_is_there_or_denied,
        its_results_are_known_before_it_runs,
        its_kernel_keeps_to_what_cupy_has,
    )


# What a sample shows


def lane_and_road_give_the_same_bits(sample: Sample) -> None:
    lane = run(sample, Context(environ={}))
    road = run(sample, Context(environ={}), getattr(sample.function, "__wrapped__", sample.function))

    assert lane == road


def a_listener_hears_of_the_op_and_changes_nothing(sample: Sample) -> None:
    context, heard = Context(environ={}), []
    context.observers.add(heard.append)

    assert run(sample, Context(environ={})) == run(sample, context)
    assert sample.op in {event.op for event in heard if isinstance(event, OpPlaced)}


def the_log_prints_the_same_of_lane_and_road(sample: Sample) -> None:
    printed: list[list[tuple[str, str]]] = []
    for function in (sample.function, getattr(sample.function, "__wrapped__", sample.function)):
        context, lines = Context(environ={}), list[tuple[str, str]]()
        context.set_log(lambda op, device, lines=lines: lines.append((op, device)))
        assert run(sample, Context(environ={})) == run(sample, context, function)
        printed.append(lines)

    assert printed[0] == printed[1]


def test_an_op_that_fails_in_the_lane_is_printed_as_on_the_road() -> None:
    pairs = sorted(op.type for op in OPS.values() if op.function and len(op.inputs) == 2)
    check_each(pairs, a_failure_in_the_lane_is_printed_as_on_the_road)


def a_failure_in_the_lane_is_printed_as_on_the_road(type: str) -> None:
    lane, dtype = OPS[type].lane, min(OPS[type].sets.get("T", {nbtf.bool}), key=str)
    if lane is None:
        pytest.skip("it has no lane")
    answers: list[Any] = []
    for function in (lane, lane.__wrapped__):
        with use_context(Context(environ={})) as context:
            x, y = nbtf.zeros([2], dtype), nbtf.zeros([3], dtype)
            lines = list[str]()
            context.set_log(lambda op, device, lines=lines: lines.append(op))
            with pytest.raises(nbtf.errors.InvalidArgumentError) as caught:
                function(x, y)
            answers.append((lines, str(caught.value)))

    assert answers[0] == answers[1]


def a_simulated_gpu_gives_the_same_bits(sample: Sample) -> None:
    on_gpu = run(sample, Context(simulated_machine(1, "Tesla K20m"), environ={}))

    assert run(sample, Context(environ={})) == on_gpu


def lane_and_road_of_a_simulated_gpu_leave_the_same_account(sample: Sample) -> None:
    accounts: list[Any] = []
    for listeners in ([], [lambda event: None]):
        context = Context(simulated_machine(1, "Tesla K20m"), environ={})
        for listener in listeners:
            context.observers.add(listener)  # so that the road is taken
        run(sample, context)
        memory = context.devices.first.memory
        assert memory is not None
        accounts.append(memory.stats())

    assert accounts[0] == accounts[1]


def a_simulated_gpu_gets_its_memory_back(sample: Sample) -> None:
    context = Context(simulated_machine(1, "Tesla K20m"), environ={})
    run(sample, context)  # the first run leaves what a device makes once
    memory = context.devices.first.memory
    assert memory is not None
    before = memory.stats().in_use
    run(sample, context)

    assert before == memory.stats().in_use


def values_are_as_numpy_says(sample: Sample) -> None:
    if sample.expected is None:
        return
    expected: Any = sample.expected(*plain(sample.args)) if callable(sample.expected) else sample.expected
    with use_context(Context(environ={})):
        results = [one.numpy() for one in flat(call(sample))]

    several = isinstance(expected, list | tuple) and len(expected) == len(results)
    wanted: list[Any] = list(expected) if several else [expected]
    assert len(wanted) == len(results)
    for want, result in zip(wanted, results, strict=True):
        assert np.shape(want) == np.shape(result)
        if np.asarray(result).dtype == object or np.asarray(result).dtype.kind not in "fc":
            assert np.asarray(want).tolist() == np.asarray(result).tolist()
        else:
            np.testing.assert_allclose(result, want, rtol=sample.tolerance, atol=sample.tolerance)


def dtypes_and_shapes_are_as_rule_and_infer_say(sample: Sample) -> None:
    for context in (Context(environ={}), Context(simulated_machine(1, "Tesla K20m"), environ={})):
        with use_context(context), listening() as calls:
            call(sample)
        with use_context(context):
            for heard in calls:
                check_results(heard)


def check_results(heard: Call) -> None:
    op, inputs = heard.op, [list(one) if isinstance(one, tuple) else one for one in heard.inputs]
    dtypes = op.check(inputs, heard.attrs)
    specs = op.specs(inputs, heard.attrs)
    results = [spec_of(output) for output in heard.outputs]

    assert op.output_dtypes(dtypes, heard.attrs, len(results)) == [result.dtype for result in results]
    for output in heard.outputs:
        assert output._dtype.np_dtype == output._array.dtype
    if specs is not None:
        assert specs == results


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_a_sample_gives_the_same_in_all_ways(sample: Sample) -> None:
    check_all(
        sample,
        lane_and_road_give_the_same_bits,
        a_listener_hears_of_the_op_and_changes_nothing,
        the_log_prints_the_same_of_lane_and_road,
        a_simulated_gpu_gives_the_same_bits,
        lane_and_road_of_a_simulated_gpu_leave_the_same_account,
        a_simulated_gpu_gets_its_memory_back,
        values_are_as_numpy_says,
        dtypes_and_shapes_are_as_rule_and_infer_say,
    )


def ops_on(tape: nbtf.GradientTape) -> Iterator[str]:
    """Yields the types of the ops that a tape has kept."""
    assert tape._tape is not None
    for op, _, _, _ in tape._tape.entries:
        if op is not None:
            yield op.type


@pytest.mark.parametrize("sample", [sample for sample in SAMPLES if sample.differentiable], ids=str)
def test_gradients_are_as_differences_say(sample: Sample) -> None:
    check_each(["road", "lane"], lambda way: gradients_are_as_differences_say(sample, lane=way == "lane"))


def gradients_are_as_differences_say(sample: Sample, lane: bool) -> None:
    random = np.random.default_rng(7)
    args = [as_double(arg) for arg in plain(sample.args)]
    arrays = [one for place in sample.differentiable for one in arrays_in(args[place])]

    def results() -> list[np.ndarray[Any, Any]]:
        return [np.asarray(one.numpy()) for one in flat(sample.function(*tensors(args), **sample.kwargs))]

    taken = [as_tensor(array) for array in arrays]
    known = dict(zip(map(id, arrays), taken, strict=True))
    tape, second = nbtf.GradientTape(), nbtf.GradientTape()
    with tape, nullcontext() if lane else second:  # with two tapes, ops take the road
        tape.watch(taken)
        made = flat(sample.function(*tensors(args, known), **sample.kwargs))
    heard = set(ops_on(tape))
    weights = [noise(random, one) for one in results()]
    found = tape.gradient(made, taken, [as_tensor(weight) for weight in weights])

    def weighted_sum() -> float:
        pairs = zip(weights, results(), strict=True)
        return float(sum(np.sum(w.real * r.real) + np.sum(w.imag * r.imag) for w, r in pairs))

    assert sample.op in heard or not OPS[sample.op].inputs
    for array, grad in zip(arrays, found, strict=True):
        assert grad is not None
        np.testing.assert_allclose(as_tensor(grad).numpy(), differences(weighted_sum, array), rtol=1e-5, atol=1e-7)


COARSE = {
    "CropAndResize",
    "CTCLossV2",
    "ImageProjectiveTransformV3",
    "ResizeBilinear",
    "ResizeBicubic",
    "ScaleAndTranslate",
}
"""Ops that compute in float32, or take it: `tests/ops/image` and `tests/ops/nn` compare gradients with TensorFlow's."""

NOT_SLOPES = {
    "FakeQuantWithMinMaxArgs",
    "FakeQuantWithMinMaxVars",
    "FakeQuantWithMinMaxVarsPerChannel",
    "StatelessRandomGammaV3",
}
"""Ops whose gradient is not the slope of their result: it passes through rounding, or moves quantiles. Separate tests
compare it with formulas."""


def test_every_gradient_is_compared_with_differences() -> None:
    types = {type for type in TYPES if OPS[type].has_gradient and type not in COARSE | NOT_SLOPES}
    compared = {sample.op for sample in SAMPLES if sample.differentiable}

    assert set() == types - compared, "no sample of these has `differentiable=[0]` or other numbers of inputs"


# How samples are run


def call(sample: Sample, function: Callable[..., Any] | None = None) -> Any:
    """Calls a sample's function; random ops start from the same seed each time."""
    nbtf.random.set_seed(7)
    return (function or sample.function)(*tensors(list(sample.args)), **sample.kwargs)


def run(sample: Sample, context: Context, function: Callable[..., Any] | None = None) -> list[Any]:
    """Returns dtype, shape and bytes of all results."""
    with use_context(context):
        arrays = [np.asarray(one.numpy()) for one in flat(call(sample, function))]
    return [(a.dtype.name, a.shape, a.tolist() if a.dtype == object else a.tobytes()) for a in arrays]


# What is public, and what kernels use


def is_public(function: Any) -> bool:
    return id(getattr(function, "__func__", function)) in PUBLIC


def _public() -> set[int]:
    """Returns the identities of all functions and methods that public modules offer."""
    names = [m.name for m in pkgutil.iter_modules(nbtf.__path__) if m.name[0] != "_" and m.name not in NOT_NAMESPACES]
    names.append("lookup.experimental")
    found: list[Any] = []
    for module in (nbtf, *(importlib.import_module(f"nbtf.{name}") for name in names)):
        offered = [getattr(module, name) for name in dir(module) if name[0] != "_"]
        found += offered
        found += [
            getattr(one, name) for one in offered if inspect.isclass(one) for name in dir(one) if hasattr(one, name)
        ]
    return {id(getattr(one, "__func__", one)) for one in found if callable(one)}


PUBLIC = _public()


def names_of_xp(kernel: Callable[..., Any]) -> set[str]:
    """Returns the names that a kernel takes from `xp`, and those of the functions it mentions that take an `xp`."""
    todo, seen, found = [kernel], {kernel}, set[str]()
    while todo:
        function = todo.pop()
        nodes = list(ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function)))))
        found.update(filter(None, map(name_in_xp, nodes)))
        mentioned = [function.__globals__.get(node.id) for node in nodes if isinstance(node, ast.Name)]
        for one in (one.kernel if isinstance(one, Op) else one for one in mentioned):
            if inspect.isfunction(one) and "xp" in inspect.signature(one).parameters and one not in seen:
                seen.add(one)
                todo.append(one)
    return found


def name_in_xp(node: ast.AST) -> str | None:
    """Returns `linalg.qr` for `xp.linalg.qr`, and nothing for `xp.linalg` alone, which is not yet a function."""
    if not isinstance(node, ast.Attribute):
        return None
    module, dot, name = ast.unparse(node.value).partition(".")
    if (
        module != "xp"
        or node.attr.startswith("__")
        or name not in ("", "linalg", "fft")
        or (not dot and node.attr in ("linalg", "fft"))
    ):
        return None
    return f"{name}.{node.attr}" if dot else node.attr
