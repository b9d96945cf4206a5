"""The paths that run an op, and a subject's results on each: values, values under a tape, and gradients."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

import nbtf as tf
from nbtf._devices.discovery import simulated_machine
from nbtf._ops.variables.variable import Variable
from nbtf._runtime.context import Context, use_context
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tape import CONTINUOUS
from nbtf._runtime.tensor import Tensor
from tests.layouts.memory import Array
from tests.layouts.subjects import Subject
from tests.ops.arguments import noise, tensors
from tests.ops.listening import flat

Change = Callable[[Array], Array]


@dataclass(frozen=True)
class Path:
    """How ops run: on which device, with or without an observer, eagerly or in a traced function."""

    device: str
    observed: bool
    traced: bool = False

    def __str__(self) -> str:
        return f"{self.device}, {'observed' if self.observed else 'in a function' if self.traced else 'not observed'}"

    @contextmanager
    def open(self) -> Generator[None]:
        """Makes all ops of a block use this path."""
        cards = simulated_machine(1, "Tesla K20m") if self.device == "GPU" else None
        with use_context(Context(cards, environ={}) if cards else Context(environ={})) as context:
            if self.observed and self.device == "CPU":
                context.observers.add(_ignore)
                yield
            elif self.observed:
                with tf.runtime.recording():  # its lane for simulated GPUs is a different path
                    yield
            else:
                yield


def _ignore(event: object) -> None:
    """Receives an event: a context with an observer sends every op down the road."""


REFERENCE = {device: Path(device, observed=True) for device in ("CPU", "GPU")}
PATHS = [
    Path("CPU", observed=False),
    Path("CPU", observed=True),
    Path("CPU", observed=False, traced=True),
    Path("GPU", observed=False),
    Path("GPU", observed=True),
]


@dataclass
class Outcome:
    """The outcome of a call: arrays, or an error's class and text; and whether the call changed its inputs."""

    arrays: list[Array] | None
    error: str = ""
    upstream: list[Array] | None = None
    """The gradients of the results from which the inputs' gradients were computed."""
    changed_input: bool = False


def outcome(subject: Subject, path: Path, args: Sequence[Any], change: Change, upstream: list[Array] | None) -> Outcome:
    """Calls a subject on the current path.

    Args:
      subject: subject to call.
      path: the current path.
      args: arguments, with arrays instead of tensors.
      change: gives each tensor's array a different layout.
      upstream: gradients of the results; None creates suitable ones.
    """
    tf.random.set_seed(7)
    laid_out = LaidOut(change)
    try:
        inputs = laid_out.arguments(list(args))
        plain = flat(subject.function(*inputs, **subject.kwargs)) if not path.traced else []
        if path.traced:
            plain = flat(_traced(subject)(inputs))
        if not subject.differentiable:
            return Outcome(_arrays(plain), changed_input=laid_out.has_changed())
        if upstream is None:
            random = np.random.default_rng(5)
            upstream = [noise(random, np.asarray(result.numpy())) for result in plain if result.dtype in CONTINUOUS]
        grads = [laid_out.tensor(as_tensor(array)) for array in upstream]
        taped = (_traced_gradients(subject) if path.traced else _gradients(subject))(inputs, grads)
        return Outcome(_arrays([*plain, *taped]), upstream=upstream, changed_input=laid_out.has_changed())
    except Exception as error:  # any error is the call's answer
        return Outcome(None, f"{type(error).__name__}: {error}")


def _traced(subject: Subject) -> Callable[..., Any]:
    """Returns a function that traces a subject; arguments that are not tensors are unchanged."""
    return _of_tensors(lambda args: subject.function(*args, **subject.kwargs))


def _of_tensors(compute: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        tensors_in = [leaf for leaf in flat(args) if isinstance(leaf, Tensor)]
        numbers = {id(tensor): number for number, tensor in enumerate(tensors_in)}

        def filled(value: Any, traced: Sequence[Any]) -> Any:
            if type(value) in (list, tuple):
                return type(value)([filled(item, traced) for item in value])
            return traced[numbers[id(value)]] if isinstance(value, Tensor) else value

        return tf.function(lambda traced: compute(*filled(args, traced)), autograph=False)(tensors_in)

    return call


def _gradients(subject: Subject) -> Callable[..., list[Any]]:
    """Returns a function of the arguments and the results' gradients that returns results and input gradients."""

    def compute(args: Any, upstream: list[Any]) -> list[Any]:
        leaves = [leaf for leaf in flat(args) if getattr(leaf, "dtype", None) in CONTINUOUS]
        with tf.GradientTape() as tape:
            tape.watch(leaves)
            results = flat(subject.function(*args, **subject.kwargs))
        targets = [result for result in results if result.dtype in CONTINUOUS]
        grads = tape.gradient(targets, leaves, upstream) if targets else []
        return [*results, *[tf.convert_to_tensor(grad) for grad in grads if grad is not None]]

    return compute


def _traced_gradients(subject: Subject) -> Callable[..., Any]:
    return _of_tensors(_gradients(subject))


def _arrays(results: Sequence[Any]) -> list[Array]:
    return [np.array(result.numpy()) for result in results]


class LaidOut:
    """Creates tensors whose arrays have a given layout, and remembers their values."""

    def __init__(self, change: Change) -> None:
        self._change = change
        self._contents: list[tuple[Array, Array]] = []

    def tensor(self, tensor: Tensor) -> Tensor:
        """Gives a new tensor's array the layout."""
        tensor._array = self._change(tensor._array)
        self._contents.append((tensor._array, np.array(tensor._array)))
        return tensor

    def arguments(self, args: Any) -> Any:
        """Returns arguments with tensors instead of arrays; variables also get the layout."""
        return self._laid_out(tensors(args))

    def _laid_out(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return self.tensor(value)
        if isinstance(value, Variable):
            value._array = self._change(value._array)
        if type(value) in (list, tuple):
            return type(value)([self._laid_out(item) for item in value])
        return value

    def has_changed(self) -> bool:
        """Returns whether a tensor's values were overwritten."""
        return any(
            now.tolist() != before.tolist() if now.dtype == object else now.tobytes() != before.tobytes()
            for now, before in self._contents
        )
