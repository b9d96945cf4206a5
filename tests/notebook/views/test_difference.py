"""Does a page that is told differences know the same as one that is told everything?"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtf.notebook.stills import esm
from nbtf.notebook.views.difference import difference
from tests.notebook.differences import with_difference

NUMBERS = st.integers(-3, 3) | st.booleans() | st.none() | st.sampled_from(["", "a", "0", 0.5])
PLAIN = st.recursive(
    NUMBERS,
    lambda inside: st.lists(inside, max_size=5) | st.dictionaries(st.sampled_from("abc0"), inside, max_size=3),
    max_leaves=12,
)
STATE = st.dictionaries(st.sampled_from("abc0"), PLAIN, max_size=3)


def written(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


@given(STATE, STATE)
def test_a_state_and_a_difference_are_the_next_state(old: Any, new: Any) -> None:
    assert written(new) == written(with_difference(old, json.loads(written(difference(old, new)))))


@given(PLAIN)
def test_of_what_stays_nothing_is_said(value: Any) -> None:
    assert {} == difference(value, json.loads(written(value)))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        pytest.param({"a": 1, "b": 2}, {"a": 1, "b": 3}, {"b": [3]}, id="a number"),
        pytest.param({"a": 1, "b": 2}, {"b": 2}, {"a": []}, id="a key goes"),
        pytest.param([[1], [2], [3]], [[2], [3], [4]], [1, 3, [[4]]], id="the oldest row goes, another comes"),
        pytest.param([[1], [2]], [[1], [2], [3]], [0, 2, [[3]]], id="a list grows"),
        pytest.param([["a", 1, "b"]], [["a", 2, "b"]], {"0": {"1": [2]}}, id="a place of a row"),
        pytest.param([[1, 2, 3]], [[4, 5, 3]], {"0": [[4, 5, 3]]}, id="most of a row"),
        pytest.param({"a": True}, {"a": 1}, {"a": [1]}, id="a truth value is no number"),
    ],
)
def test_little_is_said_of_a_little_change(old: Any, new: Any, said: Any) -> None:
    assert said == difference(old, new)


def sequence(source: random.Random) -> list[Any]:
    """States as they follow each other: rows come and go, counts change, and devices are there or not."""
    state: dict[str, Any] = {"rows": [], "devices": []}
    states: list[Any] = [state]
    for number in range(30):
        state = json.loads(json.dumps(state))
        state["rows"] = (state["rows"] + [[number, at, None] for at in range(source.randrange(4))])[-6:]
        for device in state["devices"]:
            device["counts"][source.choice("abc")] = source.randrange(3)
        if source.random() < 0.3:
            state["devices"].append({"name": f"GPU:{number}", "counts": {}})
        if source.random() < 0.2 and state["devices"]:
            state["devices"].pop(source.randrange(len(state["devices"])))
        if source.random() < 0.2:
            state.pop("busy", None) if source.random() < 0.5 else state.update(busy=bool(number % 2))
        states.append(state)
    return states


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node; the browser tests read differences, too")
def test_the_page_has_the_whole_state_after_any_sequence_of_differences(tmp_path: Path) -> None:
    sequences = [sequence(random.Random(seed)) for seed in range(40)]
    told = [[states[0], [difference(*pair) for pair in pairwise(states)]] for states in sequences]
    file = tmp_path / "page.mjs"
    file.write_text(
        f"{esm.joined(['difference'])}\nconst told = {json.dumps(told)};\n"
        "const follow = ([first, news]) => news.reduce((all, one) => [...all, withDifference(all.at(-1), one)],"
        " [first]);\n"
        "console.log(JSON.stringify(told.map(follow)));\n"
    )

    ran = subprocess.run(["node", str(file)], capture_output=True, text=True, check=True)

    assert sequences == json.loads(ran.stdout)
