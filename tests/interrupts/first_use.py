"""Repeats the first use of a namespace: Python forgets its modules in a separate process."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import nbtf as tf
from nbtf._ops.op import OPS

USES: dict[str, Callable[[], object]] = {
    "nn": lambda: tf.nn.relu([-1.0, 2.0]).numpy().tolist(),
    "strings": lambda: tf.strings.lower(["A"]).numpy().tolist(),
    "data": lambda: [int(one) for one in tf.data.Dataset.range(3).map(lambda x: x + 1)],
    "distribute": lambda: tf.distribute.MirroredStrategy(["CPU:0"]).num_replicas_in_sync,
    "keras": lambda: tf.keras.Sequential([tf.keras.layers.Dense(2)])(tf.ones([1, 3])).shape.as_list(),
    "compat.v1": lambda: tf.compat.v1.reduce_sum([1.0, 2.0]).numpy().tolist(),
}


@contextmanager
def first_use(namespace: str) -> Generator[tuple[Callable[[], Any], Callable[[], None]]]:
    """Uses a namespace as if for the first time in each run."""
    use = USES[namespace]
    namespace_of_tf: dict[str, Any] = tf.__dict__
    modules, names, ops = set(sys.modules), dict(namespace_of_tf), dict(OPS)

    def forget() -> None:
        for name in [name for name in sys.modules if name.startswith("nbtf.") and name not in modules]:
            parent, _, child = name.rpartition(".")
            sys.modules.get(parent, tf).__dict__.pop(child, None)
        for name in [name for name in sys.modules if name.startswith("nbtf.") and name not in modules]:
            del sys.modules[name]
        namespace_of_tf.clear()
        namespace_of_tf.update(names)
        OPS.clear()
        OPS.update(ops)

    def action() -> None:
        use()

    class Forgetting:
        """Forgets the modules before each action, after the effects of the last interrupt were checked."""

        def __call__(self) -> None:
            forget()
            action()

    expected = use()

    def check() -> None:
        assert use() == expected

    yield Forgetting(), check
