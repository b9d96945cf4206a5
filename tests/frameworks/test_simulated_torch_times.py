"""Tests that what PyTorch has simulated cards do takes modelled time: by nbtf's own model, and marked as such."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import nbtf as tf
from nbtf.runtime import Copied, OpExecuted

torch: Any = pytest.importorskip("torch")

GPU = "/job:localhost/replica:0/task:0/device:GPU:"


@pytest.fixture(autouse=True)
def machine(capsys: pytest.CaptureFixture[str]) -> Iterator[None]:
    tf.runtime.simulate_gpus(2, model="A100-40GB", frameworks="torch")
    yield
    tf.runtime.restart()
    tf.runtime.simulate_gpus(0)


def work_of(run: Callable[[], object]) -> list[OpExecuted | Copied]:
    with tf.runtime.watch("torch"), tf.runtime.recording() as record:
        run()
    return [event for event in record.events if isinstance(event, OpExecuted | Copied)]


def timed(run: Callable[[], object]) -> float:
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    run()
    end.record()
    torch.cuda.synchronize()
    with pytest.warns(RuntimeWarning, match="simulated GPUs are modelled"):
        return start.elapsed_time(end)


@pytest.mark.parametrize("shapes", [((64, 32), (32, 128)), ((700, 3), (3, 1))])
def test_a_product_takes_what_it_takes_in_nbtf(shapes: tuple[tuple[int, int], tuple[int, int]]) -> None:
    a, b = (torch.ones(shape, device="cuda") for shape in shapes)
    x, y = (tf.ones(shape) for shape in shapes)

    (mm,) = work_of(lambda: a @ b)
    with tf.runtime.recording() as record:
        tf.matmul(x, y)
    matmul = next(event for event in record.events if isinstance(event, OpExecuted) and event.op == "MatMul")

    assert isinstance(mm, OpExecuted)
    assert (GPU + "0", "modelled", matmul.seconds) == (mm.device, mm.timing, mm.seconds)


def test_views_take_no_time_and_what_is_twice_as_large_takes_twice_as_long() -> None:
    x = torch.ones(1000, device="cuda")

    events = work_of(lambda: (x[::2].view(-1), x + 1, torch.cat([x, x]) + 1))

    seconds = [event.seconds for event in events]
    assert [0.0, 0.0] == seconds[:2]
    assert seconds[2] * 2 == pytest.approx(seconds[4])


def test_copies_take_the_cards_bus() -> None:
    x = torch.ones(1 << 20)

    copies = [event for event in work_of(lambda: x.cuda().to("cuda:1").cpu()) if isinstance(event, Copied)]

    assert [((4 << 20) / 31.5e9, True)] * 3 == [(copy.seconds, copy.modelled) for copy in copies]


@pytest.mark.parametrize("seed", range(5))
def test_an_event_counts_what_the_log_tells(seed: int) -> None:
    draw = random.Random(seed)
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.LazyLinear(5))
    model.cuda()(torch.zeros(1, 3, 8, 8, device="cuda"))
    lstm = torch.nn.LSTM(5, 6).cuda()
    x, total = torch.ones(2, 3, 8, 8, device="cuda", requires_grad=True), torch.zeros(2, 5, device="cuda")
    steps: list[Callable[[], object]] = [
        lambda: model(x).sum().backward(),
        lambda: lstm(model(x))[0].sum().backward(),
        lambda: total.add_(1).mul_(2),
        lambda: torch.add(total, 1, out=torch.empty(0, device="cuda")),
        lambda: torch._foreach_add_([total, total], 1.0),
        lambda: torch.nn.functional.scaled_dot_product_attention(total, total, total),
        lambda: total.item() if total.numel() == 1 else total.cpu(),
        lambda: total.to(torch.float64).cumsum(0),
        lambda: total.copy_(torch.rand(2, 5)),
    ]
    chosen = draw.choices(steps, k=10)

    milliseconds: list[float] = []
    events = work_of(lambda: milliseconds.append(timed(lambda: [step() for step in chosen])))

    modelled = [event.seconds for event in events if getattr(event, "timing", "modelled") == "modelled"]
    assert milliseconds == [pytest.approx(1000 * sum(modelled), rel=1e-9)]
    assert milliseconds[0] > 0


def test_a_recurrent_layer_is_one_op_on_its_card() -> None:
    lstm, x = torch.nn.LSTM(8, 16).to("cuda:1"), torch.ones(5, 4, 8, device="cuda:1")

    events = work_of(lambda: lstm(x)[0].sum().backward())

    assert {GPU + "1"} == {event.device for event in events if isinstance(event, OpExecuted)}
    names = [event.op for event in events if isinstance(event, OpExecuted) and event.seconds]
    assert (names.count("aten::lstm"), names.count("aten::lstm_backward")) == (1, 1)


def test_a_function_of_autograd_may_call_anything_its_name() -> None:
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.name = "doubled"
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient * 2

    x = torch.ones(3, device="cuda", requires_grad=True)

    events = work_of(lambda: Doubled.apply(x).sum().backward())

    assert 2 == [event.op for event in events if isinstance(event, OpExecuted)].count("aten::mul")


def test_attention_runs_nothing_on_the_cpu() -> None:
    x = torch.ones(1, 2, 4, 8, device="cuda")

    events = work_of(lambda: torch.nn.functional.scaled_dot_product_attention(x, x, x))

    assert {GPU + "0"} == {event.device for event in events if isinstance(event, OpExecuted)}


def test_a_card_waits_for_an_event_of_another() -> None:
    end, start = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    x = torch.ones(1 << 20, device="cuda:0")
    first = torch.cuda.Event(enable_timing=True)
    first.record()
    x.add_(1)
    end.record()

    with torch.cuda.device(1):
        start.record()
        torch.cuda.current_stream().wait_event(end)
        after = torch.cuda.Event(enable_timing=True)
        after.record()

    with pytest.warns(RuntimeWarning):
        assert first.elapsed_time(end) == start.elapsed_time(after) > 0


def test_time_passes_between_events_of_the_same_device_alone() -> None:
    events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
    for number, event in enumerate(events):
        event.record(torch.cuda.Stream(device=number))

    with pytest.raises(RuntimeError, match="on cuda:0 and cuda:1"):
        events[0].elapsed_time(events[1])


def test_an_event_says_whose_time_it_is() -> None:
    event = torch.cuda.Event(enable_timing=True)

    assert "<torch.cuda.Event of a simulated GPU, not recorded>" == repr(event)
    event.record()
    assert "ms of modelled time" in repr(event)
