"""Calls each operation of `torch.distributed` on GPU tensors, and on CPU tensors of the same values; both must agree.

The operations are drawn at random, the same in each process; values differ between the processes.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import _functional_collectives as functional

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
DTYPES = (*FLOATS, torch.int32, torch.int64, torch.uint8, torch.int8)
OPERATIONS: dict[str, Callable[[Draw], list[Any]]] = {}


def operation(function: Any) -> Any:
    """Adds an operation; it returns the tensors that it wrote."""
    OPERATIONS[function.__name__] = function
    return function


class Draw:
    """The choices of a call, which are the same in all processes, and this process's tensors."""

    def __init__(self, seed: int, device: Any, group: Any) -> None:
        """Draws the choices."""
        self.random, self.device, self.group = random.Random(seed), device, group
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self.dtype = self.random.choice(DTYPES)
        self.shape = [self.random.randint(1, 4) for _ in range(self.random.randint(1, 3))]
        self.is_async, self.root = self.random.random() < 0.5, self.random.randrange(self.size)
        self._values = torch.Generator().manual_seed(seed * self.size + self.rank)

    def tensor(self, shape: Any = None) -> Any:
        values = torch.randint(1, 5, shape or self.shape, generator=self._values)
        return values.to(self.dtype).to(self.device)

    def tensors(self) -> list[Any]:
        return [self.tensor() for _ in range(self.size)]

    def reduction(self) -> Any:
        names = ["SUM", "PRODUCT", "MIN", "MAX"]
        names += ["AVG"] if self.dtype in FLOATS else ["BAND", "BOR", "BXOR"]
        return getattr(dist.ReduceOp, self.random.choice(names))

    def call(self, function: Any, *args: Any, **options: Any) -> None:
        """Calls an operation, and waits for it if it is asynchronous."""
        work = function(*args, group=self.group, async_op=self.is_async, **options)
        if self.is_async:
            work.wait()


@operation
def broadcast(draw: Draw) -> list[Any]:
    x = draw.tensor()
    draw.call(dist.broadcast, x, src=draw.root)
    return [x]


@operation
def all_reduce(draw: Draw) -> list[Any]:
    x = draw.tensor()
    draw.call(dist.all_reduce, x, op=draw.reduction())
    return [x]


@operation
def reduce(draw: Draw) -> list[Any]:
    x = draw.tensor()
    draw.call(dist.reduce, x, draw.root, op=draw.reduction())
    return [x] if draw.rank == draw.root else []


@operation
def all_gather(draw: Draw) -> list[Any]:
    outputs = draw.tensors()
    draw.call(dist.all_gather, outputs, draw.tensor())
    return outputs


@operation
def all_gather_into_tensor(draw: Draw) -> list[Any]:
    x = draw.tensor()
    output = draw.tensor([draw.size * x.size(0), *x.shape[1:]])
    draw.call(dist.all_gather_into_tensor, output, x)
    return [output]


@operation
def reduce_scatter(draw: Draw) -> list[Any]:
    output = draw.tensor()
    draw.call(dist.reduce_scatter, output, draw.tensors(), op=draw.reduction())
    return [output]


@operation
def reduce_scatter_tensor(draw: Draw) -> list[Any]:
    output = draw.tensor()
    draw.call(dist.reduce_scatter_tensor, output, torch.cat(draw.tensors()), op=draw.reduction())
    return [output]


@operation
def gather(draw: Draw) -> list[Any]:
    outputs = draw.tensors() if draw.rank == draw.root else None
    draw.call(dist.gather, draw.tensor(), outputs, dst=draw.root)
    return outputs or []


@operation
def scatter(draw: Draw) -> list[Any]:
    output = draw.tensor()
    draw.call(dist.scatter, output, draw.tensors() if draw.rank == draw.root else None, src=draw.root)
    return [output]


@operation
def all_to_all(draw: Draw) -> list[Any]:
    outputs = draw.tensors()
    draw.call(dist.all_to_all, outputs, draw.tensors())
    return outputs


@operation
def all_to_all_single(draw: Draw) -> list[Any]:
    sizes = [[draw.random.randint(0, 3) for _ in range(draw.size)] for _ in range(draw.size)]
    received = [row[draw.rank] for row in sizes]
    output = draw.tensor([sum(received)])
    draw.call(dist.all_to_all_single, output, draw.tensor([sum(sizes[draw.rank])]), received, sizes[draw.rank])
    return [output]


@operation
def send_and_receive(draw: Draw) -> list[Any]:
    x, output = draw.tensor(), draw.tensor()
    following, previous = (draw.rank + 1) % draw.size, (draw.rank - 1) % draw.size
    if draw.is_async:
        works = [dist.isend(x, following, group=draw.group), dist.irecv(output, previous, group=draw.group)]
        for work in works:
            work.wait()
    elif draw.rank == 0:
        dist.send(x, following, group=draw.group)
        dist.recv(output, previous, group=draw.group)
    else:
        dist.recv(output, group=draw.group)
        dist.send(x, following, group=draw.group)
    return [output]


@operation
def batch(draw: Draw) -> list[Any]:
    x, output = draw.tensor(), draw.tensor()
    operations = [
        dist.P2POp(dist.isend, x, (draw.rank + 1) % draw.size, draw.group),
        dist.P2POp(dist.irecv, output, (draw.rank - 1) % draw.size, draw.group),
    ]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    return [output]


@operation
def functional_sums(draw: Draw) -> list[Any]:
    x = torch.cat(draw.tensors())
    group = draw.group or dist.group.WORLD
    scattered = functional.reduce_scatter_tensor(x, "sum", 0, group)
    return [functional.all_reduce(x, "max", group) + 0, functional.all_gather_tensor(scattered, 0, group) + 0]


@operation
def futures(draw: Draw) -> list[Any]:
    x = draw.tensor()
    future = dist.all_reduce(x, group=draw.group, async_op=True).get_future()
    return [future.then(lambda ended: ended.value()[0] + 1).wait()]


MISSING = frozenset({"all_to_all"})
"""Operations that the gloo of PyTorch 2.10 lacks."""


def check_calls(group: Any, seeds: range) -> int:
    """Compares calls on GPU tensors with calls on CPU tensors; returns their number."""
    host, calls = dist.new_group(backend="gloo"), 0
    for seed in seeds:
        for number, (name, function) in enumerate(OPERATIONS.items()):
            device = torch.device("cuda", dist.get_rank())
            try:
                expected = function(Draw(seed * 100 + number, torch.device("cpu"), host))
            except RuntimeError as error:
                if name not in MISSING or "does not support" not in str(error):
                    raise
                continue
            calls += 1
            found = function(Draw(seed * 100 + number, device, group))
            assert len(expected) == len(found), name
            for one, other in zip(expected, found, strict=True):
                assert other.device == device, (name, other.device)
                assert torch.equal(one, other.cpu()), (name, seed, one, other)
    return calls


def check_objects(group: Any, device: Any) -> None:
    """Sends Python objects."""
    rank, size = dist.get_rank(), dist.get_world_size()
    gathered: list[Any] = [None] * size
    dist.all_gather_object(gathered, {"rank": rank}, group=group)
    assert [{"rank": each} for each in range(size)] == gathered
    objects = [f"of {rank}", rank]
    dist.broadcast_object_list(objects, src=1, group=group)
    assert ["of 1", 1] == objects
    received: list[Any] = [None]
    dist.scatter_object_list(received, [[each] for each in range(size)] if rank == 0 else None, src=0, group=group)
    assert [[rank]] == received
    dist.barrier(group=group, device_ids=[rank])
    dist.barrier(group=group, async_op=True).wait()


def main() -> None:
    """Checks each backend's names."""
    backend, rank = sys.argv[1], int(os.environ["RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group(backend, timeout=timedelta(seconds=60))
    device = torch.device("cuda", rank)
    calls = check_calls(None, range(int(sys.argv[2])))
    check_objects(None, device)
    other = dist.new_group(backend="gloo")
    calls += check_calls(other, range(1))
    dist.monitored_barrier(other)
    pair, ones = dist.new_group([0, 1]), torch.ones(2, device=device)
    if rank < 2:
        dist.all_reduce(ones, group=pair)
        assert ones.tolist() == [2.0, 2.0]
    if rank == 0:
        print(f"{dist.get_backend()}: {calls} calls agree", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
