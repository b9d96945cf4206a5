"""Unique names for the nodes and scopes of a graph."""

from __future__ import annotations

import re

# Source: python/framework/ops.py of TensorFlow 2.21; both texts appear in error messages, backslashes included.
VALID_OP_NAME = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*$")
VALID_SCOPE_NAME = re.compile(r"^[A-Za-z0-9_.\\/>-]*$")


def check_node_name(name: str) -> None:
    """Raises `ValueError` if the name is not valid for a node."""
    if not VALID_OP_NAME.match(name):
        raise ValueError(f"`{name}` is not a valid node name. Accepted names conform to Regex /{VALID_OP_NAME}/")


def check_scope_name(name: str, inside: str) -> None:
    """Raises `ValueError` if the name is not valid for a scope inside another one, or at the root."""
    pattern, role = (VALID_SCOPE_NAME, "scope") if inside else (VALID_OP_NAME, "root scope")
    if not pattern.match(name):
        raise ValueError(
            f"'{name}' is not a valid {role} name. A {role} name has to match the following pattern: {pattern.pattern}"
        )


class Names:
    """The names of nodes and scopes in use, compared without regard to case."""

    __slots__ = ("_in_use",)

    def __init__(self) -> None:
        """Starts without names."""
        self._in_use: dict[str, int] = {}

    def unique(self, name: str, mark_as_used: bool = True) -> str:
        """Returns the name, or the name with the first free number appended: `x`, `x_1`, `x_2`.

        Args:
          name: the full name, including scopes.
          mark_as_used: whether to reserve the name.
        """
        key = name.lower()
        number = self._in_use.get(key, 0)
        if mark_as_used:
            self._in_use[key] = number + 1
        if not number:
            return name
        candidate = key
        while candidate in self._in_use:
            candidate = f"{key}_{number}"
            number += 1
        if mark_as_used:
            self._in_use[candidate] = 1
        return f"{name}_{number - 1}"
