from __future__ import annotations

import logging
from collections.abc import Iterator
from contextvars import copy_context
from typing import Any, cast

import pytest

import nbtf
import nbtf.compat.v1 as tf
from nbtf._runtime.context import CURRENT
from tests.machines import LOCAL, MIB, machine


@pytest.fixture
def session() -> Iterator[Any]:
    session = tf.InteractiveSession()
    yield session
    session.close()


def test_it_is_the_default_session_until_it_is_closed(session: Any) -> None:
    assert session is tf.get_default_session()
    assert 2.0 == tf.constant(2.0).eval()

    session.close()

    assert tf.get_default_session() is None
    with pytest.raises(RuntimeError, match=r"^Attempted to use a closed Session\."):
        session.run(tf.constant(2.0))


def test_it_lives_on_where_the_cell_that_made_it_has_ended() -> None:
    session = copy_context().run(tf.InteractiveSession)  # a front end may run each cell in a context of its own

    assert session is tf.get_default_session()
    session.close()


def test_an_open_block_comes_first(session: Any) -> None:
    with tf.Session().as_default() as other:
        assert other is tf.get_default_session()
    assert session is tf.get_default_session()


def test_one_that_is_made_in_a_block_is_the_default_there() -> None:
    with tf.Session().as_default() as other:
        session = tf.InteractiveSession()
        assert session is tf.get_default_session()
        session.close()
        assert other is tf.get_default_session()


def test_a_second_one_is_complained_about(session: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        second = tf.InteractiveSession()

    assert caplog.messages[0].startswith("An interactive session is already active. This can cause out-of-memory")
    assert second is tf.get_default_session()
    second.close()


def test_several_are_closed_in_any_order(session: Any) -> None:
    second = tf.InteractiveSession()

    session.close()

    assert second is tf.get_default_session()
    second.close()


def test_closing_twice_is_fine(session: Any) -> None:
    session.close()
    session.close()


def test_its_own_graph_is_the_default_until_it_is_closed() -> None:
    before, graph = tf.get_default_graph(), tf.Graph()

    session = tf.InteractiveSession(graph=graph)
    assert graph is tf.get_default_graph()
    session.close()

    assert before is tf.get_default_graph()


def test_what_cannot_be_placed_does_no_harm_unless_it_is_fetched(session: Any) -> None:
    with tf.device("/gpu:7"):
        tf.constant(1.0)

    assert 2.0 == tf.constant(2.0).eval()


def test_memory_grows_where_nothing_was_said() -> None:
    with machine(1, "K40c"):
        tf.InteractiveSession().close()
        memory = CURRENT.context.devices.by_name[f"{LOCAL}GPU:0"].memory

        assert memory is not None
        assert 2 * MIB == memory.stats().pool


def test_settings_that_are_given_are_told_to_place_what_is_fetched() -> None:
    config = tf.ConfigProto()

    tf.InteractiveSession(config=config).close()

    assert "graph_options {\n  place_pruned_graph: true\n}\n" == str(config)


def test_it_is_no_block(session: Any) -> None:
    with pytest.raises(TypeError, match=r"^An InteractiveSession is already the default session"), session:
        pass


def test_a_restart_leaves_no_default_session() -> None:
    tf.InteractiveSession()

    nbtf.runtime.restart()

    assert tf.get_default_session() is None


def test_arguments_are_checked_as_for_a_session() -> None:
    with pytest.raises(TypeError, match=r'^Argument `config` must be a tf\.ConfigProto, but got "dict"'):
        tf.InteractiveSession(config=cast("Any", {}))
    assert tf.get_default_session() is None
