"""Kernels for the ops of `torch.nn.SyncBatchNorm`, which PyTorch implements for GPUs only.

Sums over batches are taken in float32 for smaller dtypes, as on a card.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from nbtf._frameworks.torch.simulation.machine import Machine


def synchronized_norms(machine: Machine) -> dict[str, Callable[..., Any]]:
    """Returns the kernels by the op's full name."""
    norms = _Norms(machine.torch)
    functions = {
        "batch_norm_stats": norms.stats,
        "batch_norm_gather_stats_with_counts": norms.gather,
        "batch_norm_elemt": norms.apply,
        "batch_norm_backward_reduce": norms.reduce_backward,
        "batch_norm_backward_elemt": norms.apply_backward,
    }
    return {f"aten::{name}": partial(_run_as_one, machine, f"aten::{name}", run) for name, run in functions.items()}


def _run_as_one(machine: Machine, name: str, run: Callable[..., Any], *args: Any) -> Any:
    """Runs what is a single op on a card, although several ops compute it here."""
    tensors = [each for each in args if isinstance(each, machine.torch.Tensor)]
    return machine.run_whole(name, partial(run, *args), tensors)


class _Norms:
    """The arithmetic of batch normalization over several processes."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch

    def stats(self, inputs: Any, eps: float) -> tuple[Any, Any]:
        """Returns the means of the channels and the inverses of their standard deviations."""
        variances, means = self._torch.var_mean(self._wide(inputs), _all_but_channels(inputs), correction=0)
        return means, (variances + eps).rsqrt()

    def gather(
        self,
        inputs: Any,
        means: Any,
        inverses: Any,
        running_mean: Any,
        running_variance: Any,
        momentum: float,
        eps: float,
        counts: Any,
    ) -> tuple[Any, Any]:
        """Returns the statistics of all processes from those of each, and updates the running ones."""
        shares = (counts.to(means.dtype) / counts.sum()).view(-1, 1)
        mean = (shares * means).sum(0)
        variance = (shares * (inverses.pow(-2) - eps + (means - mean).square())).sum(0)
        if running_mean is not None:
            running_mean.mul_(1 - momentum).add_(mean, alpha=momentum)
        if running_variance is not None:
            count = counts.sum()
            running_variance.mul_(1 - momentum).add_(variance * (count / (count - 1)), alpha=momentum)
        return mean, (variance + eps).rsqrt()

    def apply(self, inputs: Any, weight: Any, bias: Any, mean: Any, inverse: Any, eps: float) -> Any:
        """Returns the normalized inputs."""
        normalized = (self._wide(inputs) - _column(mean, inputs)) * _column(inverse, inputs)
        if weight is not None:
            normalized = normalized * _column(weight, inputs)
        if bias is not None:
            normalized = normalized + _column(bias, inputs)
        return normalized.to(inputs.dtype)

    def reduce_backward(
        self,
        gradient: Any,
        inputs: Any,
        mean: Any,
        inverse: Any,
        weight: Any,
        wants_input: bool,
        wants_weight: bool,
        wants_bias: bool,
    ) -> tuple[Any, Any, Any, Any]:
        """Returns this process's sums of gradients and of gradients by inputs, and those of weight and bias."""
        dims, gradient = _all_but_channels(inputs), self._wide(gradient)
        total = gradient.sum(dims)
        product = (gradient * (self._wide(inputs) - _column(mean, inputs))).sum(dims)
        dtype = gradient.dtype if weight is None else weight.dtype
        return (
            total if wants_input else None,
            product if wants_input else None,
            (product * inverse).to(dtype) if wants_weight else None,
            total.to(dtype) if wants_bias else None,
        )

    def apply_backward(
        self,
        gradient: Any,
        inputs: Any,
        mean: Any,
        inverse: Any,
        weight: Any,
        total: Any,
        product: Any,
        counts: Any,
    ) -> Any:
        """Returns the gradient of the inputs from the sums of all processes."""
        count = counts.sum()
        centered = self._wide(inputs) - _column(mean, inputs)
        slope = _column(inverse.square() * product / count, inputs)
        scale = inverse if weight is None else inverse * weight
        result = (self._wide(gradient) - _column(total / count, inputs) - centered * slope) * _column(scale, inputs)
        return result.to(inputs.dtype)

    def _wide(self, tensor: Any) -> Any:
        """Returns a tensor in the dtype in which a card sums."""
        return tensor.float() if tensor.dtype in (self._torch.float16, self._torch.bfloat16) else tensor


def _all_but_channels(tensor: Any) -> list[int]:
    return [dim for dim in range(tensor.dim()) if dim != 1]


def _column(values: Any, tensor: Any) -> Any:
    """Returns a value for each channel in the shape that broadcasts over a tensor."""
    return values.view(1, -1, *[1] * (tensor.dim() - 2))
