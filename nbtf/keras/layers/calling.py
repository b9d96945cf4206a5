"""How a layer reads its arguments: the signature of `call`, the conversion to tensors, and the error text."""

from __future__ import annotations

import inspect
from contextvars import ContextVar
from typing import Any, NamedTuple

from nbtf import nest
from nbtf._ops.arrays.creation import convert_to_tensor
from nbtf._ops.math.arithmetic import cast
from nbtf._runtime.blocks import call_variable
from nbtf._runtime.tensor import Tensor
from nbtf._types import DType
from nbtf.errors import OpError
from nbtf.keras.operation import symbolic_in
from nbtf.keras.type_guards import is_dict, is_list

CALL: ContextVar[Any] = call_variable("nbtf keras training", None)
"""The `training` argument for layers within the running call, in a tuple; None outside of layers."""


class Losses:
    """Counts calls of `add_loss`, so that layers need not check for old losses when none were added."""

    count = 0


class Facts(NamedTuple):
    """The signatures of `call` and `build`."""

    names: tuple[str, ...]
    has_training: bool
    has_mask: bool
    training_default: Any
    build_names: tuple[str, ...]


_FACTS: dict[Any, Facts] = {}


def facts_of(layer_class: type) -> Facts:
    """Returns the signatures of a class, which are read once."""
    facts = _FACTS.get((layer_class, layer_class.call, layer_class.build))  # type: ignore[attr-defined]  # a layer has both
    if facts is None:
        layer: Any = layer_class
        facts = _FACTS[(layer_class, layer.call, layer.build)] = _read(layer.call, layer.build)
    return facts


def _read(call: Any, build: Any) -> Facts:
    parameters = dict(list(inspect.signature(call).parameters.items())[1:])
    names = [
        parameter.name
        for parameter in parameters.values()
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    ]
    training = parameters.get("training")
    default = None if training is None or training.default is inspect.Parameter.empty else training.default
    built_from = list(inspect.signature(build).parameters.values())[1:]
    return Facts(
        tuple(names),
        training is not None,
        "mask" in parameters,
        default,
        tuple(parameter.name for parameter in built_from if parameter.kind is parameter.POSITIONAL_OR_KEYWORD),
    )


def as_input(value: Any, dtype: DType | None, lists: bool = False) -> Any:
    """Returns an argument as `call` receives it: arrays as tensors, floats in the layer's dtype.

    Args:
      value: an argument, which may be nested.
      dtype: dtype of floats; None leaves them unchanged.
      lists: whether nested lists of numbers or strings become a single tensor.
    """
    value_class = value.__class__
    if value_class is Tensor:
        return _cast(value, dtype)
    if value is None or value_class in (int, float, bool, str) or hasattr(value, "_keras_history"):
        return value
    if value_class is list or value_class is tuple or is_list(value):
        if lists and _is_plain(value):
            return _cast(convert_to_tensor(value), dtype)
        items = [as_input(item, dtype, lists=is_list(item) and _is_plain(item)) for item in value]
        if value_class is list:
            return items
        build: Any = value_class
        return build(*items) if hasattr(value, "_fields") else tuple(items)
    if is_dict(value):
        return {key: as_input(entry, dtype) for key, entry in value.items()}
    if hasattr(value, "dtype") and not hasattr(value, "flat_values") and not hasattr(value, "dense_shape"):
        return _cast(convert_to_tensor(value), dtype)
    return value


def _cast(tensor: Tensor, dtype: DType | None) -> Tensor:
    if dtype is None or tensor._dtype is dtype or not tensor._dtype.is_floating:
        return tensor
    converted = cast(tensor, dtype)
    mask = getattr(tensor, "_keras_mask", None)
    if mask is not None:
        converted._keras_mask = mask  # type: ignore[attr-defined]  # the mask of a tensor is kept as its attribute
    return converted


def _is_plain(value: Any) -> bool:
    """Returns whether nested lists contain only numbers or strings, and at least one."""
    if is_list(value):
        return len(value) > 0 and all(_is_plain(item) for item in value)
    return isinstance(value, int | float | str | bytes)


def has_symbolic(args: Any, kwargs: Any) -> bool:
    """Returns whether the arguments contain a symbolic tensor."""
    return next(symbolic_in((args, kwargs)), None) is not None


def mask_of(value: Any) -> Any:
    """Returns the mask of a tensor, or the masks of nested tensors; None if no tensor has one."""
    if is_list(value):
        masks = [mask_of(item) for item in value]
        return None if all(mask is None for mask in masks) else masks
    return getattr(value, "_keras_mask", None)


def set_mask(value: Any, mask: Any) -> None:
    """Attaches a mask to a tensor, or masks to several tensors."""
    if isinstance(value, Tensor):
        value._keras_mask = mask  # type: ignore[attr-defined]  # the mask of a tensor is kept as its attribute
    elif is_list(value) and is_list(mask):
        for item, item_mask in zip(value, mask, strict=False):
            if item_mask is not None:
                set_mask(item, item_mask)


def failure_of_call(error: Exception, layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Exception:
    """Returns the error to raise when a layer's `call` failed: of the same class, with the call in its text.

    If layers are nested, the innermost one is named: an error that already names a layer is returned unchanged.

    Source: Keras 3, `traceback_utils.inject_argument_info_in_traceback`.
    """
    if hasattr(error, "_keras_call_info_injected"):
        return error
    signature = inspect.signature(layer.call)
    try:
        values = signature.bind(*args, **kwargs).arguments
    except TypeError:
        return error
    caller = f"{type(layer).__name__}.call()"
    arguments = [
        f"\n  • {name}={nest.map_structure(_argument, values[name]) if name in values else parameter.default}"
        for name, parameter in signature.parameters.items()
    ]
    reason = error.message if isinstance(error, OpError) else error.args[0] if error.args else ""
    text = f"Exception encountered when calling {caller}.\n\n\x1b[1m{reason}\x1b[0m"
    if arguments:
        text += f"\n\nArguments received by {caller}:{''.join(arguments)}"
    failure: Any = _with_text(error, text)
    failure._keras_call_info_injected = True
    return failure


def _argument(value: Any) -> str:
    """Returns a short description of an argument; for a tensor, its shape and dtype."""
    return f"tf.Tensor(shape={value.shape}, dtype={value.dtype.name})" if isinstance(value, Tensor) else repr(value)


def _with_text(error: Exception, text: str) -> Exception:
    """Returns an error of the same class with another text; a RuntimeError if the class needs further arguments."""
    if isinstance(error, OpError):  # its classes have attributes besides the text
        error._message = text
        return error
    try:
        failure = type(error)(text)
    except TypeError:
        failure = RuntimeError(text)
    failure.__dict__.update(error.__dict__)  # includes notes
    return failure.with_traceback(error.__traceback__)
