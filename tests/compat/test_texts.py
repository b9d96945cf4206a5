"""`tf.compat.as_str` and its sisters."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest

import nbtf as tf

CALLS: list[tuple[str, Any, Any]] = [
    ("as_bytes", "é", b"\xc3\xa9"),
    ("as_bytes", b"x", b"x"),
    ("as_bytes", bytearray(b"x"), b"x"),
    ("as_text", b"\xc3\xa9", "é"),
    ("as_text", "x", "x"),
    ("as_str", b"x", "x"),
    ("as_str", "x", "x"),
    ("as_str_any", b"x", "x"),
    ("as_str_any", 3, "3"),
    ("as_str_any", None, "None"),
    ("path_to_str", pathlib.PurePosixPath("a/b"), "a/b"),
    ("path_to_str", "a/b", "a/b"),
    ("path_to_str", 3, 3),
]


@pytest.mark.parametrize(("name", "value", "expected"), CALLS)
def test_texts_and_bytes_become_each_other(name: str, value: Any, expected: Any) -> None:
    for compat in (tf.compat, tf.compat.v1.compat):
        result = getattr(compat, name)(value)

        assert expected == result
        assert type(expected) is type(result)


@pytest.mark.parametrize("name", ["as_bytes", "as_text", "as_str"])
@pytest.mark.parametrize("value", [3, None, ["a"]])
def test_other_values_are_refused(name: str, value: Any) -> None:
    with pytest.raises(TypeError, match=r"^Expected binary or unicode string, got "):
        getattr(tf.compat, name)(value)


def test_another_encoding_is_used() -> None:
    assert b"\xe9" == tf.compat.as_bytes("é", "latin-1")
    assert "é" == tf.compat.as_text(b"\xe9", encoding="latin-1") == tf.compat.as_str_any(b"\xe9", "latin-1")
    with pytest.raises(UnicodeDecodeError):
        tf.compat.as_text(b"\xe9")
