"""Tests that simulated GPUs reject overlapping memory, resize outputs, and refuse nondeterministic ops as cards do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import nbtf as tf

torch: Any = pytest.importorskip("torch", reason="needs PyTorch; one step of .ci/run has it")


@pytest.fixture(autouse=True)
def machine(capsys: pytest.CaptureFixture[str]) -> Iterator[None]:
    tf.runtime.simulate_gpus(2, model="A100-40GB", frameworks="torch")
    yield
    torch.use_deterministic_algorithms(False)
    tf.runtime.restart()
    tf.runtime.simulate_gpus(0)


def assign(x: Any) -> None:
    x[1:] = x[:-1]


def with_lists(x: Any) -> None:
    torch._foreach_add_([x[1:], x[:2]], [x[:-1], x[:2]])


def index_of_a_smaller_output(x: Any) -> None:
    zeros = torch.zeros(4, dtype=torch.long, device=x.device)
    torch.gather(x.long(), 0, zeros[1:3], out=zeros[:1])


OVERLAPPING: dict[str, Callable[[Any], Any]] = {
    "copy": lambda x: x[1:].copy_(x[:-1]),
    "assignment": assign,
    "in place": lambda x: x[1:].add_(x[:-1]),
    "output": lambda x: torch.add(x[1:], 1, out=x[:-1]),
    "reduction": lambda x: torch.cumsum(x[1:], 0, out=x[:-1]),
    "matrix": lambda x: torch.mm(x.view(2, 3), x[:3].view(3, 1), out=x[:2].view(2, 1)),
    "indexed": lambda x: x.index_copy_(0, torch.tensor([0, 1], device=x.device), x[2:4]),
    "gathered": lambda x: torch.gather(x[1:], 0, torch.zeros(5, dtype=torch.long, device=x.device), out=x[:-1]),
    "expanded": lambda x: x[:1].expand(3).add_(1),
    "whole": lambda x: x.copy_(x),
    "apart": lambda x: x[3:].add_(x[:3]),
    "conjugate": lambda x: x[1:].to(torch.complex64).conj().copy_(x[:-1]),
    "lists": with_lists,
    "list and output": lambda x: torch.cat([x[:2], x], out=x),
    "smaller output": lambda x: torch.cat([x[:2], x[2:4]], out=x[:3]),
    "smaller output apart": lambda x: torch.add(x[3:], 1, out=x[:1]),
    "index of a smaller output": index_of_a_smaller_output,
}


def outcome(call: Callable[[Any], Any], device: str) -> Any:
    """Returns the tensor after a call, or its error."""
    x = torch.arange(6.0, device=device)
    try:
        call(x)
    except RuntimeError as error:
        return str(error)
    return x.tolist()


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("name", OVERLAPPING)
def test_overlapping_memory_is_treated_as_on_the_cpu(name: str) -> None:
    assert outcome(OVERLAPPING[name], "cpu") == outcome(OVERLAPPING[name], "cuda:1")


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("shape", [(7,), (0,), (2, 3), (1, 1, 6), (40,)])
@pytest.mark.parametrize("inputs", [(2, 3), (1, 0, 3)])
def test_outputs_get_the_shape_of_the_result(shape: tuple[int, ...], inputs: tuple[int, ...]) -> None:
    def call(device: str) -> Any:
        output = torch.zeros(shape, device=device)
        returned = torch.log10(torch.ones(inputs, device=device), out=output)
        assert returned is output
        return output.shape, output.stride(), output.tolist()

    assert call("cpu") == call("cuda:1")


def backward(call: Callable[[Any], Any], *shape: int) -> Callable[[], Any]:
    return lambda: call(torch.rand(shape, device="cuda", requires_grad=True)).sum().backward()


functional: Any = torch.nn.functional
ALERTS: dict[str, Callable[[], Any]] = {
    "avg_pool3d_backward_cuda": backward(lambda x: functional.avg_pool3d(x, 2), 1, 1, 4, 4, 4),
    "adaptive_avg_pool2d_backward_cuda": backward(lambda x: functional.adaptive_avg_pool2d(x, 2), 1, 1, 4, 4),
    "adaptive_max_pool2d_backward_cuda": backward(lambda x: functional.adaptive_max_pool2d(x, 2), 1, 1, 4, 4),
    "reflection_pad2d_backward_cuda": backward(lambda x: functional.pad(x, (1, 1, 1, 1), "reflect"), 1, 1, 4, 4),
    "upsample_bicubic2d_backward_out_cuda": backward(
        lambda x: functional.interpolate(x, scale_factor=2, mode="bicubic"), 1, 1, 4, 4
    ),
    "_histc_cuda with floating point input": lambda: torch.histc(torch.rand(5, device="cuda")),
    "_bincount_cuda": lambda: torch.bincount(torch.ones(3, dtype=torch.long).cuda(), torch.rand(3).cuda()),
    "median CUDA with indices output": lambda: torch.rand(3, 3, device="cuda").median(0),
    "cumsum_cuda_kernel": lambda: torch.rand(3, device="cuda").cumsum(0),
    "scatter_reduce_cuda_prod_": lambda: (
        torch.ones(3).cuda().scatter_reduce(0, torch.zeros(3, dtype=torch.long).cuda(), torch.rand(3).cuda(), "prod")
    ),
}


@pytest.mark.parametrize("name", ALERTS)
def test_ops_that_are_not_deterministic_on_a_card_raise_if_determinism_is_requested(name: str) -> None:
    ALERTS[name]()
    torch.use_deterministic_algorithms(True)

    with pytest.raises(RuntimeError, match=f"^{name} does not have a deterministic implementation, but you set"):
        ALERTS[name]()

    torch.use_deterministic_algorithms(True, warn_only=True)
    with pytest.warns(UserWarning, match=f"{name} does not have a deterministic implementation"):
        ALERTS[name]()


DETERMINISTIC: list[Callable[[], Any]] = [
    lambda: torch.bincount(torch.ones(3, dtype=torch.long).cuda()),
    lambda: torch.ones(3, dtype=torch.long).cuda().cumsum(0),
    lambda: torch.rand(3).cuda().median(),
    lambda: (
        torch.rand(3).cuda().scatter_reduce(0, torch.zeros(3, dtype=torch.long).cuda(), torch.rand(3).cuda(), "sum")
    ),
    lambda: torch.rand(3, 3).cuda() @ torch.rand(3, 3).cuda(),
]


@pytest.mark.parametrize("number", range(len(DETERMINISTIC)))
def test_deterministic_ops_run_as_ever(number: int) -> None:
    torch.use_deterministic_algorithms(True)

    assert DETERMINISTIC[number]().is_cuda


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
def test_an_output_of_the_right_shape_keeps_its_memory_if_another_output_is_resized() -> None:
    results: list[list[Any]] = []
    for device in ("cpu", "cuda"):
        values = torch.linspace(-2, 2, 6).to(device)
        whole, wrong = torch.zeros(2, 6, device=device), torch.zeros(3, device=device)

        torch.ops.aten.log_sigmoid_forward.output(values, output=whole[1], buffer=wrong)
        torch.max(values.view(2, 3), 1, out=(whole[0, :2], wrong.long()))
        with pytest.raises(RuntimeError, match="more than one element"):
            torch._C._nn.log_sigmoid(values, out=torch.zeros((), device=device).expand(6))
        results.append(whole.tolist())

    assert results[0] == results[1]


def test_outputs_in_a_list_are_resized() -> None:
    results: list[list[list[float]]] = []
    for device in ("cpu", "cuda:1"):
        outputs = [torch.empty(0, device=device) for _ in range(2)]
        torch.split_with_sizes_copy(torch.arange(5.0, device=device), [2, 3], out=outputs)
        results.append([output.tolist() for output in outputs])

    assert [[0.0, 1.0], [2.0, 3.0, 4.0]] == results[0] == results[1]


def test_a_rejected_output_leaves_no_memory_allocated() -> None:
    x = torch.zeros(6, device="cuda:1")
    before = torch.cuda.memory_allocated(1)
    for _ in range(3):
        with pytest.raises(RuntimeError, match="single memory location"):
            torch.cat([x[:2], x[2:4]], out=x[:3])

    assert before == torch.cuda.memory_allocated(1)


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
def test_an_output_of_the_right_shape_keeps_its_strides_if_another_output_is_resized() -> None:
    results: list[tuple[Any, ...]] = []
    for device in ("cpu", "cuda"):
        inverse, wrong = torch.zeros(3, 3, device=device), torch.zeros(2, dtype=torch.int32, device=device)
        torch.linalg.inv_ex(2 * torch.eye(3, device=device), out=(inverse, wrong))
        results.append((inverse.tolist(), inverse.stride(), wrong.shape))

    assert results[0] == results[1]
