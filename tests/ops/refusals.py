"""How a test says that a call is refused, and in which words."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import nbtf
from nbtf.errors import InvalidArgumentError

untyped: Any = nbtf
"""The namespace without types, for calls that a type checker refuses as well."""


def refused(call: Callable[[], Any], text: str, error: type[Exception] = InvalidArgumentError) -> None:
    """Checks that a call raises such an error, whose text begins so after TensorFlow's frame."""
    with pytest.raises(error) as caught:
        call()
    assert re.sub(r"^\{\{.*?\}\} ", "", str(caught.value)).startswith(text)
