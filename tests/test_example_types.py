"""Does the check of the examples' types see an example that is wrong?"""

from __future__ import annotations

from shutil import which

import pytest

from tests.example_types import examples, refused


@pytest.mark.skipif(which("basedpyright") is None, reason='needs the extra "dev"')
def test_example_that_no_type_checker_accepts_is_told_by_its_name_and_line() -> None:
    wrong = "x = 1\ntf.runtime.simulate_gpus(n='two')\n"

    [problem] = refused({"right": "tf.runtime.simulate_gpus(2)\n", "wrong": wrong, "also right": "x = 2\n"})

    assert problem.startswith("wrong, line 2: ")


def test_examples_are_code_by_their_names() -> None:
    assert "tf.runtime.devices()" in dict(examples("nbtf.runtime"))["devices"]
