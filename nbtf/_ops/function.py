"""`tf.function` and its kin: Python functions marked for graphs, which here run eagerly all the same."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from nbtf._devices.cpu import CPU
from nbtf._ops.structure import flatten, is_nested, map_structure, pack_sequence_as
from nbtf._ops.variable import Variable
from nbtf._runtime.context import CURRENT
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import TensorShape, TensorSpec
from nbtf._types import DType, as_dtype, int32
from nbtf.errors import InvalidArgumentError, OpError, UnimplementedError, UnknownError


class Function:
    """A Python function that `tf.function` was applied to; calling it runs the Python code, every time.

    Attributes:
      python_function: the function itself.
      input_signature: the specs of the arguments, or None.
    """

    def __init__(self, python_function: Callable[..., Any], input_signature: Any = None) -> None:
        """Marks a function; `tf.function` is the door."""
        functools.update_wrapper(self, python_function)
        self.python_function = python_function
        self.input_signature = input_signature
        self._bound_to: Any = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the function; numbers, strings, arrays and shapes among its results become tensors, as in TensorFlow."""
        given = self._arguments(args, kwargs)
        result = self.python_function(*given.args, **given.kwargs)
        return result if CURRENT.context.settings.functions_eager else map_structure(_as_result, result)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Binds a method to its object."""
        if instance is None:
            return self
        bound = Function(self.python_function.__get__(instance, owner), self.input_signature)
        bound._bound_to = instance
        return bound

    def __repr__(self) -> str:
        """Names the function."""
        return f"<tf.function {getattr(self.python_function, '__qualname__', self.python_function)!r}, run eagerly>"

    @property
    def name(self) -> str:
        """The function's name."""
        return getattr(self.python_function, "__name__", "function")

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> Any:
        """Refuses: there are no concrete functions.

        Raises:
          UnimplementedError: always; the message says what to do instead.
        """
        raise UnimplementedError(
            None,
            None,
            f"tf.function runs {self.name!r} eagerly and does not make a graph of it, so there is no concrete "
            "function. Call it with tensors; `python_function` is the Python function, `input_signature` its specs.",
        )

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> inspect.BoundArguments:
        """Returns the arguments, made into the tensors of the signature.

        Raises:
          TypeError: they do not suit the function or the signature, in TensorFlow's words.
        """
        signature = inspect.signature(self.python_function)
        try:
            bound = signature.bind(*args, **kwargs)
            if self.input_signature is not None:
                for (name, value), spec in zip(list(bound.arguments.items()), self.input_signature, strict=False):
                    bound.arguments[name] = _cast(value, spec)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"Binding inputs to tf.function failed due to `{error}`. "
                f"Received args: {args} and kwargs: {kwargs} for signature: ({self._shown(signature)})."
            ) from None
        return bound

    def _shown(self, signature: inspect.Signature) -> str:
        specs: list[Any] = list(self.input_signature or ())
        parts: list[str] = []
        for place, parameter in enumerate(signature.parameters.values()):
            text = str(parameter).partition(":")[0].partition("=")[0]
            if place < len(specs):
                text += f": {specs[place]}"
            elif parameter.default is not parameter.empty:
                text += "=<captured_default_value>"
            parts.append(text)
        return ", ".join(parts)


def _as_result(value: Any) -> Any:
    if isinstance(value, TensorShape) and value.is_fully_defined():
        return as_tensor(value.as_list(), int32)
    if isinstance(value, Variable):
        return value.read_value()
    plain = isinstance(value, bool | int | float | complex | str | bytes | CPU.xp.ndarray | CPU.xp.generic)
    return as_tensor(value) if plain else value


def _cast(value: Any, spec: Any) -> Any:
    """Returns an argument as the signature wants it.

    Raises:
      TypeError: it does not suit.
    """
    if is_nested(spec):
        if isinstance(spec, Mapping) and not (isinstance(value, Mapping) and {*value} == {*spec}):
            raise TypeError(f"{value} has different keys with the TraceType Dict[{spec}].")
        parts = flatten(value)
        if len(parts) != len(flatten(spec)):
            raise TypeError(f"Can not cast {value!r} to {spec}")
        return pack_sequence_as(value, [_cast(one, s) for one, s in zip(parts, flatten(spec), strict=True)])
    if not isinstance(spec, TensorSpec):
        if not spec.is_compatible_with(value):
            raise TypeError(f"Can not cast {value!r} to {spec}")
        return value
    tensor = value if isinstance(value, Tensor) else as_tensor(value, spec.dtype)
    if not spec.is_compatible_with(tensor):
        raise TypeError(f"Can not cast {TensorSpec(tensor.shape, tensor.dtype)} to {spec}")
    return tensor


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
    """Marks a Python function. It runs eagerly: nothing is traced, compiled or made faster.

    TensorFlow runs the Python code once for each kind of arguments, makes a graph of it and runs that from then on.
    Here the code runs at every call, so prints and other effects happen every time, and the placement log shows
    the ops inside. Results are the same.

    Args:
      func: the function; left out where `tf.function(...)` is a decorator with arguments.
      input_signature: `tf.TensorSpec`s of the arguments, in a list; arguments are made into such tensors and checked.
      autograph: accepted and ignored; Python's `if` and `while` are Python's.
      jit_compile: accepted and ignored.
      reduce_retracing: accepted and ignored.
      experimental_implements: accepted and ignored.
      experimental_autograph_options: accepted and ignored.
      experimental_attributes: accepted and ignored.
      experimental_relax_shapes: accepted and ignored.
      experimental_compile: accepted and ignored.
      experimental_follow_type_hints: accepted and ignored.

    Returns:
      A callable with `python_function` and `input_signature`; without `func`, a decorator.

    Raises:
      TypeError: `func` cannot be called, or the signature is no list of specs or does not fit it.

    >>> @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    ... def double(x):
    ...     return x + x
    >>> double([1.0, 2.0]).numpy()
    array([2., 4.], dtype=float32)
    """
    if input_signature is not None:
        _check_signature(input_signature)

    def mark(python_function: Any) -> Any:
        if not callable(python_function):
            raise TypeError(f"{python_function!r} is not a callable object")
        if input_signature is not None:
            _check_fits(python_function, input_signature)
        return Function(python_function, None if input_signature is None else tuple(input_signature))

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
        return  # some of C's functions do not tell
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        return
    named = [parameter for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD]
    if named and named[0].name == "self":
        named = named[1:]
    extra = len(input_signature) - len(named)
    if extra > 0:
        raise TypeError(f"input_signature contains {extra} extra type constraints.")
    missing = [one.name for one in named[len(input_signature) :] if one.default is one.empty]
    if missing:
        raise TypeError(f"input_signature missing type constraint for {missing[0]}")


def py_function(
    func: Callable[..., Any] | None = None,
    inp: Any = None,
    Tout: Any = None,  # noqa: N803  # TensorFlow's name
    name: str | None = None,
) -> Any:
    """Calls a Python function with tensors.

    Args:
      func: the function.
      inp: its arguments, in a list.
      Tout: the dtype of its result, or a list of them.
      name: accepted and ignored; eager ops have no names.

    Returns:
      The result as a tensor, or a list of tensors if `Tout` is one.

    Raises:
      InvalidArgumentError: a result is not of its dtype, or `func` raised a TypeError or ValueError.
      ValueError: `func` cannot be called.

    >>> tf.py_function(lambda x: x * 2, [tf.constant(2)], tf.int32).numpy()
    np.int32(4)
    """
    if not callable(func):
        raise ValueError(f"Expected func to be callable. Received func={func} of type {type(func)}.")
    try:
        result = func(*[as_tensor(one) for one in inp or ()])
        if not is_nested(Tout):
            return as_tensor(result, as_dtype(Tout))
        results: list[Any] = [] if result is None else [*result] if is_nested(result) else [result]
        return [as_tensor(one, as_dtype(dtype)) for one, dtype in zip(results, Tout, strict=True)]
    except OpError:
        raise
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(None, None, f"{type(error).__name__}: {error}") from error
    except Exception as error:
        raise UnknownError(None, None, f"{type(error).__name__}: {error}") from error


def numpy_function(
    func: Callable[..., Any] | None = None,
    inp: Any = None,
    Tout: Any = None,  # noqa: N803  # TensorFlow's name
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """Calls a Python function with NumPy arrays; no gradient flows through it.

    Args:
      func: the function.
      inp: its arguments, in a list; tensors become arrays.
      Tout: the dtype of its result, or a list of them; not checked, as in TensorFlow.
      stateful: accepted and ignored.
      name: accepted and ignored; eager ops have no names.

    Returns:
      The result as a tensor, or a list of tensors if `Tout` is one.

    Raises:
      TypeError: `func` cannot be called.

    >>> tf.numpy_function(np.sort, [tf.constant([3, 1, 2])], tf.int32).numpy()
    array([1, 2, 3], dtype=int32)
    """
    if not callable(func):
        raise TypeError(f"'{type(func).__name__}' object is not callable")
    result = func(*[as_tensor(one).numpy() for one in inp or ()])
    if is_nested(Tout):
        return [as_tensor(one) for one in result]
    return as_tensor(result)
