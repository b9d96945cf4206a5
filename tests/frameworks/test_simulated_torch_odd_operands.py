"""Tests that an op which failed is recorded with the operand that is on another device."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import nbtf as tf
from nbtf import runtime

torch: Any = pytest.importorskip("torch", reason="needs PyTorch; one step of .ci/run has it")


@pytest.fixture(autouse=True)
def machine(capsys: pytest.CaptureFixture[str]) -> Iterator[None]:
    tf.runtime.simulate_gpus(2, model="A100-40GB", frameworks="torch")
    yield
    tf.runtime.restart()
    tf.runtime.simulate_gpus(0)


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "add": torch.add,
    "add_": lambda left, right: left.add_(right),
    "mm": torch.mm,
    "cat": lambda left, right: torch.cat([left, left, right]),
    "copysign": torch.copysign,
    "maximum": torch.maximum,
}


@pytest.mark.parametrize("devices", [("cuda:0", "cpu"), ("cuda:1", "cpu"), ("cuda:1", "cuda:0"), ("cpu", "cuda:0")])
@pytest.mark.parametrize("call", CALLS)
def test_a_failed_op_names_the_operand_on_another_device(call: str, devices: tuple[str, str]) -> None:
    first, second = [torch.ones(3, 3, device=device) for device in devices]

    with runtime.recording() as record, runtime.watch("torch"), pytest.raises(RuntimeError, match="same device"):
        CALLS[call](first, second)

    last = [event for event in record.events if isinstance(event, runtime.OpPlaced)][-1]
    odd = devices[0] if devices[0] == "cpu" else devices[1]
    name = ("left", "first") if odd == devices[0] else ("right", "second")
    assert "several devices" == last.reason.kind
    assert last.reason.detail in [
        f"{each} on {odd.upper().replace('CUDA', 'GPU').replace('CPU', 'CPU:0')}" for each in name
    ]
    assert not [event for event in record.events if isinstance(event, runtime.OpExecuted) and event.seq > last.seq]


def test_a_failure_with_operands_on_one_device_keeps_its_reason() -> None:
    with runtime.recording() as record, runtime.watch("torch"), pytest.raises(RuntimeError, match="shapes"):
        torch.matmul(torch.ones(2, 3, device="cuda"), torch.ones(2, 3, device="cuda"))

    last = [event for event in record.events if isinstance(event, runtime.OpPlaced)][-1]
    assert ("aten::mm", "follows its input") == (last.op, last.reason.kind)
