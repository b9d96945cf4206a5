"""The inputs that a layer accepts, the window arguments of layers, and the errors for invalid values."""

from __future__ import annotations

from typing import Any

from nbtf import nest
from nbtf.keras.dtypes import standardized
from nbtf.keras.type_guards import is_dict, is_list


class InputSpec:
    """Specifies the requirements of an input.

    Args:
      dtype: required dtype; None for any.
      shape: required shape, with None for any length.
      ndim: required number of axes.
      max_ndim: largest number of axes.
      min_ndim: smallest number of axes.
      axes: required lengths by axis; None for any length.
      allow_last_axis_squeeze: whether a last axis of length 1 may be missing; false by default.
      name: key of the input if inputs are given as a dictionary.
      optional: whether the input may be None; false by default.
    """

    def __init__(
        self,
        dtype: Any = None,
        shape: Any = None,
        ndim: int | None = None,
        max_ndim: int | None = None,
        min_ndim: int | None = None,
        axes: dict[Any, Any] | None = None,
        allow_last_axis_squeeze: bool = False,
        name: str | None = None,
        optional: bool = False,
    ) -> None:
        self.dtype: str | None = None if dtype is None else standardized(dtype)
        self.shape: tuple[Any, ...] | None = None if shape is None else tuple(shape)
        self.ndim: int | None = ndim if self.shape is None else len(self.shape)
        self.max_ndim: int | None = max_ndim
        self.min_ndim: int | None = min_ndim
        self.axes: dict[int, Any] = {int(axis): length for axis, length in dict(axes or {}).items()}
        self.allow_last_axis_squeeze = allow_last_axis_squeeze
        self.name: str | None = name
        self.optional: bool = optional

    def __repr__(self) -> str:
        requirements = {
            "dtype": self.dtype,
            "shape": self.shape,
            "ndim": self.ndim,
            "max_ndim": self.max_ndim,
            "min_ndim": self.min_ndim,
            "axes": self.axes or None,
        }
        return f"InputSpec({', '.join(f'{key}={value}' for key, value in requirements.items() if value is not None)})"

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor arguments as a dictionary."""
        names = ("dtype", "shape", "ndim", "max_ndim", "min_ndim", "axes")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> InputSpec:
        """Creates a specification from the result of `get_config`."""
        return cls(**config)


def shape_of(value: Any) -> tuple[int | None, ...]:
    """Returns the shape of a tensor as a tuple."""
    shape = value.shape
    return tuple(shape) if shape.__class__ is not tuple else shape


def shapes_of(value: Any) -> Any:
    """Returns the shapes in a structure of tensors, with lists in place of tuples."""
    if is_list(value):
        return [shapes_of(item) for item in value]
    if is_dict(value):
        return {key: shapes_of(entry) for key, entry in value.items()}
    return shape_of(value)


def check_inputs(input_spec: Any, inputs: Any, name: str) -> None:
    """Checks inputs against the specification of a layer.

    Raises:
      ValueError: if an input does not match.
    """
    specs: list[Any] = nest.flatten(input_spec)
    values: list[Any] = nest.flatten(inputs)
    if len(values) != len(specs):
        raise ValueError(
            f'Layer "{name}" expects {len(specs)} input(s), but it received {len(values)} input tensors. '
            f"Inputs received: {inputs}"
        )
    for number, (value, spec) in enumerate(zip(values, specs, strict=True)):
        if spec is not None and not (spec.optional and value is None):
            wrong = _wrong(shape_of(value), getattr(value, "dtype", None), spec)
            if wrong:
                subject = f"Input {number} with name '{spec.name}' of layer '{name}'"
                raise ValueError(f"{subject} is incompatible with the layer: {wrong}")


def _wrong(shape: tuple[int | None, ...], dtype: Any, spec: InputSpec) -> str | None:
    """Returns a text that describes the mismatch of an input, or None if it matches."""
    rank = len(shape)
    squeezed = spec.allow_last_axis_squeeze and spec.shape is not None
    if spec.ndim is not None and rank != spec.ndim and not squeezed:
        return f"expected ndim={spec.ndim}, found ndim={rank}. Full shape received: {shape}"
    if spec.max_ndim is not None and rank > spec.max_ndim:
        return f"expected max_ndim={spec.max_ndim}, found ndim={rank}"
    if spec.min_ndim is not None and rank < spec.min_ndim:
        return f"expected min_ndim={spec.min_ndim}, found ndim={rank}. Full shape received: {shape}"
    if spec.dtype is not None and dtype is not None and standardized(dtype) != spec.dtype:
        return f"expected dtype={spec.dtype}, found dtype={dtype}"
    for axis, length in spec.axes.items():
        if length is not None and shape[axis] not in (length, None):
            return f"expected axis {axis} of input shape to have value {length}, but received input with shape {shape}"
    if spec.shape is not None and not _fits(shape, spec.shape, squeezed):
        return f"expected shape={spec.shape}, found shape={shape}"
    return None


def _fits(shape: tuple[int | None, ...], expected: tuple[int | None, ...], squeezed: bool) -> bool:
    if squeezed:
        shape = shape[:-1] if shape and shape[-1] == 1 else shape
        expected = expected[:-1] if expected and expected[-1] == 1 else expected
    return len(shape) == len(expected) and all(
        None in (have, want) or have == want for have, want in zip(shape, expected, strict=True)
    )


def data_format_of(value: str | None) -> str:
    """Returns the data format, `"channels_last"` by default.

    Raises:
      ValueError: if the format does not exist.
    """
    if value is None:
        return "channels_last"
    if value not in ("channels_last", "channels_first"):
        raise ValueError(
            f"The `data_format` argument must be one of 'channels_first', 'channels_last'. Received: {value}"
        )
    return value


def channels_first(data_format: str) -> bool:
    """Returns whether the channels come before height and width."""
    return data_format == "channels_first"


def pair(value: Any, name: str, count: int = 2, minimum: int = 1) -> tuple[int, ...]:
    """Returns a length for each axis.

    Args:
      value: a number for all axes, or one for each.
      name: name of the argument, for the error.
      count: number of axes; 2 by default.
      minimum: smallest allowed number; 1 by default.

    Raises:
      ValueError: if `value` has another form or contains a smaller number.
    """
    lengths = (value,) * count if isinstance(value, int) else value
    problem = f"The `{name}` argument must be a tuple of {count} integers. Received {name}={value}"
    if not is_list(lengths) or len(lengths) != count:
        raise ValueError(problem)
    items: Any = lengths
    if any(not isinstance(length, int) for length in items):
        raise ValueError(problem)
    wrong = {length for length in items if length < minimum}
    if wrong:
        raise ValueError(f"{problem}, including values {wrong} that do not satisfy `value > {minimum - 1}`")
    return tuple(items)


def padding_of(value: Any, causal: bool = False) -> str:
    """Returns a padding in lower case.

    Raises:
      ValueError: if the padding does not exist.
    """
    paddings = {"valid", "same", "causal"} if causal else {"valid", "same"}
    if not isinstance(value, str) or value.lower() not in paddings:
        choices = "{'valid', 'same', 'causal'}" if causal else "{'valid', 'same'}"
        raise ValueError(f"The `padding` argument must be a list/tuple or one of {choices}. Received: {value}")
    return value.lower()


def length_after(length: int | None, window: int, stride: int, padding: str, dilation: int = 1) -> int | None:
    """Returns the number of window positions along an axis; None if the length is unknown."""
    if length is None:
        return None
    if padding != "valid":
        return -(-length // stride)
    return (length - dilation * (window - 1) - 1) // stride + 1
