"""How does one object lead to another: what follows its name, and what takes the reference away?"""

from __future__ import annotations

from typing import Any, NamedTuple

from nbtf.notebook.holders.introspection import class_name, kind_of

LONGEST_KEY = 60
"""Characters of a dictionary's key that are shown."""

OURS = "nbtf's "
"""Stands before the name of a function of nbtf."""

ITEM = "[…]"
"""Stands for any index, where many entries of a list are told as one."""


class Reference(NamedTuple):
    """One reference of an object.

    `shown` and `code` follow the object's own; `code` is None where no expression leads there. `removal` says what
    takes the reference away: `del` or `None` (an assignment) with the code of what it refers to, `clear` (of a cache),
    `close` (of a session), or nothing. `role` says how to read what it refers to. `local_of` names the function whose
    variable it is. What is `hidden` inside of an object of nbtf is told only if there is no other way.
    """

    text: str = ""
    code: str | None = None
    removal: str = ""
    pattern: str | None = None
    role: str = ""
    names: tuple[str, ...] = ()
    local_of: str = ""
    hidden: bool = False


def key_text(key: Any) -> tuple[str, bool]:
    """Returns a dictionary's key as it is shown, and whether that is its code.

    Only plain keys are shown as they are; others may be anything, and are told by their type.
    """
    cls = kind_of(key)
    if cls is str:
        return (repr(key), True) if len(key) <= LONGEST_KEY else (repr(f"{key[: LONGEST_KEY - 1]}…"), False)
    if cls is bool or key is None or (cls is int and key.bit_length() <= 64):
        return repr(key), True
    return f"<{class_name(cls)}>", False
