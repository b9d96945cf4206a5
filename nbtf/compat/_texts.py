"""Texts and bytes, as programs that ran on Python 2 as well convert them."""

from __future__ import annotations

import os
from typing import Any


def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> bytes:
    r"""Returns a text as bytes; bytes come back as they are.

    Args:
      bytes_or_text: a text, bytes or a `bytearray`.
      encoding: how letters become bytes.

    Raises:
      TypeError: if it is something else.

    >>> tf.compat.as_bytes("é")
    b'\xc3\xa9'
    """
    if isinstance(bytes_or_text, bytes | bytearray):
        return bytes(bytes_or_text)
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """Returns bytes as a text; a text comes back as it is.

    Args:
      bytes_or_text: bytes or a text.
      encoding: how bytes become letters.

    Raises:
      TypeError: if it is something else.

    >>> tf.compat.as_text(b"loss")
    'loss'
    """
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


def as_str(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """Returns what `as_text` does.

    >>> tf.compat.as_str(tf.constant("loss").numpy())
    'loss'
    """
    return as_text(bytes_or_text, encoding)


def as_str_any(value: Any, encoding: str = "utf-8") -> str:
    """Returns bytes as a text, and of any other value `str(value)`.

    Args:
      value: anything.
      encoding: how bytes become letters.

    >>> tf.compat.as_str_any(b"loss"), tf.compat.as_str_any(3)
    ('loss', '3')
    """
    return as_str(value, encoding) if isinstance(value, bytes) else str(value)


def path_to_str(path: Any) -> Any:
    """Returns a path as a text; any other value comes back as it is.

    Args:
      path: a `pathlib.Path`, or another object that is a path.

    >>> import pathlib
    >>> tf.compat.path_to_str(pathlib.PurePosixPath("logs/run1"))
    'logs/run1'
    """
    return as_str_any(path.__fspath__()) if isinstance(path, os.PathLike) else path
