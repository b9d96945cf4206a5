"""Tests that an op which failed is recorded with the operand that is on another device."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from pathlib import Path
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


# Names and lines


class Net:
    """A model whose second layer stays where it was made."""

    @staticmethod
    def made() -> Any:
        class Layers(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                linear = torch.nn.Linear
                self.layers = torch.nn.Sequential(linear(3, 3), torch.nn.ReLU(), linear(3, 3, bias=False))

            def forward(self, values: Any) -> Any:
                return self.layers(values)

        model = Layers()
        model.layers[0].cuda()
        return model


def reason_after(run: Callable[[], object]) -> str:
    """Returns the recorded detail of the op that fails last in a function."""
    with runtime.recording() as record, runtime.watch("torch"), pytest.raises(RuntimeError, match="same device"):
        run()
    return [event for event in record.events if isinstance(event, runtime.OpPlaced)][-1].reason.detail


def line_of(text: str) -> int:
    """Returns the number of the only line of this file that contains a text and assigns it."""
    lines = Path(__file__).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.strip().startswith(text))


def variable() -> None:
    on_gpu = torch.ones(4, device="cuda")
    of_host = torch.ones(4)
    _ = on_gpu + of_host


def attribute() -> None:
    holder: Any = types.SimpleNamespace()
    holder.offset = torch.zeros(5)
    _ = torch.ones(5, device="cuda") * holder.offset


def element() -> None:
    row = torch.ones(6, device="cuda")
    batches = [torch.ones(6), torch.ones(6)]
    _ = row - batches[1]


def entry() -> None:
    row = torch.ones(6, device="cuda")
    state = {"mean": torch.ones(6)}
    _ = row - state["mean"]


def parameter() -> None:
    model = Net.made()
    model(torch.ones(2, 3, device="cuda"))


def other_card() -> None:
    there = torch.ones(7, device="cuda:1")
    _ = torch.ones(7, device="cuda:0") + there


def in_a_called_function() -> None:
    given = torch.ones(8)
    torch.nn.functional.mse_loss(torch.ones(8, device="cuda"), given, reduction="sum")


def in_a_loop() -> None:
    for part in torch.ones(2, 9).unbind():
        _ = torch.ones(9, device="cuda") + part


def changed_in_place() -> None:
    total = torch.ones(11)
    total += 1.0
    _ = torch.ones(11, device="cuda") + total


NAMED = {
    variable: ("of_host", "of_host ="),
    attribute: ("holder.offset", "holder.offset ="),
    element: ("batches[1]", "batches ="),
    entry: ("state['mean']", "state ="),
    parameter: ("model.layers[2].weight", "self.layers ="),
    other_card: ("there", "there ="),
    in_a_called_function: ("given", "given ="),
    in_a_loop: ("part", "for part in"),
    changed_in_place: ("total", "total ="),
}


@pytest.mark.parametrize("run", NAMED, ids=lambda run: run.__name__)
def test_the_operand_has_its_name_in_the_program_and_the_line_that_made_it(run: Callable[[], None]) -> None:
    name, assignment = NAMED[run]
    device = "GPU:1" if run is other_card else "CPU:0"

    assert f"{name} on {device}, made in line {line_of(assignment)}" == reason_after(run)


def test_a_line_in_another_file_is_named_with_its_file(tmp_path: Path) -> None:
    source = tmp_path / "holders.py"
    source.write_text("class Holder:\n    def __init__(self, values):\n        self.made = values.clone()\n")
    names: dict[str, Any] = {"__name__": "holders"}
    exec(compile(source.read_text(), str(source), "exec"), names)
    values = torch.ones(12)

    def run() -> None:
        holder = names["Holder"](values)
        _ = torch.ones(12, device="cuda") + holder.made

    assert "holder.made on CPU:0, made in holders.py, line 3" == reason_after(run)


def test_an_operand_made_before_the_recording_has_only_its_name() -> None:
    early = torch.ones(13)

    assert "early on CPU:0" == reason_after(lambda: torch.ones(13, device="cuda") + early)


def test_an_operand_without_a_variable_has_the_name_of_the_argument() -> None:
    assert "other on CPU:0" == reason_after(lambda: torch.ones(14, device="cuda") + torch.ones(14))


def test_an_object_whose_attributes_run_code_is_only_looked_at() -> None:
    class Loud:
        def __getattribute__(self, name: str) -> Any:
            raise AssertionError(name)

    loud = Loud()
    of_host = torch.ones(15)

    assert "of_host on CPU:0" == reason_after(lambda: (loud, torch.ones(15, device="cuda") + of_host))
