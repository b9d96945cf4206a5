"""Are gradients in a graph, of every op that has one, those of a tape: whatever is known of the shapes?"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbtf
import nbtf._ops
from nbtf._runtime.conversion import as_tensor
from nbtf.compat._v1._graph.defaults import placeholder
from nbtf.compat._v1._graph.gradients import gradients
from nbtf.compat._v1._graph.graph import Graph
from nbtf.compat._v1._session.session import Session
from nbtf.errors import OpError
from tests.ops.arguments import arrays_in, as_double, plain, tensors
from tests.ops.listening import flat
from tests.ops.samples import Sample, all_samples
from tests.sweeps import check_each

for _module in pkgutil.walk_packages(nbtf._ops.__path__, "nbtf._ops."):
    importlib.import_module(_module.name)

SAMPLES = [sample for sample in all_samples() if sample.differentiable and not sample.op.startswith("Random")]
"""What is random draws other numbers in a graph."""


def by_tape(sample: Sample, args: list[Any], arrays: list[Any]) -> list[Any]:
    taken = [as_tensor(array) for array in arrays]
    with nbtf.GradientTape() as tape:
        tape.watch(taken)
        made = flat(sample.function(*tensors(args, dict(zip(map(id, arrays), taken, strict=True))), **sample.kwargs))
    seeds = [nbtf.ones_like(one) for one in made]
    return [as_tensor(one).numpy() for one in tape.gradient(made, taken, seeds)]


def in_a_graph(sample: Sample, args: list[Any], arrays: list[Any], told: str) -> list[Any]:
    shapes: dict[str, Callable[[Any], Any]] = {
        "shape": lambda array: array.shape,
        "rank": lambda array: [None] * array.ndim,
        "nothing": lambda array: None,
    }
    with Graph().as_default(), Session() as session:
        taken = [placeholder(array.dtype, shapes[told](array)) for array in arrays]
        known: dict[int, Any] = dict(zip(map(id, arrays), taken, strict=True))
        try:
            made = flat(sample.function(*tensors(args, known), **sample.kwargs))
        except (AttributeError, LookupError, TypeError, ValueError, OpError) as error:
            pytest.skip(f"the function itself cannot be built: {error}")
        found = [as_tensor(one) for one in gradients(made, taken, [nbtf.ones_like(one) for one in made])]
        return session.run(found, dict(zip(taken, arrays, strict=True)))


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_gradients_are_those_of_a_tape(sample: Sample) -> None:
    check_each(["shape", "rank", "nothing"], lambda known: gradients_are_those_of_a_tape(sample, known))


def gradients_are_those_of_a_tape(sample: Sample, known: str) -> None:
    args = [as_double(arg) for arg in plain(sample.args)]
    arrays = [one for place in sample.differentiable for one in arrays_in(args[place])]

    found = in_a_graph(sample, args, arrays, known)

    for one, expected in zip(found, by_tape(sample, args, arrays), strict=True):
        np.testing.assert_allclose(one, expected, rtol=1e-12)


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_nodes_of_gradients_stand_below_a_name_of_theirs(sample: Sample) -> None:
    args = [as_double(arg) for arg in plain(sample.args)]
    arrays = [one for place in sample.differentiable for one in arrays_in(args[place])]

    with Graph().as_default() as graph:
        taken = [placeholder(array.dtype, array.shape) for array in arrays]
        known: dict[int, Any] = dict(zip(map(id, arrays), taken, strict=True))
        try:
            made = flat(sample.function(*tensors(args, known), **sample.kwargs))
        except (AttributeError, LookupError, TypeError, ValueError, OpError) as error:
            pytest.skip(f"the function itself cannot be built: {error}")
        seeds = [nbtf.ones_like(tensor) for tensor in made]
        before = set(graph.get_operations())
        gradients(made, taken, seeds)
        names = [node.name for node in graph.get_operations() if node not in before]

    assert [] == [name for name in names if not name.startswith("gradients/")]
