"""Default names of layers, variables, losses and metrics, and the paths in front of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from nbtf._locks import new_lock
from nbtf._runtime.blocks import call_variable

_USED: Counter[str] = Counter()
_NAMING = new_lock()
_PATH: ContextVar[tuple[str, ...]] = call_variable("nbtf keras path", ())


def snake_case(name: str) -> str:
    """Returns a class name in snake case, with which the default names of its objects begin.

    >>> snake_case("BatchNormalization"), snake_case("Conv2D"), snake_case("RMSprop")
    ('batch_normalization', 'conv2d', 'rm_sprop')
    """
    name = re.sub(r"\W+", "", name)
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()


def auto_name(prefix: str) -> str:
    """Returns a name that no other object of this kind has: `dense`, `dense_1`."""
    with _NAMING:
        number = _USED[prefix]
        _USED[prefix] += 1
    return f"{prefix}_{number}" if number else prefix


def checked_name(name: Any) -> str:
    """Returns a name unchanged if it is valid.

    Raises:
      ValueError: if `name` is not a string or contains `/`, which separates the names in a path.
    """
    if isinstance(name, str) and "/" not in name:
        return name
    raise ValueError(f"Argument `name` must be a string and cannot contain character `/`. Received: name={name}")


def forget_names() -> None:
    """Resets the counters: the next `Dense` is called `dense`."""
    _USED.clear()


def path_of(name: str) -> str:
    """Returns a name with the current path in front: `dense/kernel`."""
    return "/".join((*_PATH.get(), name))


@contextmanager
def inside(path: str) -> Generator[None]:
    """Puts a path in front of the names created in the block, instead of the current one."""
    outer_path = _PATH.get()
    try:
        _PATH.set(tuple(path.split("/")))
        yield
    finally:
        _PATH.set(outer_path)
