"""How a concrete function is called: with the tensors among its arguments, by position or by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbtf._graph.signature import TensorType, leaf_types, type_of
from nbtf._graph.tensor import GraphTensor
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf.errors import InvalidArgumentError

if TYPE_CHECKING:
    from nbtf._graph.concrete_function import ConcreteFunction


def leaves_of_call(concrete: ConcreteFunction, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Returns the tensors and variables among the arguments of a call.

    Raises:
      TypeError: these are not its arguments.
      InvalidArgumentError: a tensor has another dtype.
    """
    leaves = [leaf_types(argument, name) for argument, name in zip(concrete.types, concrete.names, strict=True)]
    expected = [leaf for argument in leaves for leaf in argument]
    values = _of_arguments(concrete, args, kwargs)
    if values is None:
        values = _by_name(concrete, [name for name, _ in expected], args, kwargs)
    return [
        _checked(concrete, number, value, argument) if isinstance(argument, TensorType) else value
        for number, (value, (_, argument)) in enumerate(zip(values, expected, strict=True))
    ]


def _of_arguments(concrete: ConcreteFunction, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any] | None:
    """Returns the tensors in arguments given as the Python function takes them; None where they are not."""
    try:
        bound = concrete.signature.bind(*args, **kwargs)
    except TypeError:
        return None
    leaves: list[Any] = []
    for name, argument in zip(concrete.names, concrete.types, strict=True):
        if name not in bound.arguments:
            if leaf_types(argument, name):
                return None
            continue
        count = len(leaf_types(argument, name))
        value = bound.arguments[name]
        if isinstance(argument, TensorType):
            leaves.append(value)
            continue
        values: list[Any] = []
        if type_of(value, values) != argument and len(values) != count:
            return None
        leaves += values
    return leaves


def _by_name(concrete: ConcreteFunction, names: list[str], args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Returns the tensors given alone, without Python values."""
    function = f"{concrete.graph.name}({', '.join(names)})"
    if len(args) > len(names):
        raise TypeError(f"{function} takes {len(names)} positional arguments, got {len(args)}.")
    values = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        if name in values:
            raise TypeError(f"{function} got two values for {name!r}.")
        values[name] = value
    missing = [name for name in names if name not in values]
    if missing:
        raise TypeError(f"{function} missing required arguments: {', '.join(missing)}.")
    unknown = [name for name in values if name not in names]
    if unknown:
        raise TypeError(f"{function} got unexpected keyword arguments: {', '.join(unknown)}.")
    return [values[name] for name in names]


def _checked(concrete: ConcreteFunction, number: int, value: Any, argument: TensorType) -> Any:
    is_tensor = isinstance(value, Tensor | GraphTensor)
    tensor: Any = value if is_tensor else as_tensor(value, argument.dtype)
    if tensor.dtype is not argument.dtype:
        raise InvalidArgumentError(
            f"cannot compute {concrete.name.decode()} as input #{number}(zero-based) was expected to be a "
            f"{argument.dtype.c_name} tensor but is a {tensor.dtype.c_name} tensor [Op:{concrete.name.decode()}]"
        )
    return tensor
