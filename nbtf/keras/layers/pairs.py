"""How sizes, strides and data formats of images and sequences are written."""

from __future__ import annotations

from typing import Any

from nbtf.keras.type_guards import is_list


def data_format_of(value: str | None) -> str:
    """Returns the data format: `"channels_last"` unless said otherwise.

    Raises:
      ValueError: there is no such format.
    """
    if value is None:
        return "channels_last"
    if value not in ("channels_last", "channels_first"):
        raise ValueError(
            f"The `data_format` argument must be one of 'channels_first', 'channels_last'. Received: {value}"
        )
    return value


def channels_first(data_format: str) -> bool:
    """Tells whether the channels stand before height and width."""
    return data_format == "channels_first"


def pair(value: Any, name: str, count: int = 2, minimum: int = 1) -> tuple[int, ...]:
    """Returns a length for each axis.

    Args:
      value: a number for all, or one for each.
      name: of the argument, for the error.
      count: how many axes there are.
      minimum: what each must be at least.

    Raises:
      ValueError: it is neither, in Keras' words.
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
    """Returns a padding in small letters.

    Raises:
      ValueError: there is no such padding, in Keras' words.
    """
    paddings = {"valid", "same", "causal"} if causal else {"valid", "same"}
    if not isinstance(value, str) or value.lower() not in paddings:
        choices = "{'valid', 'same', 'causal'}" if causal else "{'valid', 'same'}"
        raise ValueError(f"The `padding` argument must be a list/tuple or one of {choices}. Received: {value}")
    return value.lower()


def length_after(length: int | None, window: int, stride: int, padding: str, dilation: int = 1) -> int | None:
    """Returns how many places a window has along an axis; None if the length is not known."""
    if length is None:
        return None
    if padding != "valid":
        return -(-length // stride)
    return (length - dilation * (window - 1) - 1) // stride + 1
