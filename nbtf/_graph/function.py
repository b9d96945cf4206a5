"""`tf.function`: Python code that is traced once per signature and then runs as a plan."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any
from weakref import WeakKeyDictionary

from nbtf._graph.autograph.conversion import convert
from nbtf._graph.concrete_function import ConcreteFunction, as_result
from nbtf._graph.function_graph import FunctionGraph
from nbtf._graph.parameters import Parameters, check_fits, check_specs
from nbtf._graph.retracing import call_history
from nbtf._graph.signature import ArgumentType, accepts, generalized, leaf_types
from nbtf._graph.trace_event import tell_trace
from nbtf._graph.untraceable import cause_in, needs_values
from nbtf._locks import new_lock
from nbtf._ops.structure import map_structure
from nbtf._runtime.context import CURRENT
from nbtf._runtime.logger import get_logger
from nbtf._runtime.scopes import EMPTY, SCOPE, Scope
from nbtf._runtime.tensor import Tensor

Arguments = dict[str, Any]
"""The arguments of a call by name, including defaults."""

Key = tuple[Any, ...]

_OF_PROCESS = frozenset({"_traces", "_of_instances", "_history"})
"""The attributes of a function that deep copies and pickles leave out."""


class Traces:
    """The traces of a function; a method has its own traces for each instance."""

    def __init__(self) -> None:
        """Starts without traces."""
        self.concrete: dict[Key, ConcreteFunction] = {}
        """Traces by the types for which they were traced."""
        self.dispatched: dict[Key, ConcreteFunction] = {}
        """Traces by the types of calls, which may be narrower."""
        self.of_tensors: dict[Key, ConcreteFunction] = {}
        """Traces by dtypes and shapes only, for calls whose arguments are all tensors."""
        self.parameters: Parameters | None = None
        self.count = 0
        self.has_been_called = False
        self.lock = new_lock()
        self.wrapped: WeakKeyDictionary[Any, Function] = WeakKeyDictionary()
        """Functions that wrap this one, by owner."""
        self.replacements = 0
        """How often strategies' devices had been replaced when it was traced."""

    def begin_anew(self, replacements: int) -> None:
        """Drops all traces: they contain variables of devices that were replaced."""
        with self.lock:
            self.concrete, self.dispatched, self.of_tensors, self.replacements = {}, {}, {}, replacements


class Function:
    """A Python function that `tf.function` was applied to.

    Attributes:
      input_signature: the specs of the arguments, or None.
    """

    def __init__(
        self,
        python_function: Callable[..., Any],
        input_signature: Any = None,
        reduce_retracing: bool = False,
        autograph: bool = True,
        traced_signatures: int | None = None,
        counted_as: Any = None,
    ) -> None:
        """Wraps a function; users call `tf.function` instead.

        Args:
          python_function: the function.
          input_signature: specs of the arguments, or None.
          reduce_retracing: whether differing lengths are traced as unknown lengths.
          autograph: whether conditions and loops over tensors are converted.
          traced_signatures: the most signatures to trace; calls with other signatures run the Python code.
          counted_as: the function whose tracing count these calls increase; None for this function.
        """
        functools.update_wrapper(self, python_function)
        self.python_function = python_function
        self.input_signature = input_signature
        self._reduces_retracing = reduce_retracing
        self._autograph = autograph
        self._limit = traced_signatures
        self._traces = Traces()
        self._of_instances: WeakKeyDictionary[Any, Traces] = WeakKeyDictionary()
        self._bound_to: Any = None
        self._history = call_history(counted_as or python_function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the trace for these arguments; traces the Python code first if there is none."""
        scope = SCOPE()
        graph = None if scope is None else scope.graph
        if CURRENT.context.settings.functions_eager:
            return self.python_function(*args, **kwargs)
        if graph is not None and graph.__class__ is not FunctionGraph:
            return map_structure(as_result, self.python_function(*args, **kwargs))
        scope = scope or EMPTY
        if self._traces.replacements != CURRENT.context.replacements:
            self._traces.begin_anew(CURRENT.context.replacements)
        key = None if kwargs or self.input_signature is not None else _key_of_tensors(args, scope)
        concrete = None if key is None else self._traces.of_tensors.get(key)
        leaves: Sequence[Any] = args
        is_new = False
        if concrete is None:
            count = self._traces.count
            concrete, leaves = self._concrete(self._parameters().bind(args, kwargs), scope)
            if key is not None and len(leaves) == len(args):
                self._traces.of_tensors[key] = concrete
            is_new = count != self._traces.count
        result = concrete.run(leaves) if concrete.is_traced else concrete.run_python(self.python_function, leaves)
        if graph is not None:  # calls inside functions are not counted
            return result
        if is_new:
            self._history.add_trace(self.python_function)
        else:
            self._history.untraced += 1
        return result

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Binds a method to its object."""
        if instance is None:
            return self
        bound = copy(self)
        bound.python_function = self.python_function.__get__(instance, owner)
        bound._bound_to = instance
        try:
            bound._traces = self._of_instances.get(instance) or self._of_instances.setdefault(instance, Traces())
        except TypeError:  # the instance does not support weak references
            bound._traces = Traces()
        return bound

    def __copy__(self) -> Function:
        """Returns a function that shares the traces."""
        shared = object.__new__(type(self))
        shared.__dict__.update(self.__dict__)
        return shared

    def __getstate__(self) -> dict[str, Any]:
        """Returns the state for deep copies and pickles: everything except the traces."""
        return {name: value for name, value in self.__dict__.items() if name not in _OF_PROCESS}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Sets the state; the next call traces anew."""
        self.__dict__.update(state)
        self._traces, self._of_instances = Traces(), WeakKeyDictionary()
        self._history = call_history(self.python_function)

    def wrapped_for(self, owner: object, call: Callable[..., Any]) -> Function:
        """Returns a function traced around this one's Python code; the same function for the same owner.

        Args:
          owner: the object that it is wrapped for; only weakly referenced.
          call: takes the Python code and its arguments, and calls it.
        """
        wrapped = self._traces.wrapped.get(owner)
        if wrapped is None:
            code = functools.partial(call, self.python_function)
            wrapped = Function(code, None, self._reduces_retracing, self._autograph, self._limit)
            self._traces.wrapped[owner] = wrapped
        return wrapped

    @property
    def name(self) -> str:
        """The function's name."""
        return getattr(self.python_function, "__name__", "function")

    def experimental_get_tracing_count(self) -> int:
        """Returns how often the Python code was traced."""
        return self._traces.count

    def pretty_printed_concrete_signatures(self, verbose: bool = True) -> str:
        """Returns the traced signatures, one below the other."""
        return "\n\n".join([concrete.pretty_printed_signature() for concrete in self._traces.concrete.values()])

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """Returns the trace for these arguments; `tf.TensorSpec` may replace tensors.

        Raises:
          TypeError: if the arguments do not fit the function.
        """
        if self.input_signature is not None and not args and not kwargs:
            args = self.input_signature
        if self._traces.replacements != CURRENT.context.replacements:
            self._traces.begin_anew(CURRENT.context.replacements)
        arguments = self._parameters().bind(args, kwargs)
        return self._concrete(arguments, SCOPE() or EMPTY, is_called=False)[0]

    def _parameters(self) -> Parameters:
        parameters = self._traces.parameters
        if parameters is None:
            parameters = self._traces.parameters = Parameters(self.python_function, self.input_signature)
        return parameters

    # Tracing

    def _concrete(
        self, arguments: Arguments, scope: Scope, is_called: bool = True
    ) -> tuple[ConcreteFunction, list[Any]]:
        """Returns the trace for arguments, and the tensors and variables in them."""
        leaves: list[Any] = []
        types = self._parameters().types(arguments, leaves)
        surroundings = getattr(scope.strategy, "strategy", scope.strategy), scope.replica
        traces = self._traces
        concrete = traces.dispatched.get((surroundings, types))
        if concrete is None:
            with traces.lock:
                concrete = self._dispatch(types, surroundings) or self._trace(arguments, types, surroundings, leaves)
                traces.dispatched[surroundings, types] = concrete
                traces.has_been_called |= is_called
        return concrete, leaves

    def _dispatch(self, types: tuple[ArgumentType, ...], surroundings: Any) -> ConcreteFunction | None:
        """Returns an existing trace for wider types."""
        for (around, general), concrete in self._traces.concrete.items():
            if around == surroundings and all([accepts(a, b) for a, b in zip(general, types, strict=True)]):
                return concrete
        return None

    def _trace(
        self, arguments: Arguments, types: tuple[ArgumentType, ...], surroundings: Any, leaves: list[Any]
    ) -> ConcreteFunction:
        """Traces the Python code; twice if it created variables, as TensorFlow does."""
        traces = self._traces
        if self._reduces_retracing:
            types = self._widened(types, surroundings)
        function = convert(self.python_function) if self._autograph else self.python_function
        concrete = self._new_concrete(arguments, types)
        if self._limit is not None and len(traces.concrete) >= self._limit:
            concrete.is_traced = False
            return concrete
        earlier = [general for around, general in traces.concrete if around == surroundings]
        alike = earlier if earlier or not traces.concrete else None
        has_made_variables = False
        for makes_variables in (not traces.has_been_called, False):
            traces.count += 1
            tell_trace(self.name, traces.count, list(arguments), types, alike, has_made_variables)
            concrete = self._new_concrete(arguments, types)
            concrete.graph.makes_variables = makes_variables
            try:
                concrete.trace(function, leaves)
            except Exception as error:
                if not needs_values(error, _has_open_lengths(types)):
                    raise
                get_logger().warning(
                    "nbtf: tf.function %r is not traced but run as it is: %s", self.name, cause_in(error)
                )
                concrete.is_traced = False
                break
            has_made_variables = bool(concrete.graph.variables)
            traces.has_been_called |= has_made_variables
            if not has_made_variables:
                break
        traces.concrete[surroundings, types] = concrete
        return concrete

    def _new_concrete(self, arguments: Arguments, types: tuple[ArgumentType, ...]) -> ConcreteFunction:
        scope = SCOPE()
        outer = None if scope is None or scope.graph.__class__ is not FunctionGraph else scope.graph
        graph = FunctionGraph(self.name, outer)
        return ConcreteFunction(graph, list(arguments), types, self._parameters().signature)

    def _widened(self, types: tuple[ArgumentType, ...], surroundings: Any) -> tuple[ArgumentType, ...]:
        """Returns types that also accept calls like the earlier traced ones."""
        for around, general in self._traces.concrete:
            if around == surroundings:
                common = [generalized(a, b) for a, b in zip(general, types, strict=True)]
                if None not in common:
                    types = tuple([argument for argument in common if argument is not None])
        return types


def _key_of_tensors(args: tuple[Any, ...], scope: Scope) -> Key | None:
    """Returns a key for calls whose arguments are all tensors; None for other calls."""
    if scope.strategy is not None:
        return None
    key: list[Any] = []
    for value in args:
        if value.__class__ is not Tensor:
            return None
        key += [value._dtype, value._array.shape]
    return tuple(key)


def _has_open_lengths(types: Sequence[ArgumentType]) -> bool:
    leaves = [leaf for argument in types for _, leaf in leaf_types(argument, "")]
    return any([leaf.lengths is None or None in leaf.lengths for leaf in leaves])


def function(
    func: Any = None,
    input_signature: Any = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    experimental_implements: str | None = None,
    experimental_autograph_options: Any = None,
    experimental_attributes: Any = None,
    experimental_relax_shapes: bool | None = None,
    experimental_compile: bool | None = None,
    experimental_follow_type_hints: bool | None = None,
) -> Any:
    """Traces a Python function once per signature, and runs the trace from then on.

    The first call with given dtypes, shapes and Python values runs the Python code with symbolic tensors, which have no
    values. Prints, appends and other Python side effects happen only during that call. The ops are recorded, and each
    call runs them again one by one, as if the code had been run: ops are placed, logged, and recorded on tapes as
    usual. Nothing is compiled. Ops whose results are not needed are left out.

    Args:
      func: the function; omitted when `tf.function(...)` is a decorator with arguments.
      input_signature: list of `tf.TensorSpec`s for the arguments; arguments are converted and checked, and the
        function is traced only once.
      autograph: whether `if`, `while` and `for` over tensors are converted.
      jit_compile: accepted and ignored.
      reduce_retracing: whether lengths become unknown if calls differ only in their shapes.
      experimental_implements: accepted and ignored.
      experimental_autograph_options: accepted and ignored.
      experimental_attributes: accepted and ignored.
      experimental_relax_shapes: older name of `reduce_retracing`.
      experimental_compile: accepted and ignored.
      experimental_follow_type_hints: accepted and ignored.

    Returns:
      A callable with `python_function` and `input_signature`; without `func`, a decorator.

    Raises:
      TypeError: if `func` is not callable, or if `input_signature` is not a list of specs that fits it.

    >>> @tf.function
    ... def double(x):
    ...     print("tracing", x.shape)
    ...     return x + x
    >>> double(tf.constant([1.0, 2.0])).numpy()
    tracing (2,)
    array([2., 4.], dtype=float32)
    >>> double(tf.constant([3.0, 4.0])).numpy()
    array([6., 8.], dtype=float32)
    """
    if input_signature is not None:
        check_specs(input_signature)

    def mark(python_function: Any) -> Any:
        if not callable(python_function):
            raise TypeError(f"{python_function!r} is not a callable object")
        if input_signature is not None:
            check_fits(python_function, input_signature)
        specs = None if input_signature is None else tuple(input_signature)
        return Function(python_function, specs, bool(reduce_retracing or experimental_relax_shapes), autograph)

    return mark if func is None else mark(func)
