"""Tests that an ordinary PyTorch program runs on simulated GPUs, and computes what it computes on the CPU."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import nbtf as tf
from tests.rings import with_nightly

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def machine(capsys: pytest.CaptureFixture[str]) -> Iterator[None]:
    tf.runtime.simulate_gpus(4, model="A100-80GB", frameworks="torch")
    yield
    tf.runtime.restart()
    tf.runtime.simulate_gpus(0)


def losses(device: str, optimizer: Any, steps: int = 10) -> list[float]:
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Dropout(0.2), torch.nn.Linear(32, 4)
    ).to(device)
    x, y = torch.randn(8, 16).to(device), torch.randint(0, 4, (8,)).to(device)
    steps_taken = optimizer(model.parameters())
    values: list[float] = []
    for _ in range(steps):
        steps_taken.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        steps_taken.step()
        values.append(loss.item())
    return values


def test_torch_cuda_tells_of_the_cards() -> None:
    properties = torch.cuda.get_device_properties(3)

    assert (True, 4) == (torch.cuda.is_available(), torch.cuda.device_count())
    assert ("NVIDIA A100-SXM4-80GB (simulated)", "79.15") == (properties.name, f"{properties.total_memory / 2**30:.2f}")


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop"])
def test_a_training_loop_has_the_losses_of_the_cpu(name: str) -> None:
    optimizer = getattr(torch.optim, name)

    assert losses("cpu", optimizer) == losses("cuda:1", optimizer)


def test_memory_is_charged_and_given_back() -> None:
    x = torch.zeros(1000, device="cuda:2")
    view = x[10:20]
    assert 4096 == torch.cuda.memory_allocated(2)

    del x
    assert 4096 == torch.cuda.memory_allocated(2)

    del view
    assert 0 == torch.cuda.memory_allocated(2)


def test_a_full_card_raises_pytorchs_error() -> None:
    with pytest.raises(torch.OutOfMemoryError, match=r"CUDA out of memory\. Tried to allocate 100\.00 GiB\. GPU 0 has"):
        torch.zeros(100 << 30, dtype=torch.uint8, device="cuda")


def test_two_devices_in_an_op_are_refused() -> None:
    with pytest.raises(RuntimeError, match="found at least two devices, cuda:0 and cuda:1!"):
        _ = torch.ones(2, device="cuda:0") + torch.ones(2, device="cuda:1")


@pytest.mark.parametrize(
    "ask",
    [
        lambda: torch.zeros(1, device="cuda"),
        lambda: torch.zeros(1).cuda(),
        lambda: torch.tensor([1.0], device="cuda:0"),
        lambda: torch.nn.Linear(2, 2).to("cuda"),
        lambda: torch.rand(2, device="cuda"),
        lambda: torch.empty_like(torch.zeros(1), device="cuda"),
        torch.cuda.current_device,
    ],
    ids=["zeros", "cuda", "tensor", "module", "rand", "empty-like", "current"],
)
def test_after_simulating_none_pytorch_says_what_it_says_without_a_gpu(ask: Callable[[], object]) -> None:
    tf.runtime.restart()
    tf.runtime.simulate_gpus(0)

    no_driver = "Found no NVIDIA driver|No CUDA GPUs are available"
    expected = (RuntimeError, no_driver) if torch.version.cuda else (AssertionError, "Torch not compiled with CUDA")
    assert not torch.cuda.is_available()
    with pytest.raises(expected[0], match=expected[1]):
        ask()


@pytest.mark.parametrize("count", with_nightly([0, 1], [4]))
@pytest.mark.parametrize(
    "use",
    [
        lambda x: x + 1,
        lambda x: x.cpu(),
        lambda x: x[1:].sum(),
        lambda x: x[0].item(),
        repr,
        lambda x: torch.ones(3).copy_(x),
        lambda x: torch.cat([x, x]),
        lambda x: x.sum().backward(),
    ],
    ids=["add", "cpu", "view", "item", "repr", "copy", "cat", "backward"],
)
def test_a_tensor_from_before_a_restart_says_so(use: Callable[[Any], object], count: int) -> None:
    x = torch.ones(3, device="cuda:2", requires_grad=True)
    tf.runtime.restart()
    tf.runtime.simulate_gpus(count, frameworks="torch")

    with pytest.raises(RuntimeError, match=r"created on cuda:2 before the simulated GPUs were replaced .*restart"):
        use(x)


def test_what_is_new_is_not_taken_for_what_was_before() -> None:
    x = torch.ones(1000, device="cuda")
    tf.runtime.restart()
    tf.runtime.simulate_gpus(1, frameworks="torch")
    del x

    assert [1000.0] * 50 == [torch.ones(1000, device="cuda").sum().item() for _ in range(50)]


def test_new_devices_begin_with_the_first_as_the_current_one() -> None:
    torch.cuda.set_device(1)
    tf.runtime.restart()
    tf.runtime.simulate_gpus(2, frameworks="torch")

    assert 0 == torch.cuda.current_device()
    assert "cuda:0" == str(torch.ones(1, device="cuda").device) == str(torch.ones(1).cuda().device)


@pytest.mark.parametrize(("size", "words"), [(1 << 38, "GPU 0 has a total capacity"), (1 << 33, "this computer")])
def test_too_large_a_result_says_whether_the_card_or_the_computer_is_full(size: int, words: str) -> None:
    text = f"[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: you tried to allocate {size} bytes."

    from nbtf._frameworks.torch.simulation.switch import SWITCH

    with pytest.raises(torch.OutOfMemoryError, match=words):
        SWITCH.installation.machine.check_computer(RuntimeError(text), 0, "aten::mm")


@pytest.mark.parametrize(
    "make",
    [
        lambda small, host: torch.empty(40 << 20, dtype=torch.uint8, device="cuda"),
        lambda small, host: torch.randn(10 << 20, device="cuda"),
        lambda small, host: host.cuda(),
        lambda small, host: small.repeat(10 << 20),
        lambda small, host: small.expand(20 << 20) + 1,
        lambda small, host: torch.cat([small.expand(20 << 20)] * 2),
        lambda small, host: small.new_zeros(1).resize_(10 << 20),
    ],
)
def test_a_tensor_that_only_the_computer_lacks_memory_for_reserves_nothing(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nbtf._frameworks.torch.simulation import machine

    small, host = torch.zeros(1, device="cuda"), torch.zeros(10 << 20)
    reserved, free = torch.cuda.memory_reserved(), torch.cuda.mem_get_info()
    monkeypatch.setattr(machine, "available_bytes", lambda: 20 << 20)

    with pytest.raises(torch.OutOfMemoryError, match=r"this computer, which simulates it, has only 20\.00 MiB left"):
        make(small, host)
    with pytest.raises(torch.OutOfMemoryError, match="GPU 0 has a total capacity of"):
        torch.empty(1 << 40, dtype=torch.uint8, device="cuda")

    assert (reserved, free) == (torch.cuda.memory_reserved(), torch.cuda.mem_get_info())


def test_a_backward_pass_calls_nothing_back_that_would_lose_an_interrupt() -> None:
    weight, called = torch.ones(2, device="cuda", requires_grad=True), set[str]()

    sys.setprofile(lambda frame, _event, _argument: called.add(frame.f_code.co_qualname))
    try:
        weight.exp().sum().backward()
    finally:
        sys.setprofile(None)

    assert "_Engine.run_backward" in called
    assert not [name for name in called if name.startswith("Guard.__init__.") or name == "_no"]
