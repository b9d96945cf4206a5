"""One step from an object to another: what it adds to the name, and how to remove the reference."""

from __future__ import annotations

from typing import Any, NamedTuple

from nbtf.notebook.holders.introspection import class_name, kind_of

LONGEST_KEY = 60
"""Maximum length of a dictionary key to show."""

OURS = "nbtf's "
"""Precedes the name of an nbtf function."""

ITEM = "[…]"
"""Placeholder for an index, if many entries of a list are shown as one."""


class Reference(NamedTuple):
    """One reference of an object to another.

    `shown` and `code` are appended to the object's own; `code` is None if no expression reaches the other. `removal`
    determines how to remove the reference: `del` or `None` (an assignment) with the other object's code, `clear` (a
    cache), `close` (a session), or not at all. `role` determines how to read the other object's references. `local_of`
    names the function whose variable it is. A reference `hidden` inside an nbtf object is shown only as a last resort.
    `seal` is the other object's whole name, instead of a path.
    """

    text: str = ""
    code: str | None = None
    removal: str = ""
    pattern: str | None = None
    role: str = ""
    names: tuple[str, ...] = ()
    local_of: str = ""
    hidden: bool = False
    seal: str = ""


def key_text(key: Any) -> tuple[str, bool]:
    """Returns a dictionary key as shown, and whether that text is also its code.

    Only plain keys are shown as they are; others may be any object and are shown by their type.
    """
    cls = kind_of(key)
    if cls is str:
        return (repr(key), True) if len(key) <= LONGEST_KEY else (repr(f"{key[: LONGEST_KEY - 1]}…"), False)
    if cls is bool or key is None or (cls is int and key.bit_length() <= 64):
        return repr(key), True
    return f"<{class_name(cls)}>", False
