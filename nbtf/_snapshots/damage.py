"""What does the error about a damaged snapshot say? The file, the place in it, its content, and what was expected."""

from __future__ import annotations

from typing import Any

from nbtf._storage.refusal import RefusedFileError

LARGEST = (1 << 63) - 1
"""The largest address, size and time that is read; addresses of CUDA have at most 57 bits."""


def damaged(source: str, location: str, value: Any, expected: str) -> RefusedFileError:
    """Returns the error for an unexpected value.

    Args:
      source: the file.
      location: the place in the file, such as `segments[0].address`.
      value: the content of this place.
      expected: what should be there.
    """
    text = "missing" if value is None else _described(value)
    return RefusedFileError(f"{source} is damaged: {location} is {text}; expected {expected}.")


def whole_number(source: str, location: str, value: Any, smallest: int = 0) -> int:
    """Returns a value after checking that it is an integer that the columns of a snapshot can hold.

    Raises:
      RefusedFileError: if it is not.
    """
    if type(value) is not int or not smallest <= value <= LARGEST:
        raise damaged(source, location, value, f"an integer from {smallest} to 2^63 - 1")
    return value


def _described(value: Any) -> str:
    if isinstance(value, list):
        return f"a list of {len(value)}"  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, dict):
        return f"a dictionary with {', '.join(f'{key!s:.20}' for key in list(value)[:5]) or 'nothing'}"  # pyright: ignore
    if isinstance(value, int) and not -(1 << 80) < value < 1 << 80:
        return "an integer with too many digits"
    return f"{value!r:.60}" if isinstance(value, str | int | float | bytes) else f"a {type(value).__name__}"
