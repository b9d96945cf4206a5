"""Tests that devices without values charge what devices with values do."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest

from nbtf._devices.discovery import gpus, simulated_machine

torch: Any = pytest.importorskip("torch")


@pytest.fixture
def switch() -> Iterator[Any]:
    from nbtf._frameworks.torch.simulation.switch import SWITCH

    yield SWITCH
    SWITCH.off()


def peaks(switch: Any, values: bool) -> tuple[int, ...]:
    switch.on(gpus(simulated_machine(1, "A100 80"), {}), values, None if values else 0.5)
    model = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    loss: Any = None
    for _ in range(3):
        optimizer.zero_grad()
        loss = model(torch.randn(4, 8, 16, device="cuda")).square().mean()
        loss.backward()
        optimizer.step()
        assert values or 0.5 == loss.item()
    figures = (torch.cuda.max_memory_allocated(), torch.cuda.memory_reserved(), torch.cuda.memory_allocated())
    del model, optimizer, loss
    gc.collect()
    return (*figures, torch.cuda.memory_allocated())


def test_the_same_memory_without_values(switch: Any) -> None:
    with_values = peaks(switch, True)

    assert with_values == peaks(switch, False)
    assert 0 == with_values[-1]


def test_a_model_larger_than_this_computer_takes_none_of_it(switch: Any) -> None:
    switch.on(gpus(simulated_machine(1, "H200"), {}), values=False)

    layers = [torch.nn.Linear(32768, 32768, bias=False, device="cuda") for _ in range(30)]

    assert 30 * 4 << 30 == torch.cuda.memory_allocated()
    assert 30 == len(layers)


def test_reading_raises_by_name(switch: Any) -> None:
    switch.on(gpus(simulated_machine(1, "H200"), {}), values=False)

    with pytest.raises(RuntimeError, match=r"shape \[3\] was read, but these GPUs are simulated without values"):
        torch.ones(3, device="cuda").cpu()
