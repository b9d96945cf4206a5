from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

import nbtf.compat.v1 as tf


@pytest.fixture(autouse=True)
def _verbosity() -> Iterator[None]:
    logger = logging.getLogger("tensorflow")
    before = logger.level
    yield
    logger.setLevel(before)


def test_levels_are_those_of_python() -> None:
    levels = tf.logging.DEBUG, tf.logging.INFO, tf.logging.WARN, tf.logging.ERROR, tf.logging.FATAL

    assert (10, 20, 30, 40, 50) == levels


def test_verbosity_says_what_is_shown(caplog: pytest.LogCaptureFixture) -> None:
    tf.logging.set_verbosity(tf.logging.ERROR)
    tf.logging.warn("not shown")
    tf.logging.error("%d is shown", 2)

    assert (40, ["2 is shown"]) == (tf.logging.get_verbosity(), caplog.messages)


def test_each_function_has_its_level(caplog: pytest.LogCaptureFixture) -> None:
    tf.logging.set_verbosity(tf.logging.DEBUG)
    for function in (tf.logging.debug, tf.logging.info, tf.logging.warning, tf.logging.error, tf.logging.fatal):
        function("x")
    tf.logging.log(tf.logging.INFO, "x")

    assert [10, 20, 30, 40, 50, 20] == [record.levelno for record in caplog.records]


def test_a_message_is_placed_where_it_was_logged(caplog: pytest.LogCaptureFixture) -> None:
    tf.logging.warn("x")
    tf.logging.log(tf.logging.WARN, "x")

    assert {__file__} == {record.pathname for record in caplog.records}
