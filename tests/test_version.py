from __future__ import annotations

from importlib import metadata

import pytest

import nbtf as tf


def test_the_version_is_that_of_the_tensorflow_that_is_followed() -> None:
    assert tf.__version__ == tf.version.VERSION == tf.compat.v1.__version__ == tf.compat.v1.VERSION == "2.21.0"
    assert tf.version.GIT_VERSION.startswith("v2.21.0")
    assert tf.version.COMPILER_VERSION
    assert [2474, 0, 0] == [
        tf.version.GRAPH_DEF_VERSION,
        tf.version.GRAPH_DEF_VERSION_MIN_CONSUMER,
        tf.version.GRAPH_DEF_VERSION_MIN_PRODUCER,
    ]


@pytest.mark.parametrize("oldest", ["1.14", "2.0"])
def test_notebooks_that_ask_for_tensorflow_2_go_on(oldest: str) -> None:
    assert tf.__version__ >= oldest
    assert int(tf.__version__.split(".")[0]) >= 2


def test_the_own_version_is_that_of_the_package() -> None:
    assert metadata.version("nbtf") == tf.runtime.version
