"""Inputs for every op: what the sweep runs."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Sample:
    """One call of a public function, and what NumPy says of it.

    `args` are arrays and Python values as a user writes them; the sweep makes tensors of the arrays. `expected` is
    a value, or a function of the arguments; None where numbers cannot be foretold (random ops), which a test of its
    own then checks. `differentiable` names the positions of arguments whose gradient is compared with differences.
    """

    op: str
    function: Callable[..., Any]
    args: Sequence[Any]
    expected: Any = None
    kwargs: dict[str, Any] = field(default_factory=dict)
    differentiable: Sequence[int] = ()
    tolerance: float = 1e-6


def all_samples() -> list[Sample]:
    """Returns the samples of every family, file by file."""
    modules = [importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__)]
    return [sample for module in modules for sample in module.SAMPLES]
