"""What does a function make of elements? Found out by trying it, without leaving a trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nbtf._ops.random import seeds
from nbtf._ops.structure import flatten
from nbtf._runtime.context import CURRENT
from nbtf._runtime.scopes import SCOPE, set_scope
from nbtf._runtime.seeds import Seeds
from nbtf._runtime.tape import ALWAYS
from nbtf._types import string
from nbtf.data.batching import Listed
from nbtf.data.elements import scope_of_trying
from nbtf.data.specs import of_tries, spec_of, stand_in
from nbtf.data.stage import Maker, Stage

TRIES = ((2, 0, b"0"), (3, 1, b"1"))
"""Lengths, numbers and texts of the made-up elements: what differs afterwards is not known before."""

SEVERAL_WORDS = (2, 0, b"1 1,1;1\t1")
"""The same once more for texts, which a function may cut into any number of pieces."""


class _Keeper:
    """Stands in a scope like a tape, and keeps the values of variables that ops take."""

    def __init__(self) -> None:
        """Starts with none."""
        self.kept: dict[int, tuple[Any, Any, Any]] = {}
        self.hearing: object | None = self
        self.closed = False

    def hear(self, op: Any, inputs: Sequence[Any], attrs: Any, result: Any) -> None:
        """Looks for variables among the inputs; they still have the value from before the op."""
        for one in inputs:
            if one.__class__ is not list and one._watch is ALWAYS:
                self.kept.setdefault(id(one), (one, one._array, one._hold))

    def restore(self) -> None:
        """Gives variables their values back."""
        for variable, array, hold in self.kept.values():
            variable._array, variable._hold = array, hold


def tried(function: Callable[..., Any], source: Stage) -> Any:
    """Returns the spec of what a function makes of elements.

    TensorFlow traces the function; here it is called with made-up elements, and where it does not like those,
    with the first real one. Nobody is told of its ops, and random numbers and variables are afterwards as before.
    """
    context = CURRENT.context
    before, outer, keeper = seeds(), SCOPE(), _Keeper()
    if context.machine is None:
        context.freeze()  # which would open the ears again
    context.watched, context.seeds = False, Seeds()
    set_scope(scope_of_trying(keeper))
    try:
        return of_tries([spec_of(made) for made in _tries(function, source)])
    finally:
        set_scope(outer)
        keeper.restore()
        context.seeds = before
        context.settle()


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
