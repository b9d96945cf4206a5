"""Inputs for every op: what the sweep runs."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.rings import with_nightly


class Made:
    """An argument that is made anew for each run, such as a variable: `Made(tf.Variable, [1.0, 2.0])`."""

    def __init__(self, make: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        self.make = lambda: make(*args, **kwargs)


@dataclass(frozen=True)
class Sample:
    """One call of a public function, and what NumPy says of it.

    `args` are arrays and Python values as a user writes them; the sweep makes tensors of the arrays, also of those in
    lists. `expected` is a value (a list of values for several results), or a function of the arguments; None where
    numbers cannot be foretold (random ops), which a test of its own then checks. `differentiable` names the positions
    of arguments whose gradient is compared with differences. `tolerance` is relative, and absolute for small numbers.
    """

    op: str
    function: Callable[..., Any]
    args: Sequence[Any]
    expected: Any = None
    kwargs: dict[str, Any] = field(default_factory=dict)
    differentiable: Sequence[int] = ()
    tolerance: float = 1e-6

    def __str__(self) -> str:
        return f"{self.op} {getattr(self.function, '__name__', '')}"


def all_samples() -> list[Sample]:
    """Returns the samples of every family, file by file."""
    modules = [importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__)]
    return [sample for module in modules for sample in module.SAMPLES]


def samples_of_each_op(without: Collection[str] = ()) -> list[Any]:
    """Returns, as parameters, the first sample of each op but those left out; with the nightly ring also all others."""
    samples = [sample for sample in all_samples() if sample.op not in without]
    first = {id(sample) for sample in {sample.op: sample for sample in reversed(samples)}.values()}
    return with_nightly(
        [sample for sample in samples if id(sample) in first], [sample for sample in samples if id(sample) not in first]
    )
