"""Changes that could reduce a program's memory, each with a way to run the program with it."""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import import_module
from typing import Any, NamedTuple
from unittest.mock import patch

from nbtf.notebook.prediction.batches import BatchSize
from nbtf.notebook.prediction.program import Cell


class Change(NamedTuple):
    """A change as text, the code that makes it, and how to run it: with other cells, or in a context."""

    title: str
    code: str
    cells: Sequence[Cell] | None = None
    context: Callable[[], AbstractContextManager[Any]] = nullcontext


def changes(torch: Any, cells: Sequence[Cell], batch: BatchSize) -> list[Change]:
    """Returns the changes that can be tried and that the program does not have yet."""
    source = "\n".join(cell.source for cell in cells)
    possible: list[Change] = []
    if batch and batch.value > 1:
        half = batch.value // 2
        possible.append(Change(f"half the batch ({half})", f"{batch.name} = {half}", batch.cells(half)))
    if "autocast" not in source:
        possible.append(
            Change(
                "ops in bfloat16 where it is safe",
                'with torch.autocast("cuda", dtype=torch.bfloat16): ...',
                context=lambda: torch.autocast("cuda", dtype=torch.bfloat16),
            )
        )
    if "set_default_dtype" not in source and ".half()" not in source and "bfloat16" not in source:
        possible.append(
            Change("everything in bfloat16", "model.to(torch.bfloat16)", context=lambda: _default_dtype(torch))
        )
    if "checkpoint" not in source:
        possible.append(
            Change(
                "activations of repeated blocks recomputed",
                "torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)",
                context=lambda: _checkpointed(torch),
            )
        )
    if "Adam" in source:
        possible.append(Change("SGD instead of Adam", "torch.optim.SGD(...)", context=lambda: _sgd(torch)))
    if "torch.optim" in source and "foreach" not in source and "fused" not in source:
        possible.append(
            Change("one parameter at a time", "foreach=False for the optimizer", context=lambda: _one_by_one(torch))
        )
    if "set_to_none=False" in source:
        freeing = [cell._replace(source=cell.source.replace("set_to_none=False", "set_to_none=True")) for cell in cells]
        possible.append(Change("gradients freed after each step", "zero_grad(set_to_none=True)", freeing))
    return possible


@contextmanager
def _default_dtype(torch: Any) -> Generator[None]:
    previous = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        yield
    finally:
        torch.set_default_dtype(previous)


def _sgd(torch: Any) -> AbstractContextManager[Any]:
    """Replaces Adam and its variants by SGD in a block."""

    def make(params: Any, lr: Any = 1e-3, **_: Any) -> Any:
        return torch.optim.SGD(params, lr=lr)

    return patch.multiple(torch.optim, Adam=make, AdamW=make)


def _one_by_one(torch: Any) -> AbstractContextManager[Any]:
    """Makes optimizers update one parameter at a time by default, in a block."""
    optimizer = torch.optim.Optimizer
    step = optimizer.add_param_group

    def add_param_group(self: Any, group: Any) -> None:
        if self.defaults.get("foreach", False) is None:
            self.defaults["foreach"] = False
        step(self, group)

    return patch.object(optimizer, "add_param_group", add_param_group)


def _checkpointed(torch: Any) -> AbstractContextManager[Any]:
    """Makes a model's repeated blocks keep only their inputs, and run again in the backward pass."""
    checkpoints: Any = import_module("torch.utils.checkpoint")
    module_class: Any = torch.nn.Module
    checkpoint: Any = checkpoints.checkpoint
    call, blocks, inside = module_class.__call__, dict[int, bool](), [False]

    def is_block(module: Any) -> bool:
        if id(module) not in blocks:
            blocks.update(
                dict.fromkeys([id(each) for each in gc.get_objects() if isinstance(each, module_class)], False)
            )
            blocks.update(dict.fromkeys(map(id, _repeated_blocks(torch)), True))
        return blocks[id(module)]

    def call_inside(*args: Any, **kwargs: Any) -> Any:
        inside[0] = True
        try:
            return call(*args, **kwargs)
        finally:
            inside[0] = False

    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        if inside[0] or not torch.is_grad_enabled() or not is_block(self):
            return call(self, *args, **kwargs)
        result: Any = checkpoint(call_inside, self, *args, use_reentrant=False, preserve_rng_state=False, **kwargs)
        return result

    return patch.object(module_class, "__call__", called)


def _repeated_blocks(torch: Any) -> Iterator[Any]:
    """Yields modules with submodules that occur several times in a list or a sequence."""
    nn = torch.nn
    containers: list[Any] = [each for each in gc.get_objects() if type(each) in (nn.ModuleList, nn.Sequential)]
    for container in containers:
        children = list(container)
        for child in children:
            siblings = [each for each in children if type(each) is type(child)]
            if len(siblings) > 1 and any(True for _ in child.children()) and any(True for _ in child.parameters()):
                yield child
