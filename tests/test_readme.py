"""The README tells the truth."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

import nbtf as tf

README = Path(__file__).parents[1] / "README.md"


def test_the_example_prints_what_it_says() -> None:
    code = README.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    example = doctest.DocTestParser().get_doctest(code, {}, "README", str(README), 0)
    said: list[str] = []

    failed, tried = doctest.DocTestRunner(verbose=False).run(example, out=said.append)

    assert (0, 6) == (failed, tried), "".join(said)


@pytest.mark.parametrize(
    "call", ["simulate_gpus", "recording", "explain_placement", "devices", "memory_map", "observe", "restart"]
)
def test_every_door_it_names_is_there(call: str) -> None:
    assert f"tf.runtime.{call}" in README.read_text(encoding="utf-8")
    assert callable(getattr(tf.runtime, call))
