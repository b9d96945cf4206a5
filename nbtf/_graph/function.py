"""`tf.function`: Python code that is traced once per signature and then runs as a plan."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any
from weakref import WeakKeyDictionary

from nbtf._graph.autograph.conversion import convert
from nbtf._graph.concrete_function import ConcreteFunction, as_result
from nbtf._graph.function_graph import FunctionGraph
from nbtf._graph.handles import is_spec, stand_in
from nbtf._graph.retracing import call_history
from nbtf._graph.signature import ArgumentType, accepts, check_values, generalized, leaf_types, type_of, type_text
from nbtf._graph.tensor import GraphTensor
from nbtf._graph.trace_event import tell_trace
from nbtf._graph.untraceable import needs_values
from nbtf._locks import new_lock
from nbtf._ops.structure import flatten, is_nested, map_structure, pack_sequence_as
from nbtf._runtime.context import CURRENT
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.logger import get_logger
from nbtf._runtime.scopes import EMPTY, SCOPE, Scope
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import TensorShape, TensorSpec
from nbtf._types import DType
from nbtf.errors import OperatorNotAllowedInGraphError

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
        self.signature: inspect.Signature | None = None
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
            concrete, leaves = self._concrete(self._bind(args, kwargs), scope)
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
        arguments = self._bind(args, kwargs)
        return self._concrete(arguments, SCOPE() or EMPTY, is_called=False)[0]

    # Arguments

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
        """Returns the arguments by name, converted to the tensors of the signature.

        Raises:
          TypeError: if they do not fit the function or the signature; the text is TensorFlow's.
        """
        signature = self._traces.signature = self._traces.signature or inspect.signature(self.python_function)
        try:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            if self.input_signature is not None:
                for (name, value), spec in zip(list(bound.arguments.items()), self._specs(signature), strict=False):
                    bound.arguments[name] = _cast(value, spec)
                for parameter in self._captured(signature):
                    check_values(bound.arguments[parameter.name], type_of(parameter.default, []))
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"Binding inputs to tf.function failed due to `{error}`. "
                f"Received args: {args} and kwargs: {kwargs} for signature: ({self._shown(signature)})."
            ) from None
        return bound.arguments

    def _specs(self, signature: inspect.Signature) -> Sequence[Any]:
        """Returns the spec of each parameter from the input signature; `*args` gets all remaining specs."""
        specs: tuple[Any, ...] = self.input_signature or ()
        starred = inspect.Parameter.VAR_POSITIONAL
        numbers = [n for n, parameter in enumerate(signature.parameters.values()) if parameter.kind is starred]
        return (*specs[: numbers[0]], specs[numbers[0] :]) if specs and numbers else specs

    def _captured(self, signature: inspect.Signature) -> list[inspect.Parameter]:
        """Returns the parameters that the input signature does not cover: they keep their defaults."""
        parameters = list(signature.parameters.values())[len(self._specs(signature)) :]
        return [parameter for parameter in parameters if parameter.default is not parameter.empty]

    def _shown(self, signature: inspect.Signature) -> str:
        specs: list[Any] = list(self.input_signature or ())
        parts: list[str] = []
        for number, parameter in enumerate(signature.parameters.values()):
            text = str(parameter).partition(":")[0].partition("=")[0]
            if number < len(specs):
                text += f": {specs[number]}"
            elif parameter.default is not parameter.empty:
                literal = f": {type_text(type_of(parameter.default, []))} = " if specs else "="
                text += f"{literal}<captured_default_value>"
            parts.append(text)
        return ", ".join(parts)

    # Tracing

    def _concrete(
        self, arguments: Arguments, scope: Scope, is_called: bool = True
    ) -> tuple[ConcreteFunction, list[Any]]:
        """Returns the trace for arguments, and the tensors and variables in them."""
        leaves: list[Any] = []
        types = self._types(arguments, leaves)
        surroundings = getattr(scope.strategy, "strategy", scope.strategy), scope.replica
        traces = self._traces
        concrete = traces.dispatched.get((surroundings, types))
        if concrete is None:
            with traces.lock:
                concrete = self._dispatch(types, surroundings) or self._trace(arguments, types, surroundings, leaves)
                traces.dispatched[surroundings, types] = concrete
                traces.has_been_called |= is_called
        return concrete, leaves

    def _types(self, arguments: Arguments, leaves: list[Any]) -> tuple[ArgumentType, ...]:
        """Returns the types of the arguments; those of the input signature, if it is given."""
        types: list[ArgumentType] = []
        specs = self._specs(self._traces.signature) if self.input_signature and self._traces.signature else ()
        for number, value in enumerate(arguments.values()):
            argument = type_of(stand_in(value), leaves)
            types.append(_as_specified(argument, specs[number]) if number < len(specs) else argument)
        return tuple(types)

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
        function = self._python_function_to_trace()
        concrete: ConcreteFunction | None = None
        signature = inspect.signature(self.python_function)
        if self._limit is not None and len(traces.concrete) >= self._limit:
            concrete = ConcreteFunction(self._graph(), list(arguments), types, signature)
            concrete.is_traced = False
            return concrete
        earlier = [general for around, general in traces.concrete if around == surroundings]
        alike = earlier if earlier or not traces.concrete else None
        has_made_variables = False
        for makes_variables in (not traces.has_been_called, False):
            traces.count += 1
            tell_trace(self.name, traces.count, list(arguments), types, alike, has_made_variables)
            graph = self._graph()
            graph.makes_variables = makes_variables
            concrete = ConcreteFunction(graph, list(arguments), types, signature)
            try:
                concrete.trace(function, leaves)
            except Exception as error:
                if not needs_values(error, _has_open_lengths(types)) and not (
                    self._autograph
                    and function is self.python_function
                    and isinstance(error, OperatorNotAllowedInGraphError)
                ):
                    raise
                get_logger().warning(
                    "nbtf: tf.function %r is not traced but run as it is: %s", self.name, str(error).partition("\n")[0]
                )
                concrete.is_traced = False
                break
            traces.has_been_called = traces.has_been_called or bool(graph.variables)
            has_made_variables = bool(graph.variables)
            if not has_made_variables:
                break
        assert concrete is not None
        traces.concrete[surroundings, types] = concrete
        return concrete

    def _python_function_to_trace(self) -> Callable[..., Any]:
        """Returns the function with its conditions and loops over tensors converted."""
        if not self._autograph:
            return self.python_function
        return convert(self.python_function)

    def _graph(self) -> FunctionGraph:
        scope = SCOPE()
        outer = None if scope is None or scope.graph.__class__ is not FunctionGraph else scope.graph
        return FunctionGraph(self.name, outer)

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


def _as_specified(argument: ArgumentType, spec: Any) -> ArgumentType:
    """Returns the type that the signature specifies for an argument."""
    return type_of(stand_in(spec), []) if all([is_spec(leaf) for leaf in flatten(spec)]) else argument


def _cast(value: Any, spec: Any) -> Any:
    """Returns an argument converted to its spec.

    Raises:
      TypeError: if it does not fit.
    """
    if is_nested(spec):
        if isinstance(spec, Mapping) and not (isinstance(value, Mapping) and {*value} == {*spec}):
            raise TypeError(f"{value} has different keys with the TraceType Dict[{spec}].")
        if _are_tuples_of_one_length(value, spec):
            return _cast_tuple(value, spec)
        parts = flatten(value)
        if len(parts) != len(flatten(spec)):
            raise TypeError(f"Can not cast {value!r} to {spec}")
        return pack_sequence_as(value, [_cast(part, s) for part, s in zip(parts, flatten(spec), strict=True)])
    if isinstance(value, TensorSpec) and isinstance(spec, TensorSpec):
        tensor: Any = value
    elif not isinstance(spec, TensorSpec):
        if not spec.is_compatible_with(value):
            raise TypeError(f"Can not cast {value!r} to {spec}")
        return value
    else:
        tensor = value if isinstance(value, Tensor | GraphTensor) else as_tensor(value, spec.dtype)
    if not (spec.dtype is tensor.dtype and spec.shape.is_compatible_with(tensor.shape)):
        raise TypeError(f"Can not cast {TensorSpec(tensor.shape, tensor.dtype)} to {spec}")
    return tensor


def _are_tuples_of_one_length(value: Any, spec: Any) -> bool:
    return value.__class__ is tuple and spec.__class__ is tuple and len(value) == len(spec)


def _cast_tuple(value: Any, spec: Any) -> Any:
    """Returns a tuple converted to its spec; a list in it may become a tensor."""
    return tuple(map(_cast, value, spec))


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
        _check_signature(input_signature)

    def mark(python_function: Any) -> Any:
        if not callable(python_function):
            raise TypeError(f"{python_function!r} is not a callable object")
        if input_signature is not None:
            _check_fits(python_function, input_signature)
        specs = None if input_signature is None else tuple(input_signature)
        return Function(python_function, specs, bool(reduce_retracing or experimental_relax_shapes), autograph)

    return mark if func is None else mark(func)


def _check_signature(input_signature: Any) -> None:
    if not isinstance(input_signature, list | tuple):
        raise TypeError(f"input_signature must be either a tuple or a list, got {type(input_signature)}.")
    strange = [spec for spec in flatten(input_signature) if not _is_spec(spec)]
    if strange:
        raise TypeError(
            "input_signature must be a possibly nested sequence of TensorSpec objects, got invalid args "
            f"{input_signature} with types {[type(spec) for spec in strange]}."
        )


def _is_spec(value: Any) -> bool:
    return hasattr(value, "is_compatible_with") and not isinstance(value, DType | TensorShape)


def _check_fits(python_function: Any, input_signature: Any) -> None:
    try:
        parameters = list(inspect.signature(python_function).parameters.values())
    except ValueError:
        return  # some C functions have no signature
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        return
    named = [parameter for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD]
    if named and named[0].name == "self":
        named = named[1:]
    extra = len(input_signature) - len(named)
    if extra > 0:
        raise TypeError(f"input_signature contains {extra} extra type constraints.")
    missing = [parameter.name for parameter in named[len(input_signature) :] if parameter.default is parameter.empty]
    if missing:
        raise TypeError(f"input_signature missing type constraint for {missing[0]}")
