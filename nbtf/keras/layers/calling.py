"""How a layer reads its arguments: what its `call` takes, what becomes a tensor, and what an outer call says."""

from __future__ import annotations

import inspect
from contextvars import ContextVar
from typing import Any, NamedTuple

from nbtf._ops.creation import convert_to_tensor
from nbtf._ops.elementwise import cast
from nbtf._runtime.blocks import call_variable
from nbtf._runtime.tensor import Tensor
from nbtf._types import DType
from nbtf.keras.kinds import is_dict, is_list
from nbtf.keras.operation import symbolic_in

CALL: ContextVar[Any] = call_variable("nbtf keras training", None)
"""The `training` that layers inside the running call follow, in a tuple; None where no layer runs."""


class Losses:
    """Counts how often `add_loss` was called: a layer need not look for old losses while nobody adds any."""

    count = 0


class Facts(NamedTuple):
    """What the signatures of `call` and `build` say."""

    names: tuple[str, ...]
    has_training: bool
    has_mask: bool
    training_default: Any
    build_names: tuple[str, ...]


_FACTS: dict[Any, Facts] = {}


def facts_of(kind: type) -> Facts:
    """Returns what the signatures of a class say; they are read once."""
    known = _FACTS.get((kind, kind.call, kind.build))  # type: ignore[attr-defined]  # a layer has both
    if known is None:
        layer: Any = kind
        known = _FACTS[(kind, layer.call, layer.build)] = _read(layer.call, layer.build)
    return known


def _read(call: Any, build: Any) -> Facts:
    parameters = dict(list(inspect.signature(call).parameters.items())[1:])
    named = [one.name for one in parameters.values() if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
    training = parameters.get("training")
    default = None if training is None or training.default is inspect.Parameter.empty else training.default
    built_from = list(inspect.signature(build).parameters.values())[1:]
    return Facts(
        tuple(named),
        training is not None,
        "mask" in parameters,
        default,
        tuple(one.name for one in built_from if one.kind is one.POSITIONAL_OR_KEYWORD),
    )


def as_input(value: Any, kind: DType | None, lists: bool = False) -> Any:
    """Returns an argument as `call` gets it: arrays as tensors, floats in the layer's dtype.

    Args:
      value: an argument; nested ones are gone through.
      kind: the dtype that floats get; None leaves them.
      lists: whether nested lists of numbers or texts are one tensor.
    """
    own = value.__class__
    if own is Tensor:
        return _cast(value, kind)
    if value is None or own in (int, float, bool, str) or hasattr(value, "_keras_history"):
        return value
    if own is list or own is tuple or is_list(value):
        if lists and _is_plain(value):
            return _cast(convert_to_tensor(value), kind)
        made = [as_input(one, kind, lists=is_list(one) and _is_plain(one)) for one in value]
        if own is list:
            return made
        build: Any = own
        return build(*made) if hasattr(value, "_fields") else tuple(made)
    if is_dict(value):
        entries: dict[Any, Any] = value
        return {key: as_input(one, kind) for key, one in entries.items()}
    if hasattr(value, "dtype") and not hasattr(value, "flat_values") and not hasattr(value, "dense_shape"):
        return _cast(convert_to_tensor(value), kind)
    return value


def _cast(tensor: Tensor, kind: DType | None) -> Tensor:
    if kind is None or tensor._dtype is kind or not tensor._dtype.is_floating:
        return tensor
    made = cast(tensor, kind)
    mask = getattr(tensor, "_keras_mask", None)
    if mask is not None:
        made._keras_mask = mask  # type: ignore[attr-defined]  # a mask goes with its tensor
    return made


def _is_plain(value: Any) -> bool:
    """Tells whether nested lists hold nothing but numbers or texts, at least one."""
    if is_list(value):
        items: Any = value
        return len(items) > 0 and all(_is_plain(one) for one in items)
    return isinstance(value, int | float | str | bytes)


def has_symbolic(args: Any, kwargs: Any) -> bool:
    """Tells whether a symbolic tensor is among the arguments."""
    return next(symbolic_in((args, kwargs)), None) is not None


def mask_of(value: Any) -> Any:
    """Returns the mask of a tensor, or of those in nested arguments; None if there is none."""
    if is_list(value):
        masks = [mask_of(one) for one in value]
        return None if all(one is None for one in masks) else masks
    return getattr(value, "_keras_mask", None)


def set_mask(value: Any, mask: Any) -> None:
    """Has a mask go with a tensor, or masks with several."""
    if isinstance(value, Tensor):
        value._keras_mask = mask  # type: ignore[attr-defined]  # a mask goes with its tensor
    elif is_list(value) and is_list(mask):
        for one, of_one in zip(value, mask, strict=False):
            if of_one is not None:
                set_mask(one, of_one)
