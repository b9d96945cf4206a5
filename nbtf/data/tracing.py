"""Determines the spec of a function's results by tracing it, or by trial calls if it needs values."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from nbtf._graph.tracing import traced
from nbtf._graph.trial import trying
from nbtf._ops.structure import flatten
from nbtf._shapes import TensorSpec
from nbtf._types import string
from nbtf.data.batching import Listed
from nbtf.data.elements import BARE_HOST
from nbtf.data.specs import each, of_tries, spec_of, stand_in
from nbtf.data.stage import Maker, Stage

TRIES = ((2, 0, b"0"), (3, 1, b"1"))
"""Lengths, numbers and strings of made-up elements; results that differ between them are unknown."""

SEVERAL_WORDS = (2, 0, b"1 1,1;1\t1")
"""A second set for strings, which a function may split into any number of pieces."""


def result_spec(function: Callable[..., Any], source: Stage) -> Any:
    """Returns the spec of a function's results for elements.

    The function is traced, as in TensorFlow. If it needs values, it is called with made-up elements, and if those cause
    an error, with the first real element.
    """
    spec = source.spec
    if all([isinstance(leaf, TensorSpec) for leaf in flatten(spec)]):
        traced_spec = traced(partial(_call, function, spec), BARE_HOST)
        if traced_spec is not None:
            return traced_spec
    with trying(BARE_HOST):
        return of_tries([spec_of(result) for result in _tries(function, source)])


def _call(function: Callable[..., Any], spec: Any, make: Callable[..., Any]) -> Any:
    def argument(leaf: Any) -> Any:
        return make(leaf.shape._dims, leaf.dtype)

    return spec_of(function(each(argument, spec)))


def _tries(function: Callable[..., Any], source: Stage) -> list[Any]:
    spec = source.spec
    texts = any(getattr(leaf, "dtype", None) is string for leaf in flatten(spec))
    results: list[Any] = []
    for number, values in enumerate((*TRIES, SEVERAL_WORDS) if texts else TRIES):
        try:
            results.append(function(stand_in(spec, *values, lambda element: Maker.dataset(Listed([element])))))
        except Exception:
            if number == 0:
                return [function(element) for element in source.sample()] or [_refuse()]
    return results


def _refuse() -> Any:
    raise ValueError("The function's result type cannot be determined, because the dataset has no element to try.")
