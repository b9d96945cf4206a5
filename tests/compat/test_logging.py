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
    tf.logging.vlog(tf.logging.INFO, "x")

    assert [10, 20, 30, 40, 50, 20, 20] == [record.levelno for record in caplog.records]


def test_a_message_is_placed_where_it_was_logged(caplog: pytest.LogCaptureFixture) -> None:
    tf.logging.warn("x")
    tf.logging.log_if(tf.logging.WARN, "x", True)
    tf.logging.log_every_n(tf.logging.WARN, "x", 1)

    assert {__file__} == {record.pathname for record in caplog.records}


def test_some_messages_are_logged_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    for number in range(5):
        tf.logging.log_every_n(tf.logging.WARN, "every %d", 2, number)
        tf.logging.log_first_n(tf.logging.WARN, "first %d", 2, number)
        tf.logging.log_if(tf.logging.WARN, "if %d", number == 3, number)

    assert ["every 0", "first 0", "first 1", "every 2", "if 3", "every 4"] == caplog.messages


def test_flush_is_refused_as_in_tensorflow() -> None:
    with pytest.raises(NotImplementedError):
        tf.logging.flush()
