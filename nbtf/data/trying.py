"""What does a function make of elements? Found out by trying it, without leaving a trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtf._ops.structure import flatten
from nbtf._ops.trial import Trial, trying
from nbtf._types import string
from nbtf.data.batching import Listed
from nbtf.data.elements import BARE_HOST
from nbtf.data.specs import of_tries, spec_of, stand_in
from nbtf.data.stage import Maker, Stage

TRIES = ((2, 0, b"0"), (3, 1, b"1"))
"""Lengths, numbers and texts of the made-up elements: what differs afterwards is not known before."""

SEVERAL_WORDS = (2, 0, b"1 1,1;1\t1")
"""The same once more for texts, which a function may cut into any number of pieces."""


def tried(function: Callable[..., Any], source: Stage) -> Any:
    """Returns the spec of what a function makes of elements.

    TensorFlow traces the function; here it is called with made-up elements, and where it does not like those,
    with the first real one.
    """
    with trying(Trial(), BARE_HOST):
        return of_tries([spec_of(made) for made in _tries(function, source)])


def _tries(function: Callable[..., Any], source: Stage) -> list[Any]:
    spec = source.spec
    texts = any(getattr(one, "dtype", None) is string for one in flatten(spec))
    made: list[Any] = []
    for number, how in enumerate((*TRIES, SEVERAL_WORDS) if texts else TRIES):
        try:
            made.append(function(stand_in(spec, *how, lambda one: Maker.dataset(Listed([one])))))
        except Exception:
            if number == 0:
                return [function(element) for element in source.sample()] or [_refuse()]
    return made


def _refuse() -> Any:
    raise ValueError("What a function returns can only be told from an element, and the dataset has none.")
