"""Both ends of the way back: the initial gradients of targets, and the results for sources without a gradient."""

from __future__ import annotations

from enum import Enum
from typing import Any

from nbtf._ops.arrays.creation import fill, ones_like, zeros_like
from nbtf._ops.structure import flatten
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._types import FLOATS


class UnconnectedGradients(Enum):
    """The gradient of a source that the target does not depend on: `NONE` or `ZERO`."""

    NONE = "none"
    ZERO = "zero"


def ones_for(target: Any) -> Tensor:
    """Returns an initial gradient: ones like the target, on the current device."""
    if target.__class__ is not Tensor and not target.shape.is_fully_defined():
        return ones_like(target)
    shape, dtype = target._array.shape, target._dtype
    if any([length is None for length in shape]):
        return ones_like(target)
    return fill(shape, as_tensor(1, dtype)) if shape else as_tensor(1, dtype)


def one_for(target: Any, device: Any) -> Any:
    """Returns the array of a number's initial gradient on the CPU; None if the target is not a number."""
    dtype = target._dtype
    if target._array.shape or dtype not in FLOATS:
        return None
    array = device.constants.get(dtype)
    if array is None:
        array = device.constants[dtype] = as_tensor(1, dtype)._array
    return array


def seeds_of(targets: list[Any], output_gradients: Any) -> list[Any]:
    """Returns the initial gradient of each target, as the program passes them."""
    seeds = [None if grad is None else as_tensor(grad) for grad in flatten(output_gradients)]
    if len(seeds) != len(targets):
        raise ValueError(f"Expected {len(targets)} output_gradients, one for each target. Got {len(seeds)}.")
    return seeds


def with_zeros(results: list[Any], sources: list[Any], unconnected: Any) -> list[Any]:
    """Returns gradients, with zeros in place of None if requested."""
    try:
        policy = UnconnectedGradients(unconnected)
    except ValueError:
        raise ValueError(f"Unknown value for unconnected_gradients: {unconnected!r}") from None
    if policy is UnconnectedGradients.NONE:
        return results
    return [zeros_like(source) if grad is None else grad for source, grad in zip(sources, results, strict=True)]
