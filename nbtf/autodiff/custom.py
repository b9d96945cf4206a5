"""Functions with a gradient of their own, and functions that are run again to compute it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from nbtf._ops.arrays.creation import zeros
from nbtf._ops.arrays.identity import identity
from nbtf._ops.structure import flatten, map_structure, pack_sequence_as
from nbtf._ops.variables.variable import Variable
from nbtf._runtime.context import open_graph
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.lanes import lane_at
from nbtf._runtime.scopes import EMPTY, SCOPE, set_scope
from nbtf._runtime.tape import ALWAYS, AT_LENGTH, Call
from nbtf._runtime.tensor import Tensor
from nbtf.autodiff.ends import UnconnectedGradients
from nbtf.autodiff.sources import can_be_watched, is_symbolic
from nbtf.autodiff.tape import GradientTape

Function = Callable[..., Any]

ONLY_EAGER_KEYWORDS = (
    "The custom_gradient decorator currently supports keywords arguments only when eager execution is enabled."
)
"""TensorFlow's error for keyword arguments in a graph."""


class _OwnGradient:
    """Tape entry for a call of a function with its own gradient."""

    taped = AT_LENGTH
    resource = no_gradient = freezes = keeps_outputs = False
    keeps_inputs = has_gradient = True

    def __init__(self, backward: Callable[..., Sequence[Any]], outputs: list[Tensor]) -> None:
        """Stores the function from gradients of results to gradients of inputs, and the results' shapes."""
        self._backward = backward
        self._shapes = [(output.shape.as_list(), output.dtype) for output in outputs]

    def gradients(self, call: Call, *grads: Tensor | None) -> Sequence[Any]:
        """Returns the gradients of the inputs; the function gets zeros for unused results."""
        return self._backward(
            *[
                zeros(*shape_and_dtype) if grad is None else grad
                for grad, shape_and_dtype in zip(grads, self._shapes, strict=True)
            ]
        )


def record_own_gradient(inputs: list[Any], outputs: list[Any], backward: Callable[..., Sequence[Any]]) -> None:
    """Records on the open tapes how gradients of some tensors lead to those of others.

    Args:
      inputs: tensors that the outputs depend on.
      outputs: tensors that the tapes have not recorded.
      backward: receives the gradient of each output, and returns one for each input.
    """
    tapes = (SCOPE() or EMPTY).tapes
    record = _OwnGradient(backward, outputs) if tapes else None
    for tape in tapes:
        tape.record(record, inputs, {}, outputs)


class CustomGradient:
    """A function with its own gradient, made by `tf.custom_gradient`."""

    def __init__(self, function: Function) -> None:
        """Stores the function, which returns its result and its gradient function."""
        functools.update_wrapper(self, function)
        self._function = function

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Binds a method to its object."""
        return self if instance is None else CustomGradient(self._function.__get__(instance, owner))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function and records its gradient on open tapes."""
        graph = open_graph()
        if hasattr(graph, "call_with_own_gradient"):
            return graph.call_with_own_gradient(self._function, args, kwargs)
        _check_traceable(graph, kwargs)
        if graph is not None:  # as in TensorFlow: while tracing, variables are read before the function is called
            args = map_structure(as_tensor, args)
        watcher = _Watcher()
        result, backward = _record_variables(watcher, self._function, args, kwargs)
        arguments = flatten(args)
        argument_ids = [id(argument) for argument in (*arguments, *flatten(kwargs))]
        variables = [variable for variable in watcher.variables.values() if id(variable) not in argument_ids]
        check_takes_variables(backward, variables)
        outputs = [identity(result_tensor) for result_tensor in flatten(result)]
        if (SCOPE() or EMPTY).tapes:
            inputs = [as_tensor(operand) for operand in (*arguments, *variables)]
            record_own_gradient(inputs, outputs, checked_backward(backward, len(arguments), variables))
        return pack_sequence_as(result, outputs)


def _check_traceable(graph: Any, kwargs: Any) -> None:
    """Raises `NotKnownError` when tracing without a tape, because an outer tape could not see the custom gradient.

    A graph that only describes results never meets a tape.
    """
    if kwargs and graph is not None:
        raise ValueError(ONLY_EAGER_KEYWORDS)
    if not getattr(graph, "only_describes", True) and not (SCOPE() or EMPTY).tapes:
        from nbtf._graph.lengths import NotKnownError

        raise NotKnownError("a function with its own gradient is traced only under a tape")


class _Watcher:
    """Takes a tape's place in a scope, and only collects the trainable variables that are used."""

    def __init__(self) -> None:
        """Starts without variables."""
        self.variables: dict[int, Any] = {}
        self.hearing: object | None = self
        self.closed = False

    def record(self, op: Any, inputs: Sequence[Any], attrs: Any, result: Any) -> None:
        """Collects the variables among the inputs."""
        for operand in inputs:
            if operand.__class__ is not list and operand._watch is ALWAYS and operand._trainable:
                self.variables[id(operand)] = operand


def _record_variables(watcher: _Watcher, function: Function, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """Calls a function under an additional tape, which collects the variables it uses."""
    outer = SCOPE()
    scope = outer or EMPTY
    lane = None if scope.tapes else lane_at(None) if outer is None else outer.lane
    try:
        set_scope(scope.with_tapes((*scope.tapes, watcher), lane))
        result, backward = function(*args, **kwargs)
    finally:
        watcher.hearing = None
        set_scope(outer)
    return result, backward


def check_takes_variables(backward: Any, variables: Sequence[Any]) -> None:
    """Raises `TypeError` unless a gradient function is callable and accepts the variables used."""
    if not _takes_variables(backward) and variables:
        raise TypeError(
            "@tf.custom_gradient grad_fn must accept keyword argument 'variables', since function uses variables: "
            f"{variables}"
        )


def _takes_variables(backward: Any) -> bool:
    if not callable(backward):
        raise TypeError("unsupported callable")
    parameters = inspect.signature(backward).parameters
    return "variables" in parameters or any(
        parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()
    )


def checked_backward(backward: Function, count: int, variables: Sequence[Any]) -> Callable[..., list[Any]]:
    """Returns a gradient function that returns one gradient for each input and variable."""

    def towards_inputs_and_variables(*grads: Tensor) -> list[Any]:
        towards_variables: list[Any] = []
        if variables:
            input_gradients, towards_variables = backward(*grads, variables=variables)
            if len(towards_variables) != len(variables):
                raise ValueError("Must return gradient for each variable from @custom_gradient grad_fn.")
        else:
            input_gradients = backward(*grads)
        flat = flatten(input_gradients)
        if len(flat) != count:
            raise ValueError(
                f"custom_gradient function expected to return {count} gradients, but returned {len(flat)} instead."
            )
        return [*flat, *towards_variables]

    return towards_inputs_and_variables


def custom_gradient(f: Function | None = None) -> Any:
    """Decorator that gives a function its own gradient.

    Args:
      f: receives tensors and returns its result and a gradient function. The gradient function receives the gradient
        of each result and returns one gradient for each positional argument. If `f` uses variables, it also receives
        them as `variables=` and returns two lists, the second with a gradient for each variable.

    Returns:
      A function that returns only the result, as new tensors.

    Raises:
      TypeError: when called, if `f` uses variables and the gradient function does not accept them.
      ValueError: when the gradient is computed, if it returns the wrong number of gradients.

    >>> @tf.custom_gradient
    ... def halfway(x):
    ...     return x * x, lambda upstream: upstream * 0.5
    >>> x = tf.constant(3.0)
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = halfway(x)
    >>> y.numpy(), tape.gradient(y, x).numpy()
    (np.float32(9.0), np.float32(0.5))
    """
    return CustomGradient if f is None else CustomGradient(f)


def recompute_grad(f: Function) -> Function:
    """Returns a function that saves memory by computing its intermediate results again for the gradient.

    Args:
      f: receives and returns tensors; calling it again must give the same results.

    Returns:
      A function with the same results. Until the gradient is computed, a tape keeps only its arguments.

    >>> x = tf.constant(2.0)
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = tf.recompute_grad(lambda x: x * x * x)(x)
    >>> tape.gradient(y, x).numpy()
    np.float32(12.0)
    """

    @functools.wraps(f)
    def recomputed(*args: Any, **kwargs: Any) -> Any:
        @custom_gradient
        def once(*args: Any) -> Any:
            result = _stop_recording(lambda: f(*args, **kwargs))

            def backward(*upstream: Any, variables: Sequence[Variable] = ()) -> Any:
                return _rerun(f, args, kwargs, upstream, variables)

            return result, backward

        return once(*args)

    return recomputed


def _stop_recording(call: Callable[[], Any]) -> Any:
    """Calls a function without recording its ops on open tapes; the innermost one collects the variables used."""
    outer = SCOPE()
    if outer is None or not outer.tapes:
        return call()
    try:
        set_scope(outer.with_tapes(outer.tapes[-1:], None))
        return call()
    finally:
        set_scope(outer)


def _rerun(f: Function, args: Any, kwargs: Any, upstream: Any, variables: Sequence[Variable]) -> Any:
    inputs = map_structure(_copy_source, args)
    with GradientTape() as tape:
        for source in (*flatten(inputs), *variables):
            if can_be_watched(source):
                tape.watch(source)
        results = f(*inputs, **kwargs)
    flat_inputs = flatten(inputs)
    sources = [source for source in (*flat_inputs, *variables) if can_be_watched(source)]
    gradients = tape.gradient(results, sources, list(upstream), UnconnectedGradients.ZERO)
    by_source = {id(source): grad for source, grad in zip(sources, gradients, strict=True)}
    towards_inputs = [by_source.get(id(flat_input)) for flat_input in flat_inputs]
    return (towards_inputs, [by_source[id(variable)] for variable in variables]) if variables else towards_inputs


def _copy_source(value: Any) -> Any:
    """Returns a copy of a tensor, which a tape can watch."""
    return identity(value) if isinstance(value, Tensor) or is_symbolic(value) else value


def grad_pass_through(f: Function) -> CustomGradient:
    """Gives a function the gradient of the identity.

    Args:
      f: any function of tensors; it need not be differentiable.

    Returns:
      A function with the same results, through which gradients pass unchanged.

    >>> x = tf.constant(2.5)
    >>> with tf.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = tf.grad_pass_through(tf.floor)(x)
    >>> y.numpy(), tape.gradient(y, x).numpy()
    (np.float32(2.0), np.float32(1.0))
    """

    @custom_gradient
    def passing(*args: Any, **kwargs: Any) -> Any:
        def backward(*upstream: Any, variables: Sequence[Variable] = ()) -> Any:
            passed = upstream[0] if len(upstream) == 1 else list(upstream)
            return (passed, [None] * len(variables)) if variables else passed

        return f(*args, **kwargs), backward

    functools.update_wrapper(passing, f, updated=())
    return passing
