"""Trains on several GPUs as people do, started by torchrun: each case compares its losses with those of one process."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

SAMPLES, BATCH, STEPS, TOLERANCE = 16, 8, 4, 1e-6
CASES: dict[str, Callable[[], tuple[list[float], list[float]]]] = {}

Model = Callable[[], nn.Module]


def case(function: Callable[[], tuple[list[float], list[float]]]) -> Any:
    """Adds a function that returns the losses of all processes together, and those of one process alone."""
    CASES[function.__name__] = function
    return function


def perceptron() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(10, 10), nn.ReLU(), nn.Linear(10, 5))


def normalized() -> nn.Module:
    torch.manual_seed(2)
    return nn.Sequential(nn.Linear(10, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Linear(12, 5))


class Branches(nn.Module):
    """A model of which a step leaves out some parameters."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.left, self.right, self.out = nn.Linear(10, 10), nn.Linear(10, 10), nn.Linear(10, 5)
        self.calls = 0

    def forward(self, x: Any) -> Any:
        self.calls += 1
        return self.out((self.left if self.calls % 2 else self.right)(x).relu())


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: Any) -> Any:
        heads = (each.unflatten(-1, (2, -1)).transpose(1, 2) for each in self.qkv(self.norm(x)).chunk(3, -1))
        attended = functional.scaled_dot_product_attention(*heads, is_causal=True).transpose(1, 2).flatten(2)
        x = x + self.out(attended)
        return x + self.mlp(x)


class GPT(nn.Module):
    """A small GPT, whose embedding and head share weights."""

    def __init__(self, words: int = 24, width: int = 16, length: int = 8) -> None:
        super().__init__()
        torch.manual_seed(4)
        self.embedding, self.positions = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList([Block(width) for _ in range(2)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens: Any) -> Any:
        x = self.embedding(tokens) + self.positions(torch.arange(tokens.size(1), device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def gpu() -> Any:
    return torch.device("cuda", int(os.environ["LOCAL_RANK"]))


def numbers() -> TensorDataset:
    generator = torch.Generator().manual_seed(5)
    return TensorDataset(torch.randn(SAMPLES, 10, generator=generator), torch.randn(SAMPLES, 5, generator=generator))


def alone(model: Model, optimizer: Any, loss: Any = functional.mse_loss, dataset: Any = None) -> list[float]:
    """Returns the losses of one process with the whole batch."""
    network = model().to(gpu())
    steps, losses = optimizer(network.parameters()), list[float]()
    for _ in range(STEPS):
        for inputs, targets in DataLoader(dataset or numbers(), BATCH):
            steps.zero_grad()
            value = loss(network(inputs.to(gpu())), targets.to(gpu()))
            value.backward()
            steps.step()
            losses.append(value.item())
    return losses


def together(network: nn.Module, steps: Any, loss: Any = functional.mse_loss, dataset: Any = None) -> list[float]:
    """Returns the mean losses of all processes, each of which has its part of the batch."""
    dataset, losses = dataset or numbers(), list[float]()
    sampler = DistributedSampler(dataset, shuffle=False)
    for epoch in range(STEPS):
        sampler.set_epoch(epoch)
        for inputs, targets in DataLoader(dataset, BATCH // dist.get_world_size(), sampler=sampler):
            steps.zero_grad()
            value = loss(network(inputs.to(gpu())), targets.to(gpu()))
            value.backward()
            steps.step()
            losses.append(mean(value))
    return losses


def mean(value: Any) -> float:
    """Returns the mean of a number of each process."""
    value = value.detach().clone()
    dist.all_reduce(value, op=dist.ReduceOp.AVG)
    return value.item()


def sgd(parameters: Any) -> Any:
    return torch.optim.SGD(parameters, lr=0.05, momentum=0.9)


def adam(parameters: Any) -> Any:
    return torch.optim.AdamW(parameters, lr=0.01)


def compared(
    model: Model, optimizer: Any = sgd, prepare: Any = None, **options: Any
) -> tuple[list[float], list[float]]:
    network = model().to(gpu())
    if prepare is not None:
        network = prepare(network)
    parallel = DistributedDataParallel(network, device_ids=[gpu().index], **options)
    return together(parallel, optimizer(parallel.parameters())), alone(model, optimizer)


@case
def tutorial() -> Any:
    return compared(perceptron)


@case
def views_of_buckets() -> Any:
    return compared(perceptron, adam, gradient_as_bucket_view=True, bucket_cap_mb=0.0001)


@case
def static_graph() -> Any:
    return compared(perceptron, static_graph=True)


@case
def unused_parameters() -> Any:
    return compared(Branches, find_unused_parameters=True)


@case
def synchronized_norms() -> Any:
    return compared(normalized, prepare=nn.SyncBatchNorm.convert_sync_batchnorm)


def reduced(bucket: Any) -> Any:
    """Returns a future of the mean of a bucket."""
    future = dist.all_reduce(bucket.buffer().div_(dist.get_world_size()), async_op=True).get_future()
    return future.then(lambda ended: ended.value()[0])


@case
def hooks() -> Any:
    first, second = (DistributedDataParallel(perceptron().to(gpu()), device_ids=[gpu().index]) for _ in range(2))
    first.register_comm_hook(None, lambda _state, bucket: reduced(bucket))
    second.register_comm_hook(None, default_hooks.allreduce_hook)
    losses = together(first, sgd(first.parameters()))
    return losses + together(second, sgd(second.parameters())), alone(perceptron, sgd) * 2


@case
def shards_of_the_optimizer() -> Any:
    parallel = DistributedDataParallel(perceptron().to(gpu()), device_ids=[gpu().index])
    steps = ZeroRedundancyOptimizer(parallel.parameters(), torch.optim.AdamW, lr=0.01)
    return together(parallel, steps), alone(perceptron, adam)


@case
def shards_of_the_model() -> Any:
    network: Any = perceptron().to(gpu())
    for layer in (network[0], network[2], network):
        fully_shard(layer)
    return together(network, adam(network.parameters())), alone(perceptron, adam)


@case
def gpt_with_accumulated_gradients() -> Any:
    tokens = torch.randint(24, (STEPS, 2, BATCH, 9), generator=torch.Generator().manual_seed(6)).to(gpu())

    def losses(network: Any, rows: slice, is_parallel: bool) -> list[float]:
        steps, values = adam(network.parameters()), list[float]()
        for step in tokens:
            total = torch.zeros((), device=gpu())
            for number, micro in enumerate(step):
                is_last = number == len(step) - 1
                with network.no_sync() if is_parallel and not is_last else contextlib.nullcontext():
                    logits = network(micro[rows, :-1])
                    value = functional.cross_entropy(logits.flatten(0, 1), micro[rows, 1:].flatten()) / len(step)
                    value.backward()
                total += value.detach()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            steps.step()
            steps.zero_grad(set_to_none=True)
            values.append(mean(total) if is_parallel else total.item())
        return values

    parallel = DistributedDataParallel(GPT().to(gpu()), device_ids=[gpu().index])
    own = slice(dist.get_rank(), None, dist.get_world_size())
    return losses(parallel, own, True), losses(GPT().to(gpu()), slice(None), False)


@case
def mixed_precision() -> Any:
    def losses(network: Any, is_parallel: bool) -> list[float]:
        steps, scaler, values = sgd(network.parameters()), torch.amp.GradScaler("cuda"), list[float]()
        inputs, targets = (each.to(gpu()) for each in numbers().tensors)
        own = slice(dist.get_rank(), None, dist.get_world_size()) if is_parallel else slice(None)
        for _ in range(STEPS):
            steps.zero_grad()
            with torch.autocast("cuda", torch.bfloat16):
                value = functional.mse_loss(network(inputs[own]).float(), targets[own])
            scaler.scale(value).backward()
            scaler.step(steps)
            scaler.update()
            values.append(mean(value) if is_parallel else value.item())
        return values

    parallel = DistributedDataParallel(perceptron().to(gpu()), device_ids=[gpu().index])
    # Weights have rounded gradients here, which differ in the last bit of bfloat16.
    return [
        [round(value, 2) for value in losses(*each)] for each in ((parallel, True), (perceptron().to(gpu()), False))
    ]


def main() -> None:
    """Runs the cases that are named, or all; the process fails if any losses differ."""
    torch.cuda.set_device(gpu())
    dist.init_process_group("nccl", device_id=gpu())
    differing = []
    for name in sys.argv[1:] or CASES:
        found, expected = CASES[name]()
        difference = max(abs(one - other) for one, other in zip(found, expected, strict=True))
        if dist.get_rank() == 0:
            print(f"{name}: {len(found)} losses, difference {difference:.1e}", flush=True)
        differing += [name] if difference > TOLERANCE or found[0] == found[-1] else []
    dist.destroy_process_group()
    if differing:
        sys.exit(f"Other losses than one process: {', '.join(differing)}")


if __name__ == "__main__":
    main()
