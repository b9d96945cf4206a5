"""The parameters of a traced function: how a call's arguments fit its Python signature and its input signature."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nbtf._graph.handles import is_spec, stand_in
from nbtf._graph.signature import ArgumentType, check_values, type_of, type_text
from nbtf._graph.tensor import GraphTensor
from nbtf._ops.structure import flatten, is_nested, pack_sequence_as
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tensor import Tensor
from nbtf._shapes import TensorShape, TensorSpec
from nbtf._types import DType


class Parameters:
    """The parameters of a function, and the spec that each takes from the input signature.

    Attributes:
      signature: the Python signature.
    """

    def __init__(self, python_function: Callable[..., Any], input_signature: Sequence[Any] | None) -> None:
        """Reads the Python signature; `*args` gets all remaining specs."""
        self.signature = inspect.signature(python_function)
        self._is_specified = input_signature is not None
        self._specs: tuple[Any, ...] = tuple(input_signature or ())
        self._all = list(self.signature.parameters.values())
        starred = [number for number, parameter in enumerate(self._all) if parameter.kind is parameter.VAR_POSITIONAL]
        if self._specs and starred:
            self._specs = *self._specs[: starred[0]], self._specs[starred[0] :]

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Returns the arguments of a call by name, converted to the tensors of the signature.

        Raises:
          TypeError: if they do not fit the function or the signature; the text is TensorFlow's.
        """
        try:
            bound = self.signature.bind(*args, **kwargs)
            bound.apply_defaults()
            if self._is_specified:
                for (name, value), spec in zip(list(bound.arguments.items()), self._specs, strict=False):
                    bound.arguments[name] = _cast(value, spec)
                for parameter in self._all[len(self._specs) :]:  # the others keep their defaults
                    if parameter.default is not parameter.empty:
                        check_values(bound.arguments[parameter.name], type_of(parameter.default, []))
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"Binding inputs to tf.function failed due to `{error}`. "
                f"Received args: {args} and kwargs: {kwargs} for signature: ({self._text()})."
            ) from None
        return bound.arguments

    def types(self, arguments: Mapping[str, Any], leaves: list[Any]) -> tuple[ArgumentType, ...]:
        """Returns the types of bound arguments, and adds their tensors and variables to `leaves`.

        An argument that the input signature describes has the type of its spec.
        """
        types = [type_of(stand_in(value), leaves) for value in arguments.values()]
        specified = [
            type_of(stand_in(spec), []) if all([is_spec(leaf) for leaf in flatten(spec)]) else argument
            for argument, spec in zip(types, self._specs, strict=False)
        ]
        return *specified, *types[len(specified) :]

    def _text(self) -> str:
        texts: list[str] = []
        for number, parameter in enumerate(self._all):
            text = str(parameter).partition(":")[0].partition("=")[0]
            if number < len(self._specs):
                text += f": {self._specs[number]}"
            elif parameter.default is not parameter.empty:
                literal = f": {type_text(type_of(parameter.default, []))} = " if self._specs else "="
                text += f"{literal}<captured_default_value>"
            texts.append(text)
        return ", ".join(texts)


def _cast(value: Any, spec: Any) -> Any:
    """Returns an argument converted to its spec.

    Raises:
      TypeError: if it does not fit.
    """
    if is_nested(spec):
        if _keys(spec) is not None and _keys(value) != _keys(spec):
            raise TypeError(f"{value} has different keys with the TraceType Dict[{spec}].")
        if value.__class__ is tuple and spec.__class__ is tuple and len(value) == len(spec):
            return tuple(map(_cast, value, spec))  # a list in it may become a tensor
        leaves = flatten(value)
        if len(leaves) != len(flatten(spec)):
            raise TypeError(f"Can not cast {value!r} to {spec}")
        return pack_sequence_as(value, [_cast(leaf, s) for leaf, s in zip(leaves, flatten(spec), strict=True)])
    if not isinstance(spec, TensorSpec):
        if not spec.is_compatible_with(value):
            raise TypeError(f"Can not cast {value!r} to {spec}")
        return value
    tensor = value if isinstance(value, Tensor | GraphTensor | TensorSpec) else as_tensor(value, spec.dtype)
    if not (spec.dtype is tensor.dtype and spec.shape.is_compatible_with(tensor.shape)):
        raise TypeError(f"Can not cast {TensorSpec(tensor.shape, tensor.dtype)} to {spec}")
    return tensor


def _keys(value: Any) -> set[Any] | None:
    return {*value} if isinstance(value, Mapping) else None


def check_specs(input_signature: Any) -> None:
    """Raises `TypeError` if an input signature is not a list of specs."""
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


def check_fits(python_function: Any, input_signature: Sequence[Any]) -> None:
    """Raises `TypeError` if an input signature has too many or too few specs for a function's parameters."""
    try:
        parameters = list(inspect.signature(python_function).parameters.values())
    except ValueError:
        return  # some C functions have no signature
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        return
    parameters = [parameter for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD]
    if parameters and parameters[0].name == "self":
        parameters = parameters[1:]
    extra = len(input_signature) - len(parameters)
    if extra > 0:
        raise TypeError(f"input_signature contains {extra} extra type constraints.")
    missing = [
        parameter.name for parameter in parameters[len(input_signature) :] if parameter.default is parameter.empty
    ]
    if missing:
        raise TypeError(f"input_signature missing type constraint for {missing[0]}")
