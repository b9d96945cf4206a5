"""Conversion between strings and bytes for programs that also support Python 2."""

from __future__ import annotations

import os
from typing import Any


def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> bytes:
    r"""Returns a string as bytes; bytes are returned unchanged.

    Args:
      bytes_or_text: a string, bytes or a `bytearray`.
      encoding: name of the text encoding.

    Raises:
      TypeError: if `bytes_or_text` is anything else.

    >>> tf.compat.as_bytes("é")
    b'\xc3\xa9'
    """
    if isinstance(bytes_or_text, bytes | bytearray):
        return bytes(bytes_or_text)
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """Returns bytes as a string; a string is returned unchanged.

    Args:
      bytes_or_text: bytes or a string.
      encoding: name of the text encoding.

    Raises:
      TypeError: if `bytes_or_text` is anything else.

    >>> tf.compat.as_text(b"loss")
    'loss'
    """
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


def as_str(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """Returns the same as `as_text`.

    >>> tf.compat.as_str(tf.constant("loss").numpy())
    'loss'
    """
    return as_text(bytes_or_text, encoding)


def as_str_any(value: Any, encoding: str = "utf-8") -> str:
    """Returns bytes decoded as a string, and `str(value)` for any other value.

    Args:
      value: any object.
      encoding: name of the text encoding.

    >>> tf.compat.as_str_any(b"loss"), tf.compat.as_str_any(3)
    ('loss', '3')
    """
    return as_str(value, encoding) if isinstance(value, bytes) else str(value)


def path_to_str(path: Any) -> Any:
    """Returns a path as a string; any other value is returned unchanged.

    Args:
      path: a `pathlib.Path` or another path-like object.

    >>> import pathlib
    >>> tf.compat.path_to_str(pathlib.PurePosixPath("logs/run1"))
    'logs/run1'
    """
    return as_str_any(path.__fspath__()) if isinstance(path, os.PathLike) else path
