"""Calls of concrete functions, with the tensors among their arguments given by position or by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbtf._graph.signature import TensorType, check_values, leaf_types, type_of
from nbtf._graph.tensor import GraphTensor
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf.errors import InvalidArgumentError

if TYPE_CHECKING:
    from nbtf._graph.concrete_function import ConcreteFunction


def leaves_of_call(concrete: ConcreteFunction, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Returns the tensors and variables among the arguments of a call.

    Raises:
      TypeError: if the arguments do not fit the function.
      InvalidArgumentError: if a tensor has the wrong dtype.
    """
    leaves = [leaf_types(argument, name) for argument, name in zip(concrete.types, concrete.names, strict=True)]
    expected = [leaf for argument in leaves for leaf in argument]
    try:
        values = _of_arguments(concrete, args, kwargs)
    except TypeError as error:
        values = _by_name(concrete, [name for name, _ in expected], args, kwargs, error)
    return [
        _checked(concrete, number, value, argument) if isinstance(argument, TensorType) else value
        for number, (value, (_, argument)) in enumerate(zip(values, expected, strict=True))
    ]


def _of_arguments(concrete: ConcreteFunction, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Returns the tensors in arguments given as for the Python function.

    Raises:
      TypeError: if the arguments do not fit, or if a Python value differs from the traced one.
    """
    bound = concrete.signature.bind(*args, **kwargs)
    leaves: list[Any] = []
    for name, argument in zip(concrete.names, concrete.types, strict=True):
        if name not in bound.arguments:
            if leaf_types(argument, name):
                raise TypeError(f"missing a required argument: {name!r}")
            continue
        value = bound.arguments[name]
        check_values(value, argument)
        if isinstance(argument, TensorType):
            leaves.append(value)
        else:
            type_of(value, leaves)
    return leaves


def _by_name(
    concrete: ConcreteFunction, names: list[str], args: tuple[Any, ...], kwargs: dict[str, Any], error: TypeError
) -> list[Any]:
    """Returns the tensors from a call without Python values; `error` is the reason why the other form did not fit."""
    values = dict(zip(names, args, strict=False))
    twice = [name for name in kwargs if name in values]
    values |= kwargs
    missing = [name for name in names if name not in values]
    unknown = [name for name in values if name not in names]
    if len(args) > len(names):
        problem = f"takes {len(names)} positional arguments, got {len(args)}"
    elif twice:
        problem = f"got two values for {twice[0]!r}"
    elif missing:
        problem = f"missing required arguments: {', '.join(missing)}"
    elif unknown:
        problem = f"got unexpected keyword arguments: {', '.join(unknown)}"
    else:
        return [values[name] for name in names]
    raise TypeError(
        f"Binding inputs to tf.function failed due to `{error}`. "
        f"Received args: {args} and kwargs: {kwargs} for signature: {concrete.function_type}.\n"
        f"Fallback to flat signature also failed due to: {concrete.graph.name}({', '.join(names)}) {problem}."
    ) from None


def _checked(concrete: ConcreteFunction, number: int, value: Any, argument: TensorType) -> Any:
    is_tensor = isinstance(value, Tensor | GraphTensor)
    tensor: Any = value if is_tensor else as_tensor(value, argument.dtype)
    if tensor.dtype is not argument.dtype:
        raise InvalidArgumentError(
            f"cannot compute {concrete.name.decode()} as input #{number}(zero-based) was expected to be a "
            f"{argument.dtype.c_name} tensor but is a {tensor.dtype.c_name} tensor [Op:{concrete.name.decode()}]"
        )
    return tensor
