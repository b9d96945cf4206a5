"""What does a page make of the messages of a view? The same as `static/difference.js`, in Python."""

from __future__ import annotations

from typing import Any


def with_difference(old: Any, difference: Any) -> Any:
    """Returns what is there after a difference."""
    if isinstance(difference, list):
        match difference:
            case [first, last, rest]:
                return [*old[first:last], *rest]
            case _:
                return difference[0]
    changed: Any = list(old) if isinstance(old, list | tuple) else dict(old)
    for key, each in difference.items():
        if each == []:
            del changed[key]
        elif isinstance(changed, list):
            changed[int(key)] = with_difference(changed[int(key)], each)
        else:
            changed[key] = with_difference(changed.get(key), each)
    return changed


def states_of(messages: list[dict[str, Any]], pages: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the states that a page has after each message that tells one.

    Args:
      messages: contents of those of comms.
      pages: the states that the page has, by comm; kept up to date.
    """
    states: list[dict[str, Any]] = []
    for message in messages:
        comm, data = message["comm_id"], message["data"]
        content, before = data.get("content", {}), pages.get(comm)
        if "state" in data.get("state", {}):
            pages[comm] = data["state"]["state"]
        elif content.get("kind") == "difference" and before and before["message"] == content["from"]:
            pages[comm] = with_difference(before, content["difference"])
            assert pages[comm]["message"] == content["to"]
        else:
            continue
        states.append(pages[comm])
    return states
