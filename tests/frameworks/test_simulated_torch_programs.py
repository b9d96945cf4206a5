"""Tests that what PyTorch programs are made of computes on simulated GPUs, bit for bit, what it computes on the CPU."""

from __future__ import annotations

import copy
import gc
import io
import pickle
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from nbtf._devices.discovery import gpus, simulated_machine

torch: Any = pytest.importorskip("torch")
nn: Any = torch.nn
functional: Any = torch.nn.functional


@pytest.fixture(autouse=True)
def devices() -> Iterator[None]:
    from nbtf._frameworks.torch.simulation.switch import SWITCH

    SWITCH.on(gpus(simulated_machine(4, "A100 80"), {}))
    yield
    gc.collect()
    in_use = [torch.cuda.memory_allocated(number) for number in range(4)]
    SWITCH.off()
    assert [0, 0, 0, 0] == in_use, "all memory is given back"


def with_gradients(module: Any, *inputs: Any) -> list[Any]:
    result = module(*inputs)
    result = result[0] if isinstance(result, tuple) else result
    result.square().sum().backward()
    return [result, *[parameter.grad for parameter in module.parameters()]]


def convolutions(device: str) -> list[Any]:
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.3), nn.Flatten()
    ).to(device)
    return [*with_gradients(model, torch.randn(4, 3, 8, 8).to(device)), *model.buffers()]


def recurrent(device: str) -> list[Any]:
    layers = [nn.LSTM(5, 7, 2, bidirectional=True), nn.GRU(5, 7, batch_first=True), nn.RNN(5, 7, dropout=0.1)]
    cells = [nn.LSTMCell(5, 7), nn.GRUCell(5, 7)]
    results = [with_gradients(layer.to(device), torch.randn(3, 4, 5).to(device)) for layer in layers]
    results += [with_gradients(cell.to(device), torch.randn(3, 5).to(device)) for cell in cells]
    return [tensor for tensors in results for tensor in tensors]


def packed(device: str) -> list[Any]:
    sequences = nn.utils.rnn.pack_padded_sequence(torch.randn(4, 3, 5).to(device), [4, 3, 2])
    result, _ = nn.LSTM(5, 7).to(device)(sequences)
    return [result.data, nn.utils.rnn.pad_packed_sequence(result)[0]]


def transformer(device: str) -> list[Any]:
    model = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True).to(device)
    results = with_gradients(model, torch.randn(2, 6, 16).to(device))
    with torch.no_grad():
        return [*results, model.eval()(torch.randn(2, 6, 16).to(device))]


def attention(device: str) -> list[Any]:
    query, key, value = (torch.randn(2, 4, 6, 8).to(device).requires_grad_() for _ in range(3))
    result = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
    result.sum().backward()
    mask = torch.ones(6, 6, dtype=torch.bool).tril().to(device)
    masked = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=0.1)
    return [result, query.grad, key.grad, value.grad, masked]


def mixed_precision(device: str) -> list[Any]:
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1)).to(device)
    optimizer, scaler = torch.optim.SGD(model.parameters(), 0.1), torch.amp.GradScaler(device)
    for _ in range(3):
        optimizer.zero_grad()
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = model(torch.randn(4, 8).to(device)).float().square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    return list(model.parameters())


def checkpointed(device: str) -> list[Any]:
    from torch.utils.checkpoint import checkpoint

    model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.ReLU()).to(device)
    x = torch.randn(4, 8).to(device).requires_grad_()
    results = [functional.dropout(checkpoint(model, x, use_reentrant=reentrant)) for reentrant in (True, False)]
    torch.stack(results).sum().backward()
    return [*results, x.grad, torch.rand(3).to(device)]


def own_function(device: str) -> list[Any]:
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return 2 * ctx.saved_tensors[0] * gradient

    x = torch.randn(3).to(device).requires_grad_()
    y = Square.apply(x)
    seen: list[Any] = []
    y.register_hook(seen.append)
    y.sum().backward()
    return [x.grad, *seen]


def transforms(device: str) -> list[Any]:
    from torch.func import grad, jacrev, jvp, vmap

    weights, x = torch.randn(4, 3).to(device), torch.randn(5, 3).to(device)
    by_example = vmap(grad(lambda weights, x: (weights @ x).square().sum()), (None, 0))(weights, x)
    return [by_example, jacrev(torch.sin)(x[0]), jvp(torch.sin, (x,), (x,))[1]]


PROGRAMS: Sequence[Callable[[str], list[Any]]] = (
    convolutions,
    recurrent,
    packed,
    transformer,
    attention,
    mixed_precision,
    checkpointed,
    own_function,
    transforms,
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", PROGRAMS, ids=[program.__name__ for program in PROGRAMS])
def test_a_program_computes_what_it_computes_on_the_cpu(program: Callable[[str], list[Any]]) -> None:
    torch.manual_seed(0)
    expected = program("cpu")
    torch.manual_seed(0)
    actual = program("cuda")

    assert {"cuda"} == {tensor.device.type for tensor in actual}
    assert [True] * len(expected) == [
        torch.equal(tensor.detach(), simulated.detach().cpu())
        for tensor, simulated in zip(expected, actual, strict=True)
    ]


@pytest.mark.parametrize(
    ("location", "device"), [(None, "cuda:1"), ("cpu", "cpu"), ({"cuda:1": "cuda:0"}, "cuda:0"), ("cuda:3", "cuda:3")]
)
def test_a_state_is_saved_and_loaded(location: Any, device: str) -> None:
    model, file = nn.Linear(3, 3).cuda(1), io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)

    state = torch.load(file, map_location=location)

    assert torch.device(device) == state["weight"].device
    assert torch.equal(model.weight.cpu(), state["weight"].cpu())


def test_copies_are_on_the_same_device_and_own_their_memory() -> None:
    x = torch.ones(3, device="cuda:1")

    copies = [copy.deepcopy(x), pickle.loads(pickle.dumps(x))]

    assert [x.device] * 2 == [each.device for each in copies]
    assert 3 * 512 == torch.cuda.memory_allocated(1)


def test_data_is_pinned_and_copied() -> None:
    dataset = torch.utils.data.TensorDataset(torch.arange(8.0))

    batches = [batch for (batch,) in torch.utils.data.DataLoader(dataset, 4, pin_memory=True)]

    assert [True, True] == [batch.is_pinned() for batch in batches]
    assert 28.0 == sum(batch.to("cuda", non_blocking=True).sum().item() for batch in batches)


@pytest.mark.filterwarnings("ignore")
def test_data_parallel_splits_over_the_devices() -> None:
    model = nn.DataParallel(nn.Linear(4, 2).cuda())
    x = torch.randn(8, 4)

    model(x.cuda()).sum().backward()

    gradient = model.module.weight.grad.clone()
    model.zero_grad()
    model.module.cpu()(x).sum().backward()
    assert torch.allclose(gradient.cpu(), model.module.weight.grad, rtol=1e-5)
    assert all(torch.cuda.max_memory_allocated(number) for number in range(4))


def test_a_device_that_is_seeded_by_itself_draws_its_own_numbers() -> None:
    torch.manual_seed(0)
    torch.cuda.manual_seed(5)
    first = torch.rand(3, device="cuda")
    of_cpu = torch.rand(3)
    torch.cuda.manual_seed(5)

    assert torch.equal(first, torch.rand(3, device="cuda"))
    torch.manual_seed(0)
    assert torch.equal(of_cpu, torch.rand(3))


@pytest.mark.parametrize("seed", [0, -1, 1 << 40])
@pytest.mark.parametrize("seed_cards", [torch.cuda.manual_seed, torch.cuda.manual_seed_all])
def test_a_device_that_is_given_the_seed_of_all_computes_what_the_cpu_does(seed_cards: Any, seed: int) -> None:
    def draw(device: str) -> Any:
        torch.manual_seed(seed)
        weights = torch.randn(3)  # layers are made before they go to their device
        seed_cards(seed)
        return weights, torch.rand(3, device=device).cpu(), torch.randperm(5, device=device).cpu(), torch.rand(2)

    of_cpu = draw("cpu")

    assert all(map(torch.equal, of_cpu, draw("cuda")))
    seed_cards(seed)  # it has drawn: now it begins anew, by itself
    assert not torch.equal(of_cpu[1], torch.rand(3, device="cuda").cpu())


def test_a_generator_belongs_to_a_device() -> None:
    generator = torch.Generator(device="cuda")
    first = torch.rand(3, device="cuda", generator=generator.manual_seed(1))

    assert torch.equal(first, torch.rand(3, device="cuda", generator=generator.manual_seed(1)))
    with pytest.raises(RuntimeError, match="Expected a 'cuda' device type for generator but found 'cpu'"):
        torch.rand(3, device="cuda", generator=torch.Generator())


def test_threads_have_current_devices_and_backward_passes_of_their_own() -> None:
    gradients: list[int] = []

    def work(number: int) -> None:
        with torch.cuda.device(number):
            x = torch.ones(10, device="cuda", requires_grad=True)
        (x * 2).sum().backward()
        gradients.append(x.grad.device.index)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [0, 1, 2, 3] == sorted(gradients)
    assert 0 == torch.cuda.current_device()


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "numpy": (lambda: torch.ones(2, device="cuda").numpy(), TypeError, "can't convert cuda:0 device type tensor"),
    "ordinal": (lambda: torch.ones(2, device="cuda:7"), RuntimeError, "invalid device ordinal"),
    "matmul": (
        lambda: torch.mm(torch.ones(2, 2, device="cuda"), torch.ones(2, 2)),
        RuntimeError,
        "same device, but got mat2 is on cpu, different from other tensors on cuda:0 .*wrapper_CUDA_mm",
    ),
    "add": (lambda: torch.ones(2, device="cuda") + torch.ones(2), RuntimeError, "two devices, cuda:0 and cpu!"),
    "index": (
        lambda: torch.ones(3, device="cuda")[torch.tensor([0], device="cuda:1")],
        RuntimeError,
        "indices should be either on cpu or on the same device",
    ),
    "graphs": (lambda: torch.cuda.CUDAGraph(), NotImplementedError, "do not support CUDA graphs"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_card_refuses_or_a_simulated_one_lacks_raises_by_name(name: str) -> None:
    call, error, words = REFUSED[name]

    with pytest.raises(error, match=words):
        call()


def test_an_index_and_a_number_on_the_cpu_go_with_every_device() -> None:
    x = torch.arange(5.0, device="cuda:2")

    assert [1.0, 2.0] == x[torch.tensor([1, 2])].tolist()
    assert [0.0, 3.0] == (x[:2] * torch.tensor(3.0)).tolist()


def test_views_in_place_and_outputs_that_grow() -> None:
    x = torch.arange(6.0, device="cuda").reshape(2, 3)
    out = torch.empty(0, device="cuda")
    torch.add(x.clone().transpose_(0, 1), 1, out=out)

    assert [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]] == out.tolist()
    assert (4,) == torch.ones(2, device="cuda").resize_(4).shape


def test_a_gradient_that_is_known_to_be_zero_has_memory() -> None:
    x = torch.ones(1000, device="cuda", requires_grad=True)

    (gradient,) = torch.autograd.grad(x.sgn().sum(), x)

    assert 0.0 == gradient.abs().sum().item()


def test_tensor_types_of_older_programs() -> None:
    x = torch.cuda.FloatTensor([1, 2])

    assert ("cuda:0", torch.float32) == (str(x.device), x.dtype)
    assert "torch.cuda.LongTensor" == torch.ones(2).type("torch.cuda.LongTensor").type()
    assert (True, False) == (isinstance(x, torch.cuda.FloatTensor), isinstance(x.cpu(), torch.cuda.FloatTensor))
    assert "torch.DoubleTensor" == torch.ones(2).type(torch.DoubleTensor).type()


def test_what_is_compiled_runs_eagerly_and_says_so() -> None:
    with pytest.warns(RuntimeWarning, match="runs eagerly"):
        double = torch.compile(lambda x: x * 2)

    assert [2.0] == double(torch.ones(1, device="cuda")).tolist()
