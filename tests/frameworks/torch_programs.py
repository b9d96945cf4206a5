"""Programs as people write them with PyTorch: each returns what it has computed, the same whenever it runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch import nn
from torch.func import grad, jacrev, vmap
from torch.nn import functional
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

Program = Callable[[], list[Any]]
PROGRAMS: dict[str, Program] = {}


def program(function: Program) -> Program:
    """Adds a program."""
    PROGRAMS[function.__name__] = function
    return function


def train(model: nn.Module, optimizer: Any, inputs: Any, targets: Any, loss: Any, steps: int = 3) -> list[Any]:
    """An ordinary loop."""
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        value = loss(model(inputs), targets)
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return [*losses, *model.parameters()]


def perceptron() -> nn.Sequential:
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))


class Attention(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Any) -> Any:
        q, k, v = self.qkv(x).chunk(3, -1)
        return self.out(functional.scaled_dot_product_attention(q, k, v, is_causal=True))


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.attn = nn.LayerNorm(width), Attention(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Any) -> Any:
        x = x + self.attn(self.norm(x))
        return x + self.mlp(x)


class GPT(nn.Module):
    def __init__(self, layers: int = 2, width: int = 16) -> None:
        super().__init__()
        self.embedding = nn.Embedding(32, width)
        self.blocks = nn.ModuleList([Block(width) for _ in range(layers)])
        self.head = nn.Linear(width, 32, bias=False)

    def forward(self, tokens: Any) -> Any:
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


@program
def training_with_sgd() -> list[Any]:
    model = perceptron()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    return train(model, optimizer, torch.randn(8, 8), torch.randint(4, (8,)), functional.cross_entropy)


@program
def training_with_adam() -> list[Any]:
    model = perceptron()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, amsgrad=True)
    return train(model, optimizer, torch.randn(8, 8), torch.randn(8, 4), nn.MSELoss())


@program
def training_with_foreach() -> list[Any]:
    model = perceptron()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, foreach=True)
    return train(model, optimizer, torch.randn(8, 8), torch.randn(8, 4), functional.smooth_l1_loss)


@program
def convolutions() -> list[Any]:
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 4)
    )
    optimizer = torch.optim.RMSprop(model.parameters(), lr=0.01)
    return train(model, optimizer, torch.randn(4, 3, 8, 8), torch.randint(4, (4,)), functional.cross_entropy)


@program
def recurrence() -> list[Any]:
    model, inputs = nn.LSTM(8, 16, num_layers=2, batch_first=True), torch.randn(4, 6, 8)
    output, (hidden, cell) = model(inputs)
    output.sum().backward()
    return [output, hidden, cell, *[weight.grad for weight in model.parameters()]]


@program
def transformer() -> list[Any]:
    model, tokens = GPT(), torch.randint(32, (2, 9))

    def loss(logits: Any, targets: Any) -> Any:
        return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())

    return train(model, torch.optim.AdamW(model.parameters()), tokens[:, :-1], tokens[:, 1:], loss)


@program
def encoder_layer() -> list[Any]:
    layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.1, batch_first=True)
    output = layer(torch.randn(2, 5, 16))
    output.mean().backward()
    layer.eval()
    with torch.no_grad():
        return [output, layer(torch.randn(2, 5, 16)), layer.linear1.weight.grad]


@program
def generating_with_a_cache() -> list[Any]:
    attention, x = Attention(16), torch.randn(1, 1, 16)
    keys, values, outputs = [], [], []
    with torch.inference_mode():
        for _ in range(4):
            q, k, v = attention.qkv(x).chunk(3, -1)
            keys.append(k)
            values.append(v)
            x = attention.out(functional.scaled_dot_product_attention(q, torch.cat(keys, 1), torch.cat(values, 1)))
            outputs.append(x.clone())
    return outputs


@program
def automatic_mixed_precision() -> list[Any]:
    model, x = perceptron(), torch.randn(8, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torch.autocast("cpu", torch.bfloat16):
        value = model(x).square().mean()
    value.backward()
    optimizer.step()
    return [value, *model.parameters()]


@program
def checkpoints() -> list[Any]:
    model, x = nn.ModuleList([nn.Linear(8, 8) for _ in range(3)]), torch.randn(4, 8, requires_grad=True)
    y = x
    for layer in model:
        y = checkpoint(layer, y, use_reentrant=False).relu()
    y.sum().backward()
    return [y, x.grad, *[weight.grad for weight in model.parameters()]]


@program
def reentrant_checkpoints() -> list[Any]:
    layer, x = nn.Linear(8, 8), torch.randn(4, 8, requires_grad=True)
    y = checkpoint(layer, x, use_reentrant=True)
    y.sum().backward()
    return [y, x.grad, layer.weight.grad]


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:
        (x,) = ctx.saved_tensors
        return grad_output * 3 * x * x


@program
def function_of_ones_own() -> list[Any]:
    x = torch.randn(5, requires_grad=True)
    y = Cube.apply(x)
    y.sum().backward()
    return [y, x.grad]


@program
def functions_over_batches() -> list[Any]:
    weights, x = torch.randn(3, 4), torch.randn(5, 4)

    def loss(weight: Any, row: Any) -> Any:
        return (weight @ row).tanh().sum()

    return [vmap(loss, (None, 0))(weights, x), vmap(grad(loss), (None, 0))(weights, x), jacrev(loss)(weights, x[0])]


@program
def hooks() -> list[Any]:
    model, heard = perceptron(), []
    model[0].register_forward_pre_hook(lambda module, args: (args[0] * 2,))
    model[1].register_forward_hook(lambda module, args, output: output + 1)
    model[2].register_full_backward_hook(lambda module, before, after: (before[0] * 0.5,))
    model[2].weight.register_hook(lambda gradient: gradient * 2)
    y = model(torch.randn(3, 8))
    y.register_hook(heard.append)
    y.sum().backward()
    return [y, *heard, *[weight.grad for weight in model.parameters()]]


@program
def second_derivatives() -> list[Any]:
    x = torch.randn(4, requires_grad=True)
    (first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    return [first, second]


@program
def accumulated_gradients() -> list[Any]:
    model = perceptron()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in torch.randn(4, 2, 8):
        (model(x).square().mean() / 4).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return [*model.parameters()]


@program
def loader() -> list[Any]:
    data = TensorDataset(torch.arange(12.0).reshape(6, 2), torch.arange(6))
    return [value for batch in DataLoader(data, batch_size=2, shuffle=True) for value in batch]


@program
def loader_with_workers() -> list[Any]:
    data = TensorDataset(torch.arange(12.0).reshape(6, 2), torch.arange(6))
    return [value * 2 for batch in DataLoader(data, batch_size=3, num_workers=1) for value in batch]


@program
def threads() -> list[Any]:
    results: dict[int, Any] = {}

    def work(seed: int) -> None:
        results[seed] = torch.randn(3, 3, generator=torch.Generator().manual_seed(seed)).exp()

    workers = [threading.Thread(target=work, args=[seed]) for seed in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return [results[seed] for seed in sorted(results)]


@program
def pool_of_threads() -> list[Any]:
    with ThreadPoolExecutor(2) as pool:
        return [*pool.map(lambda seed: torch.full((3,), float(seed)).sqrt(), range(4))]


@program
def exceptions() -> list[Any]:
    model, x = perceptron(), torch.randn(2, 8)
    texts = []
    for wrong in (torch.randn(2, 7), torch.ones(2, 8, dtype=torch.int64)):
        try:
            model(wrong)
        except RuntimeError as error:
            texts.append(str(error))
    return [*texts, model(x)]


@program
def gan() -> list[Any]:
    generator, critic = nn.Linear(2, 4), nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
    optimizers = [torch.optim.Adam(each.parameters(), lr=0.01) for each in (generator, critic)]
    real = torch.randn(6, 4)
    for _ in range(2):
        fake = generator(torch.randn(6, 2))
        optimizers[1].zero_grad()
        (functional.softplus(-critic(real)) + functional.softplus(critic(fake.detach()))).mean().backward()
        optimizers[1].step()
        optimizers[0].zero_grad()
        functional.softplus(-critic(fake)).mean().backward()
        optimizers[0].step()
    return [*generator.parameters(), *critic.parameters()]


@program
def adapters() -> list[Any]:
    frozen, a, b = nn.Linear(8, 8), nn.Parameter(torch.randn(8, 2)), nn.Parameter(torch.zeros(2, 8))
    frozen.requires_grad_(False)
    x = torch.randn(4, 8)
    (frozen(x) + x @ a @ b).square().mean().backward()
    return [a.grad, b.grad]


@program
def state_saved_and_loaded() -> list[Any]:
    model, other = perceptron(), perceptron()
    other.load_state_dict({name: value.clone() for name, value in model.state_dict().items()})
    other.to(torch.float64)
    return [*other.parameters(), other(torch.randn(2, 8, dtype=torch.float64))]


@program
def lbfgs() -> list[Any]:
    x = torch.tensor([2.0, -1.0], requires_grad=True)
    optimizer = torch.optim.LBFGS([x], max_iter=5)

    def closure() -> Any:
        optimizer.zero_grad()
        value = ((x - 3) ** 2).sum()
        value.backward()
        return value

    optimizer.step(closure)
    return [x]


@program
def indexing_and_in_place() -> list[Any]:
    x = torch.arange(24.0).reshape(2, 3, 4)
    x[:, 1] += 10
    x[x > 20] = 0
    x.transpose(0, 2).mul_(2)
    return [x, x.nonzero(), x.topk(2).values, x.tolist(), bool((x > 3).any())]


@program
def complex_and_fourier() -> list[Any]:
    x = torch.randn(16, requires_grad=True)
    y = torch.fft.rfft(x)
    y.abs().sum().backward()
    return [y, x.grad, torch.view_as_real(y)]


@program
def linear_algebra() -> list[Any]:
    a = torch.randn(4, 4, requires_grad=True)
    value = torch.linalg.slogdet(a @ a.T + torch.eye(4)).logabsdet
    value.backward()
    return [value, a.grad, *torch.linalg.eigh(a.detach() @ a.detach().T)]


@program
def sparse_and_embeddings() -> list[Any]:
    bag = nn.EmbeddingBag(10, 4, sparse=True)
    bag(torch.tensor([1, 2, 4, 5]), torch.tensor([0, 2])).sum().backward()
    gradient: Any = bag.weight.grad
    return [gradient.to_dense(), torch.eye(3).to_sparse() @ torch.ones(3, 1)]


@program
def scripts() -> list[Any]:
    traced: Any = torch.jit.trace(perceptron().eval(), torch.randn(1, 8))
    return [traced(torch.randn(2, 8))]


@program
def generators() -> list[Any]:
    def batches() -> Iterator[Any]:
        with torch.no_grad():
            for index in range(3):
                yield torch.randn(2, 8) + index

    model = perceptron()
    return [model(batch) for batch in batches()]
