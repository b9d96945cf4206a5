"""Is the line of the user's program found, whatever stands between it and the package?"""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from nbtf._devices.base import Label, describe_label
from nbtf._devices.sites import NOWHERE, Part, find_call_site, site_of

OURS = "def outer():\n    return inner()\ndef inner():\n    return look()\n"


def asked_by_the_package(look: Any) -> Any:
    """What a function returns that is called by two functions of the package."""
    space: dict[str, Any] = {"__name__": "nbtf._ops.made_up", "look": look}
    exec(OURS, space)
    return space["outer"]()


THIRD = Part(replica=3)
LINE = asked_by_the_package.__code__.co_firstlineno + 4


@pytest.mark.parametrize("inner", [0, 1, 2])
def test_place_is_the_nearest_line_outside_the_package(inner: int) -> None:
    where = asked_by_the_package(partial(find_call_site, THIRD, inner))

    assert ((__file__, LINE), THIRD) == (site_of(where), where[2])


def test_more_inner_frames_than_there_are_change_nothing() -> None:
    assert (__file__, LINE) == site_of(asked_by_the_package(partial(find_call_site, NOWHERE, 10_000)))


def test_line_of_every_instruction_is_found() -> None:
    lines = [
        "where = [look()]",
        "for _ in range(2): where.append(",
        "    look()",
        ")",
        *["x = [1, 2, 3]"] * 300,
        "where.append(look())",
    ]
    space: dict[str, Any] = {"__name__": "__main__", "look": partial(find_call_site, NOWHERE)}

    exec(compile("\n".join(lines), "<cell 7>", "exec"), space)

    assert [("<cell 7>", line) for line in (1, 3, 3, 305)] == [site_of(where) for where in space["where"]]


def test_module_whose_name_is_no_text_is_not_ours() -> None:
    space: dict[str, Any] = {"__name__": None, "look": partial(find_call_site, NOWHERE)}

    exec(compile("where = look()", "<odd>", "exec"), space)

    assert ("<odd>", 1) == site_of(space["where"])


def test_no_place_is_no_site() -> None:
    assert site_of((None, 0, THIRD)) is None


def test_label_tells_its_line_when_asked() -> None:
    label = Label("AddV2", "float32", (2,), asked_by_the_package(partial(find_call_site, NOWHERE)))

    assert Label("AddV2", "float32", (2,), (__file__, LINE)) == describe_label(label)
    assert ("weights", None) == (describe_label("weights"), describe_label(None))
