"""Under which name do messages speak of nbtf? Under one that exists in the user's program."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import nbtf
from nbtf._own_name import own_name

OTHER = ModuleType("tensorflow")


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ({}, "tf"),
        ({"tf": nbtf}, "tf"),
        ({"nbtf": nbtf}, "nbtf"),
        ({"nbtf": nbtf, "tf": nbtf}, "tf"),
        ({"tf": OTHER}, "nbtf"),
        ({"tf": OTHER, "nb": nbtf}, "nb"),
        ({"tf": OTHER, "_nb": nbtf}, "nbtf"),
        ({"tensorflow": OTHER}, "tf"),
        ({"tf": 3.0}, "nbtf"),
    ],
    ids=["nothing", "tf", "nbtf", "both", "TensorFlow", "TensorFlow and nb", "private", "tensorflow", "number"],
)
def test_the_name_exists_or_is_the_usual_one(
    monkeypatch: pytest.MonkeyPatch, names: dict[str, Any], expected: str
) -> None:
    monkeypatch.setitem(sys.modules, "__main__", SimpleNamespace(**names))

    assert own_name() == expected


def test_a_hint_is_a_line_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "__main__", SimpleNamespace(tf=OTHER, nbtf=nbtf))
    nbtf.runtime.restart()
    nbtf.add(nbtf.ones([2]), 1)

    with pytest.raises(RuntimeError, match=r"Call nbtf\.runtime\.restart\(\) first") as raised:
        nbtf.runtime.simulate_gpus(3)

    assert " tf." not in str(raised.value)
