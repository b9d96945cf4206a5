"""Argument checks that fail early, with a message that names the argument."""

from __future__ import annotations

from typing import Any


def check_text(value: Any, argument: str) -> str:
    """Returns a string unchanged. Other values raise a TypeError that names the argument."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if not isinstance(value, str):
        raise unexpected(value, argument, "a string")
    return value


def check_number(value: Any, argument: str) -> Any:
    """Returns a real number or scalar tensor unchanged. Other values raise a TypeError that names the argument."""
    if isinstance(value, int | float):
        return value
    dtype = getattr(value, "dtype", None)
    if getattr(value, "shape", None) == () and getattr(dtype, "kind", getattr(dtype, "is_numeric", None)) in _NUMERIC:
        return value
    raise unexpected(value, argument, "a number")


def check_whole(value: Any, argument: str) -> int:
    """Returns an integer. Other values raise a TypeError that names the argument."""
    try:
        return value.__index__()
    except (AttributeError, TypeError):
        raise unexpected(value, argument, "an integer") from None


def check_flag(value: Any) -> bool:
    """Returns a bool. Strings and lists raise a TypeError, although Python treats them as true or false."""
    if not hasattr(value, "__index__"):
        raise TypeError(f"'{type(value).__name__}' object cannot be interpreted as an integer. Expected True or False.")
    return bool(value)


def check_several(value: Any, argument: str, expected: str) -> list[Any]:
    """Returns an iterable as a list. Strings, whose letters are never meant, and single objects raise a TypeError."""
    if isinstance(value, str | bytes):
        raise unexpected(value, argument, expected)
    try:
        return list(value)
    except TypeError:
        raise unexpected(value, argument, expected) from None


def check_has(value: Any, attribute: str, argument: str, expected: str) -> Any:
    """Returns a value that has an attribute. Other values raise a TypeError that names what was expected."""
    if not hasattr(value, attribute):
        raise unexpected(value, argument, expected)
    return value


def unexpected(value: Any, argument: str, expected: str) -> TypeError:
    """Returns the error for an argument of the wrong class."""
    return TypeError(f"`{argument}` must be {expected}. Got {value!r} of {type(value)}")


_NUMERIC = ("i", "u", "f", "b", True)
"""The kinds of NumPy dtypes, with nbtf's words for them."""
