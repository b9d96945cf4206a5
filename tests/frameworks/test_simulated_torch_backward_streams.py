"""Tests that the backward of an op runs on the stream of its forward."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

import nbtf as tf
from nbtf._frameworks.torch.simulation import thread_streams

torch: Any = pytest.importorskip("torch", reason="needs PyTorch; one step of .ci/run has it")


@pytest.fixture(autouse=True)
def machine(capsys: pytest.CaptureFixture[str]) -> Iterator[None]:
    tf.runtime.simulate_gpus(2, model="A100-40GB", frameworks="torch")
    yield
    tf.runtime.restart()
    tf.runtime.simulate_gpus(0)


class Noting(torch.autograd.Function):
    """Notes the streams of both devices in forward and in backward."""

    @staticmethod
    def forward(ctx: Any, values: Any, notes: Any, chosen: Any) -> Any:
        ctx.notes, ctx.chosen, ctx.forward_streams = notes, chosen, streams()
        return values * 2.0

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        ctx.notes.append((ctx.forward_streams, streams()))
        if ctx.chosen is not None:
            with torch.cuda.stream(ctx.chosen):
                ctx.notes.append((ctx.chosen, torch.cuda.current_stream(ctx.chosen.device)))
        ctx.notes.append((ctx.forward_streams, streams()))
        return gradient * 2.0, None, None


def streams() -> tuple[Any, Any]:
    return torch.cuda.current_stream(0), torch.cuda.current_stream(1)


def test_a_backward_runs_on_the_streams_of_its_forward() -> None:
    for seed in range(20):
        check_streams(seed)


def check_streams(seed: int) -> None:
    """Runs a random program of several streams, and checks in which of them each backward runs."""
    choices, notes = random.Random(seed), list[Any]()
    known = [torch.cuda.Stream(device) for device in (0, 0, 1)] + [torch.cuda.default_stream(0)]
    values = torch.ones(3, device="cuda:0", requires_grad=True)
    losses: list[Any] = []
    for _ in range(4):
        result = values
        for _ in range(choices.randrange(1, 5)):
            with ExitStack() as blocks:
                for stream in choices.sample(known, choices.randrange(3)):
                    blocks.enter_context(torch.cuda.stream(stream))
                result = Noting.apply(result, notes, choices.choice([None, *known])) + 1.0
        losses.append(result.sum())
    choices.shuffle(losses)
    for loss in losses:
        with torch.cuda.stream(choices.choice(known)):
            outside = streams()
            loss.backward()
            assert outside == streams()

    assert len(notes) >= 8
    assert not [pair for pair in notes if pair[0] != pair[1]]
    assert streams() == (torch.cuda.default_stream(0), torch.cuda.default_stream(1))


def test_each_thread_has_its_own_streams() -> None:
    notes: list[Any] = []

    def run() -> None:
        with torch.cuda.stream(torch.cuda.Stream()):
            result = Noting.apply(torch.ones(3, device="cuda", requires_grad=True), notes, None)
        result.sum().backward()

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert 6 == len(notes)
    assert not [pair for pair in notes if pair[0] != pair[1]]


def test_a_loop_that_changes_streams_keeps_a_bounded_number_of_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_streams, "_CHANGES", 10)
    of_thread = thread_streams.ThreadStreams(torch)
    values = torch.ones(3, requires_grad=True)
    for number in range(100):
        of_thread.set(0, number)
        values = values + 1.0

    assert 99 == of_thread.current(0)
    assert len(of_thread._changes) <= 10
