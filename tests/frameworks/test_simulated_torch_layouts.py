"""Tests that sparse and nested tensors on simulated GPUs hold, cost and compute what they should."""

from __future__ import annotations

import gc
import io
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import nbtf as tf

torch: Any = pytest.importorskip("torch", reason="needs PyTorch; one step of .ci/run has it")
nn = torch.nn

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch warns of each layout that it is young


@pytest.fixture(autouse=True)
def machine(capsys: pytest.CaptureFixture[str]) -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    tf.runtime.simulate_gpus(2, model="A100-40GB", frameworks="torch")
    yield
    torch.set_num_threads(threads)
    tf.runtime.restart()
    tf.runtime.simulate_gpus(0)


def coo(device: str, requires_grad: bool = False) -> Any:
    indices = torch.tensor([[0, 1, 1, 2, 1], [1, 0, 2, 2, 0]], device=device)
    values = torch.tensor([1.0, 2.0, 3.0, 4.0, 0.5], device=device)
    return torch.sparse_coo_tensor(indices, values, (3, 3), requires_grad=requires_grad)


def csr(device: str) -> Any:
    return coo(device).coalesce().to_sparse_csr()


def dense(device: str, *size: int) -> Any:
    return torch.randn(*size or (3, 2), generator=torch.Generator().manual_seed(1)).to(device)


def nested(device: str) -> Any:
    return torch.nested.nested_tensor([dense("cpu", 2, 3), dense("cpu", 4, 3)], device=device)


def slopes_of_product(device: str) -> list[Any]:
    matrix, x = coo(device, requires_grad=True), dense(device).requires_grad_()
    torch.sparse.mm(matrix, x).square().sum().backward()
    return [matrix.grad, x.grad]


def changed_in_place(device: str) -> list[Any]:
    first, second = coo(device).coalesce(), coo(device)
    first.mul_(2)
    first.add_(coo(device))
    second.zero_()
    return [first, second, dense(device, 3, 3).add_(coo(device))]


def saved(device: str) -> list[Any]:
    file = io.BytesIO()
    torch.save(coo(device), file)
    file.seek(0)
    return [torch.load(file)]


def embedded(device: str, optimizer: Any) -> list[Any]:
    torch.manual_seed(0)
    layer = nn.Embedding(10, 3, sparse=True).to(device)
    steps = optimizer(layer.parameters(), 0.1)
    for _ in range(3):
        steps.zero_grad()
        layer(torch.tensor([1, 2, 2], device=device)).square().sum().backward()
        steps.step()
    return [layer.weight, layer.weight.grad]


def slopes_of_nested(device: str) -> list[Any]:
    torch.manual_seed(0)
    leaf, layer = dense(device, 2, 3).requires_grad_(), nn.Linear(3, 2).to(device)
    rows = torch.nested.as_nested_tensor([leaf, dense(device, 4, 3)])
    layer(rows).to_padded_tensor(0.0).square().sum().backward()
    return [leaf.grad, layer.weight.grad]


def encoded(device: str) -> list[Any]:
    torch.manual_seed(0)
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2).to(device).eval()
    x, mask = dense(device, 2, 5, 8), torch.tensor([[False] * 3 + [True] * 2, [False] * 5], device=device)
    with torch.no_grad():
        return [encoder(x, src_key_padding_mask=mask), encoder(x)]


def attended(device: str) -> list[Any]:
    torch.manual_seed(0)
    attention, x = nn.MultiheadAttention(8, 2, batch_first=True).to(device).eval(), dense(device, 2, 5, 8)
    with torch.inference_mode():
        return [attention(x, x, x, need_weights=False)[0]]


PROGRAMS: dict[str, Callable[[str], Any]] = {
    "made": lambda device: [coo(device), csr(device), torch.eye(3, device=device).to_sparse()],
    "products": lambda device: [
        coo(device) @ dense(device),
        csr(device) @ dense(device),
        torch.sparse.mm(coo(device), coo(device)),
        torch.sparse.addmm(dense(device), coo(device), dense(device)),
    ],
    "slopes": slopes_of_product,
    "arithmetic": lambda device: [coo(device) + coo(device), coo(device) * 2, coo(device) * coo(device), -coo(device)],
    "sums": lambda device: [torch.sparse.sum(coo(device), 1), torch.sparse.softmax(coo(device), 1), coo(device).sum()],
    "in place": changed_in_place,
    "moved": lambda device: [coo("cpu").to(device), coo(device).double(), coo(device).clone(), coo(device).t()],
    "parts": lambda device: [coo(device).coalesce().indices(), coo(device).coalesce().values(), csr(device).values()],
    "joined": lambda device: [torch.cat([coo(device), coo(device)]), coo(device).index_select(0, dense_index(device))],
    "saved": saved,
    "SparseAdam": lambda device: embedded(device, torch.optim.SparseAdam),
    "SGD": lambda device: embedded(device, torch.optim.SGD),
    "Adagrad": lambda device: embedded(device, torch.optim.Adagrad),
    "nested": lambda device: [nested(device) * 2, torch.softmax(nested(device), -1), nested("cpu").to(device)],
    "padded": lambda device: [nested(device).to_padded_tensor(-1.0)],
    "nested slopes": slopes_of_nested,
    "encoder": encoded,
    "attention": attended,
}


def dense_index(device: str) -> Any:
    return torch.tensor([1], device=device)


def numbers(tensor: Any) -> Any:
    if tensor.is_nested:
        return [numbers(row) for row in tensor.unbind()]
    return (tensor if tensor.layout is torch.strided else tensor.to_dense()).detach().cpu().tolist()


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_computes_what_it_computes_on_the_cpu_and_leaves_nothing(name: str) -> None:
    on_cpu, on_card = PROGRAMS[name]("cpu"), PROGRAMS[name]("cuda")

    assert {"cuda"} == {tensor.device.type for tensor in on_card}
    assert [tensor.layout for tensor in on_cpu] == [tensor.layout for tensor in on_card]
    assert list(map(numbers, on_cpu)) == list(map(numbers, on_card))
    del on_card
    gc.collect()
    assert 0 == torch.cuda.memory_allocated()


def test_a_sparse_tensor_takes_what_its_parts_take() -> None:
    sparse = torch.sparse_coo_tensor(torch.zeros(2, 1000, dtype=torch.int64), torch.ones(1000), (5, 5)).cuda(1)

    assert 16384 + 4096 == torch.cuda.memory_allocated(1)
    assert "cuda:1" == str(sparse.device)


def test_a_sparse_tensor_that_does_not_fit_says_so_and_leaves_nothing() -> None:
    tf.runtime.restart()
    tf.runtime.simulate_gpus(1, model="A100-40GB", memory=8, frameworks="torch")
    sparse = torch.sparse_coo_tensor(torch.zeros(2, 1 << 19, dtype=torch.int64), torch.ones(1 << 19), (5, 5))

    with pytest.raises(torch.OutOfMemoryError, match=r"CUDA out of memory\. Tried to allocate"):
        sparse.cuda()
    assert 0 == torch.cuda.memory_allocated()


def test_sparse_and_dense_on_two_devices_are_refused() -> None:
    with pytest.raises(RuntimeError, match="same device, but got mat2 is on cuda:1"):
        _ = coo("cuda:0") @ dense("cuda:1")


def test_what_the_cpu_lacks_for_a_layout_raises_by_name() -> None:
    with pytest.raises(NotImplementedError, match=r"aten\.sort.* layout Sparse"):
        coo("cuda").coalesce().sort()


def test_quantized_tensors_are_refused() -> None:
    with pytest.raises(NotImplementedError, match="Simulated GPUs do not support quantized tensors"):
        torch.quantize_per_tensor(torch.ones(3, device="cuda"), 0.1, 0, torch.qint8)


@pytest.mark.parametrize("make", [torch.Tensor.to_sparse, torch.Tensor.to_sparse_csr, torch.Tensor.to_sparse_csc])
def test_a_dense_tensor_becomes_sparse_on_its_own_device(make: Callable[[Any], Any]) -> None:
    for current, other in ((0, 1), (1, 0)):
        with torch.cuda.device(current):
            made = make(torch.eye(3, device=f"cuda:{other}"))

            assert (other, current) == (made.get_device(), torch.cuda.current_device())
            assert torch.equal(torch.eye(3), made.to_dense().cpu())
