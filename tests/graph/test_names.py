"""A traced function finds every name that the function finds."""

from __future__ import annotations

import pytest

import nbtf as tf
from tests.graph.name_programs import PROGRAMS


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_traced_function_finds_the_names_that_the_function_finds(name: str) -> None:
    for value in (1.5, -1.5):
        x = tf.constant(value)
        assert PROGRAMS[name]()(x).numpy() == tf.function(PROGRAMS[name]())(x).numpy()
