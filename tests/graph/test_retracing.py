"""Is it said when a function is traced too often, after the same calls as in TensorFlow?"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nbtf as tf


def alternating() -> None:
    function = tf.function(lambda x: x)
    for i in range(30):
        function(i // 2 if i % 2 else tf.constant(1))


def every_third_call() -> None:
    function = tf.function(lambda x: x)
    for i in range(36):
        function(i // 3)


def every_other_call() -> None:
    function = tf.function(lambda x: x)
    for i in range(24):
        function(i // 2)


def inside_another() -> None:
    inner = tf.function(lambda x: x)
    tf.function(lambda: [inner(i) for i in range(8)])()


def not_called() -> None:
    function = tf.function(lambda x: x)
    for i in range(8):
        function.get_concrete_function(i)


def of_fewer_traces() -> None:
    function = tf.function(lambda x: x, reduce_retracing=True)
    for i in range(8):
        function(tf.ones([i]))


def with_variables() -> None:
    def make() -> Any:
        store: list[Any] = []

        def add(x: Any) -> Any:
            if not store:
                store.append(tf.Variable(1.0))
            return store[0] + x

        return tf.function(add)

    for _ in range(8):
        make()(tf.constant(1.0))


def failing() -> None:
    def fail(x: Any) -> Any:
        raise ValueError(x)

    function = tf.function(fail)
    for i in range(8):
        with pytest.raises(ValueError, match="in user code"):
            function(i)


def run_eagerly() -> None:
    tf.config.run_functions_eagerly(True)
    new_functions()


def in_a_graph() -> None:
    with tf.Graph().as_default():
        new_functions()


def new_functions() -> None:
    for _ in range(8):
        tf.function(lambda x: x)(tf.constant(1))


def methods() -> None:
    class Thing:
        @tf.function
        def run(self, x: Any) -> Any:
            return x

    for _ in range(7):
        Thing().run(tf.constant(1))


def models() -> None:
    for _ in range(7):
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        model.fit(np.ones((2, 1)), np.ones((2, 1)), verbose=0)
        model.predict(np.ones((2, 1)), verbose=0)


RECORDED: dict[Callable[[], None], list[tuple[int, int]]] = {
    alternating: [(5, 8), (6, 10)],
    every_other_call: [(5, 9), (6, 11)],
    every_third_call: [(5, 13), (5, 13)],
    inside_another: [],
    not_called: [],
    of_fewer_traces: [],
    with_variables: [(5, 5), (6, 6)],
    failing: [],
    run_eagerly: [],
    in_a_graph: [],
    new_functions: [(5, 5), (6, 6)],
    methods: [(5, 5), (6, 6)],
    models: [(5, 5), (5, 5), (6, 6), (6, 6)],
}
"""What TensorFlow 2.21 warns of: how many of the last calls were traced."""


@pytest.fixture
def _no_calls_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    from weakref import WeakKeyDictionary

    from nbtf._graph import retracing

    monkeypatch.setattr(retracing, "_histories", WeakKeyDictionary())


@pytest.mark.usefixtures("_no_calls_yet")
@pytest.mark.parametrize("program", RECORDED, ids=lambda program: program.__name__)
def test_the_warning_comes_after_the_same_calls(program: Callable[[], None], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "tensorflow"):
        program()
    texts = [record.getMessage() for record in caplog.records]
    matches = [re.match(r"(\d+) out of the last (\d+) calls to <function .*> triggered tf.function", t) for t in texts]

    assert RECORDED[program] == [(int(match[1]), int(match[2])) for match in matches if match]
    assert len(texts) == len(RECORDED[program])
