"""Are the ops of PyTorch recorded as they run: where, why, by which line, and without changing anything?"""

from __future__ import annotations

import gc
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any
from weakref import ref

import pytest

from nbtf import runtime
from nbtf.runtime import Copied, OpExecuted, OpPlaced

torch: Any = pytest.importorskip("torch")

from tests.frameworks.torch_programs import GPT, PROGRAMS, Program, perceptron  # noqa: E402  # they need it

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning", "ignore:.*:UserWarning")


def watched(program: Callable[[], Any]) -> tuple[Any, list[OpPlaced]]:
    """What a program returns, and where its ops were placed."""
    torch.manual_seed(0)
    with runtime.recording() as record, runtime.watch("torch"):
        results = program()
    unheard = ["torch"] if getattr(program, "__name__", "") == "loader_with_workers" else []
    record.expect("*=CPU:0", without=["cupy", "jax", *unheard])
    return results, [event for event in record.events if isinstance(event, OpPlaced)]


def ops(program: Callable[[], Any]) -> list[str]:
    return [event.op.removeprefix("aten::") for event in watched(program)[1]]


def placed(program: Callable[[], Any], op: str) -> OpPlaced:
    """How the first op of a type was placed."""
    return next(event for event in watched(program)[1] if event.op == f"aten::{op}")


def modes() -> list[Any]:
    return torch.utils._python_dispatch._get_current_dispatch_mode_stack()


def plain(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    return value.dtype, value.shape, value.detach().contiguous().view(-1).view(torch.uint8).tolist()


# Programs


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_program_computes_the_same_bits(program: Program) -> None:
    torch.manual_seed(0)
    expected = program()

    results, _ = watched(program)

    assert [*map(plain, expected)] == [*map(plain, results)]
    assert [] == modes()


def is_view(op: str) -> bool:
    overloads = getattr(torch.ops.aten, op)
    returns = getattr(overloads, overloads.overloads()[0])._schema.returns
    return bool(returns) and all(each.alias_info is not None and not each.alias_info.is_write for each in returns)


def profiled(program: Program) -> Counter[str]:
    """The ops that PyTorch's profiler sees, without those that consist of others, and without views.

    `torch.tensor` makes what it returns by an `empty` and a `detach_` that no mode can hear.
    """
    from torch.profiler import ProfilerActivity, profile

    options = torch._C._profiler._ExperimentalConfig(profile_all_threads=True, capture_overload_names=True)
    torch.manual_seed(0)
    with profile(activities=[ProfilerActivity.CPU], experimental_config=options) as profiler:
        program()
    counts = Counter(leaves([event for event in profiler.events() if event.cpu_parent is None]))
    counts.subtract({"empty": counts["detach_"], "detach_": counts["detach_"]})
    return counts


def leaves(events: list[Any]) -> Iterator[str]:
    for event in events:
        name = f"{event.name}.{event.overload_name}" if event.overload_name else event.name
        has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
        if event.name.startswith("aten::") and not has_kernel(name, "CompositeImplicitAutograd"):
            yield event.name.removeprefix("aten::")
        else:
            yield from leaves(event.cpu_children)


def of_one_name(counts: Counter[str]) -> Counter[str]:
    """Counts without views; where a mode listens, PyTorch adds gradients in new memory, and has `mm` for `mv`."""
    result = Counter[str]()
    for op, count in counts.items():
        if not is_view(op):
            result["mm" if op == "mv" else op.removesuffix("_")] += count
    return result


def test_ops_are_those_that_the_profiler_sees() -> None:
    seen, common = 0, 0
    for program in PROGRAMS.values():
        expected, recorded = of_one_name(profiled(program)), of_one_name(Counter(ops(program)))
        seen += expected.total()
        common += (expected & recorded).total()

    assert common >= 0.99 * seen > 1000


def test_ops_of_the_backward_pass_have_lines_of_the_forward_pass() -> None:
    backward = [
        event
        for program in PROGRAMS.values()
        for event in watched(program)[1]
        if event.reason.kind.startswith("backward") and event.reason.detail != "AccumulateGrad"
    ]
    calls = [event for event in backward if re.fullmatch(r"\s*\w+\.backward\(\)\s*", line(event))]

    assert len(backward) > 500
    assert len(calls) <= 0.05 * len(backward)


def line(event: OpPlaced) -> str:
    assert event.site is not None
    with open(event.site[0]) as file:
        return file.readlines()[event.site[1] - 1]


# Reasons


def test_reasons_say_why_a_tensor_is_where_it_is() -> None:
    def program() -> None:
        a = torch.zeros(2)
        b = torch.ones(2, device="cpu")
        (a + b).view(2, 1)

    reasons = [(event.op, event.reason.kind) for event in watched(program)[1]]

    assert [
        ("aten::zeros", "default device"),
        ("aten::ones", "asked by the call"),
        ("aten::add", "follows its input"),
        ("aten::view", "view"),
    ] == reasons


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (lambda: torch.nn.Linear(2, 2), "default device"),
        (lambda: torch.nn.Linear(2, 2, device="cpu"), "asked by the call"),
        (lambda: torch.tensor([1.0]), "default device"),
        (lambda: torch.tensor([1.0], device="cpu"), "asked by the call"),
        (lambda device=None: torch.empty(2, device=device), "default device"),
        (lambda: torch.empty(2, **{"device": "meta"}), "asked by the call"),
    ],
    ids=["layer", "layer with a device", "tensor", "tensor with a device", "None", "mapping"],
)
def test_device_is_asked_for_or_the_default(program: Callable[[], Any], reason: str) -> None:
    with runtime.recording() as record, runtime.watch("torch"):
        program()

    assert reason == next(event.reason.kind for event in record.events if isinstance(event, OpPlaced))


def test_default_device_of_the_user_is_the_reason() -> None:
    torch.set_default_device("meta")
    try:
        with runtime.recording() as record, runtime.watch("torch"):
            torch.ones(2)
            torch.ones(2, device="cpu")
    finally:
        torch.set_default_device(None)

    reasons = [(runtime.short_name(e.device), e.reason.kind) for e in record.events if isinstance(e, OpPlaced)]
    assert [("meta:0", "default device"), ("CPU:0", "asked by the call")] == reasons


def test_op_of_the_backward_pass_names_its_node_and_the_line_of_its_forward() -> None:
    def program() -> None:
        x = torch.ones(2, 2, requires_grad=True)
        y = x.exp()
        y.sum().backward()

    product = placed(program, "mul")

    assert ("backward", "ExpBackward0") == product.reason
    assert "y = x.exp()" in line(product)
    assert "backward of ExpBackward0" in runtime.in_words(product.op, product.device, product.reason)


# Phases and layers


def test_step_has_phases_and_paths_of_modules() -> None:
    model, tokens = GPT(), torch.randint(32, (1, 4))
    optimizer = torch.optim.Adam(model.parameters())

    def program() -> None:
        model(tokens).sum().backward()
        optimizer.step()

    parts = {(event.phase, event.layer) for event in watched(program)[1]}

    assert {"forward", "backward", "update"} == {phase for phase, _ in parts}
    for phase in ("forward", "backward"):
        assert {(phase, "blocks.1.attn.qkv"), (phase, "blocks.0.mlp.1"), (phase, "blocks.0.attn")} <= parts


def test_module_that_raises_is_not_running_afterwards() -> None:
    model = perceptron()

    def program() -> None:
        with pytest.raises(RuntimeError):
            model(torch.ones(2, 7))
        torch.ones(2).exp()

    assert ("", "") == placed(program, "exp")[-2:]


def test_interrupt_leaves_no_mode_and_no_module_behind() -> None:
    class Stop(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            raise KeyboardInterrupt

    model = torch.nn.Sequential(torch.nn.Linear(2, 2), Stop())
    weight = ref(model[0].weight)
    with pytest.raises(KeyboardInterrupt), runtime.watch("torch"):
        model(torch.ones(2, 2))
    del model
    gc.collect()

    assert [] == modes()
    assert weight() is None
    assert ("", "") == placed(lambda: torch.ones(2).exp(), "exp")[-2:]


def test_optimizer_that_raises_is_over() -> None:
    weight = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)

    def closure() -> Any:
        raise ValueError

    def program() -> None:
        with pytest.raises(ValueError, match=r"^$"):
            optimizer.step(closure)
        torch.ones(2).exp()

    assert "" == placed(program, "exp").phase


def test_interrupt_in_an_op_is_noted_and_passed_on() -> None:
    class Interrupting(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            raise KeyboardInterrupt

    with Interrupting(), runtime.recording() as record, pytest.raises(KeyboardInterrupt), runtime.watch("torch"):
        torch.ones(2)

    assert [("aten::ones", "CPU:0")] == record.ops
    assert [] == [event for event in record.events if isinstance(event, OpExecuted)]
    assert [] == modes()


# Copies


class OnCard(torch.Tensor):
    """A tensor that says that it is on a card; its values are on the host."""

    device = property(lambda self: torch.device("cuda:0"))

    @staticmethod
    def __new__(cls, values: Any) -> Any:
        return torch.Tensor._make_wrapper_subclass(cls, values.shape, dtype=values.dtype)

    def __init__(self, values: Any) -> None:
        self.values_on_host = values

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        args = [each.values_on_host if isinstance(each, OnCard) else each for each in args]
        to_host = func is torch.ops.aten._to_copy.default
        result = func(*args, **(kwargs or {}))
        return result if to_host or not isinstance(result, torch.Tensor) else OnCard(result)


def copies_of(program: Callable[[], Any]) -> list[tuple[Any, ...]]:
    with runtime.recording() as record, runtime.watch("torch"):
        program()
    return [
        (runtime.short_name(each.source), runtime.short_name(each.target), each.nbytes, each.kind, each.pinned)
        for each in record.events
        if isinstance(each, Copied)
    ]


def test_values_that_the_program_asks_for_are_read() -> None:
    x = OnCard(torch.ones(3, 4))

    assert [("cuda:0", "CPU:0", 48, "read", False)] == copies_of(lambda: x.to("cpu", torch.float64))
    assert [("cuda:0", "CPU:0", 4, "read", None)] == copies_of(x.sum().item)
    assert ("cuda:0", "CPU:0", 1, "read", None) in copies_of(lambda: bool((x > 0).all()))


def test_tensor_that_is_wanted_elsewhere_is_moved() -> None:
    x = torch.ones(3, 4)

    assert [("CPU:0", "meta:0", 48, "move", False)] == copies_of(lambda: x.to("meta"))
    assert [] == copies_of(lambda: x.to(torch.float64))


@pytest.mark.parametrize(("workers", "text"), [(2, "started 2 workers, whose ops are not recorded"), (0, "")])
def test_a_check_says_that_workers_of_a_loader_were_not_heard(workers: int, text: str) -> None:
    loader = torch.utils.data.DataLoader(torch.arange(4), num_workers=workers)

    with runtime.recording() as record, runtime.watch("torch"):
        assert 4 == sum([len(batch) for batch in loader])

    assert text in " ".join(record.watch.unrecorded([]))
    assert bool(text) == bool(record.watch.unrecorded([]))


@pytest.mark.parametrize("persistent_before", [True, False])
def test_a_check_says_that_workers_from_before_its_block_were_not_heard(persistent_before: bool) -> None:
    loader = torch.utils.data.DataLoader(torch.arange(4), num_workers=2, persistent_workers=persistent_before)
    earlier = iter(loader)
    next(earlier)

    with runtime.recording() as record, runtime.watch("torch"):
        batches = list(loader if persistent_before else earlier)

    assert (4 if persistent_before else 3) == len(batches)
    assert f"took {len(batches)} batches from earlier workers" in " ".join(record.watch.unrecorded([]))
    del earlier


def test_ops_on_a_card_have_the_name_that_pytorch_gives_it() -> None:
    x = OnCard(torch.ones(2))
    with runtime.recording() as record, runtime.watch("torch"):
        x.exp()

    assert [("aten::exp", "cuda:0")] == record.ops
    record.expect("exp=cuda:0", "aten::*=cuda:0", no_copies=True)
    with pytest.raises(runtime.ExpectationError, match="aten::exp on cuda:0: follows its input"):
        record.expect("exp=GPU:0")


# Threads, and honest checks


def test_thread_that_begins_while_somebody_watches_is_heard() -> None:
    with runtime.recording() as record, runtime.watch("torch"):
        thread = threading.Thread(target=torch.ones, args=[2])
        thread.start()
        thread.join()

    record.expect("ones=CPU:0", no_copies=True)


def test_check_of_a_block_fails_where_nobody_watched() -> None:
    with runtime.recording() as record:
        with runtime.watch("torch"):
            torch.ones(2)
        torch.zeros(2)

    with pytest.raises(runtime.ExpectationError, match=r"PyTorch ran 1 op, not recorded \(%placement_log watch torch"):
        record.expect("ones=CPU:0")


def test_memory_of_watched_ops_was_not_asked_for_either() -> None:
    with runtime.recording() as record, runtime.watch("torch"):
        torch.ones(2)

    with pytest.raises(runtime.ExpectationError, match="PyTorch ran 1 op, on no GPU that reports its memory"):
        record.expect_memory(at_most="1GiB")


def test_watching_twice_tells_of_an_op_once() -> None:
    with runtime.recording() as record, runtime.watch("torch"), runtime.watch("torch"):
        perceptron()(torch.ones(2, 8))

    names = [op for op, _ in record.ops]
    assert 2 == names.count("aten::addmm")
    assert [] == modes()


def test_observer_hears_of_an_op_before_it_has_run() -> None:
    heard: list[str] = []
    stop = runtime.observe(lambda event: heard.append(type(event).__name__))
    try:
        with runtime.watch("torch"):
            torch.ones(2)
    finally:
        stop()

    assert ["OpPlaced", "OpExecuted"] == heard


def test_mode_that_the_user_has_left_open_stays() -> None:
    mode = torch.utils._python_dispatch.TorchDispatchMode()
    with runtime.watch("torch"):
        mode.__enter__()

    try:
        assert [mode] == modes()
    finally:
        mode.__exit__(None, None, None)


def test_results_have_shapes_dtypes_and_bytes() -> None:
    with runtime.recording() as record, runtime.watch("torch"):
        torch.ones(2, 3, dtype=torch.bfloat16).topk(1)

    outputs = [event.outputs for event in record.events if isinstance(event, OpExecuted)]
    assert [((2, 3), "bfloat16", 12)] == list(outputs[0])
    assert [((2, 1), "bfloat16", 4), ((2, 1), "int64", 16)] == list(outputs[1])


def test_lines_of_a_long_loop_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    from nbtf._frameworks.torch import origins

    monkeypatch.setattr(origins, "GENERATION", 100)
    lines = origins.ForwardLines()
    for number in range(1, 1000):
        lines.keep(number, (None, number, None))  # pyright: ignore[reportArgumentType]

    assert lines.of(997) == (None, 998, None)
    assert lines.of(700) is None
    assert len(lines._newer) + len(lines._older) <= 202


@pytest.mark.parametrize(
    ("library", "words"),
    [("jax", "JAX does not expose its ops"), ("numpy", "Libraries that can be watched: torch")],
)
def test_library_that_cannot_be_watched_is_refused(library: str, words: str) -> None:
    with pytest.raises(ValueError, match=words), runtime.watch(library):
        pass


# What was compiled


def test_call_of_what_was_compiled_is_one_op_with_the_bits_of_before() -> None:
    def wave(x: Any) -> Any:
        return (x.sin() + 1).exp()

    torch.manual_seed(0)
    model, x = perceptron(), torch.randn(2, 8)
    compiled_model, compiled_wave = torch.compile(model, backend="eager"), torch.compile(wave, backend="aot_eager")

    def program() -> list[Any]:
        model.zero_grad()
        y = compiled_wave(compiled_model(x))
        y.sum().backward()
        return [y, model[0].weight.grad.clone()]

    expected = program()
    results, events = watched(program)

    assert [*map(plain, expected)] == [*map(plain, results)]
    regions = [event for event in events if event.op == "torch.compile"]
    assert [
        ("compiled", "Sequential"),
        ("compiled", f"{wave.__qualname__}"),
        ("backward", f"{wave.__qualname__}"),
        ("backward", "Sequential"),
    ] == [(event.reason.kind, event.reason.detail) for event in regions]
    assert ["forward", "forward", "backward", "backward"] == [event.phase for event in regions]
    assert {"y = compiled_wave(compiled_model(x))"} == {line(event).strip() for event in regions}
    assert not any(event.op in ("aten::addmm", "aten::sin") for event in events)
    assert not any(event.reason.detail in ("AddmmBackward0", "CompiledFunctionBackward") for event in events)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_backward_pass_of_what_was_compiled_is_one_op_each_time_it_runs(backend: str) -> None:
    def wave(x: Any) -> Any:
        return (x.sin() + 1).exp()

    x, compiled = torch.randn(4, requires_grad=True), torch.compile(wave, backend=backend)

    def program() -> Any:
        y = compiled(x)
        y.sum().backward(retain_graph=True)
        y.mul(2).sum().backward()
        return x.grad

    program()
    x.grad = None
    _, events = watched(program)

    regions = [event.reason.kind for event in events if event.op == "torch.compile"]
    assert ["compiled", "backward", "backward"] == regions
    assert {"aten::sum", "aten::mul"} <= {event.op for event in events}
    assert not {"aten::cos", "aten::sin", "aten::exp"} & {event.op for event in events}


def test_backward_pass_of_what_was_compiled_that_raises_is_over() -> None:
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            raise ValueError("no gradient")

    compiled = torch.compile(lambda x: x.sin().exp(), backend="eager")

    def program() -> None:
        with pytest.raises(ValueError, match="no gradient"):
            compiled(Fails.apply(torch.ones(2, requires_grad=True))).sum().backward()
        torch.ones(2).cos()

    _, events = watched(program)

    assert ["compiled", "backward"] == [event.reason.kind for event in events if event.op == "torch.compile"]
    assert "aten::cos" == events[-1].op


def test_compiled_call_that_raises_is_over() -> None:
    def fail(x: Any) -> Any:
        raise ValueError(x.sum())

    compiled = torch.compile(fail, backend="eager")

    def program() -> None:
        with pytest.raises(ValueError, match=r"tensor\(2\.\)"):
            compiled(torch.ones(2))
        torch.ones(2).exp()

    assert "exp" in ops(program)
