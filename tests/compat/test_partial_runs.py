"""`Session.partial_run`: a run in several parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import nbtf as tf

tf1: Any = tf.compat.v1


class Built:
    """A graph with two steps, and a variable that counts how often it was changed."""

    def __init__(self) -> None:
        self.x, self.y, self.z = (tf1.placeholder(tf.float32, [], name=name) for name in "xyz")
        self.sum = tf1.add(self.x, self.y, name="sum")
        self.product = tf1.multiply(self.sum, self.z, name="product")
        self.counter = tf1.get_variable("counter", initializer=0.0, use_resource=False)
        self.counted = tf1.assign_add(self.counter, self.x)
        self.session = tf1.Session()
        self.session.run(tf1.global_variables_initializer())

    def setup(self, *fetches: Any) -> str:
        return self.session.partial_run_setup(list(fetches) or [self.sum, self.product], [self.x, self.y, self.z])


@pytest.fixture
def built() -> Iterator[Built]:
    with tf.Graph().as_default():
        built = Built()
        yield built
        built.session.close()


def test_each_part_feeds_and_fetches_some_more(built: Built) -> None:
    handle = built.setup()

    assert 3.0 == built.session.partial_run(handle, built.sum, {built.x: 1.0, built.y: 2.0})
    assert {"k": [51.0]} == built.session.partial_run(handle, {"k": ["product:0"]}, {b"z:0": 17.0})


def test_everything_may_be_done_in_one_part(built: Built) -> None:
    feeds = {built.x: 1.0, built.y: 2.0, built.z: 3.0}

    assert [3.0, 9.0] == built.session.partial_run(built.setup(), [built.sum, built.product], feeds)


def test_a_node_runs_once(built: Built) -> None:
    handle = built.setup(built.counted, built.sum, built.product)

    assert 1.0 == built.session.partial_run(handle, built.counted, {built.x: 1.0})
    assert 3.0 == built.session.partial_run(handle, built.sum, {built.y: 2.0})
    assert 6.0 == built.session.partial_run(handle, built.product, {built.z: 2.0})
    assert 1.0 == built.session.run(built.counter)


def test_a_part_may_fetch_nothing(built: Built) -> None:
    handle = built.setup()

    assert [] == built.session.partial_run(handle, [], {built.z: 2.0})
    assert 6.0 == built.session.partial_run(handle, built.product, {built.x: 1.0, built.y: 2.0})


def test_two_runs_keep_apart(built: Built) -> None:
    first, second = built.setup(), built.setup()
    feeds: list[dict[Any, float]] = [{built.x: 1.0, built.y: 1.0}, {built.x: 2.0, built.y: 2.0}]
    for handle, feed in zip((first, second), feeds, strict=True):
        built.session.partial_run(handle, built.sum, feed)

    assert [2.0, 4.0] == [built.session.partial_run(h, built.product, {built.z: 1.0}) for h in (first, second)]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([("sum", "x")], r"^Fetch y:0 can't be computed from the feeds that have been fed so far\.$"),
        ([("sum", "xy"), ("product", "xz")], r"^The feed x:0 has already been fed\.$"),
        ([("counter:0", "xyz")], r"^The fetch counter:0 was not specified in partial_run_setup\.$"),
        ([("sum", "xy"), ("product", "z"), ("product", "")], "^Must run 'setup' before performing partial runs!$"),
    ],
    ids=["too early", "fed twice", "not named", "at the end"],
)
def test_parts_that_do_not_fit_are_refused(built: Built, parts: Any, message: str) -> None:
    handle = built.setup()
    *before, (fetch, names) = [(f"{fetch}:0" if ":" not in fetch else fetch, names) for fetch, names in parts]
    for name, feeds in before:
        built.session.partial_run(handle, name, {f"{feed}:0": 1.0 for feed in feeds})

    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        built.session.partial_run(handle, fetch, {f"{feed}:0": 1.0 for feed in names})


def test_a_feed_that_the_setup_does_not_name_is_refused(built: Built) -> None:
    handle = built.session.partial_run_setup([built.sum], [built.x, built.y])

    with pytest.raises(tf.errors.InvalidArgumentError, match=r"^The feed z:0 was not specified in partial_run_setup"):
        built.session.partial_run(handle, built.sum, {built.z: 1.0})


def test_nodes_unknown_handles_and_empty_setups_are_refused(built: Built) -> None:
    with pytest.raises(RuntimeError, match="requires empty `target_list`"):
        built.session.partial_run(built.setup(), built.sum.op, {})
    with pytest.raises(tf.errors.InvalidArgumentError, match="Must run 'setup'"):
        built.session.partial_run("no handle", built.sum, {})
    with pytest.raises(tf.errors.InvalidArgumentError, match="at least one target"):
        built.session.partial_run_setup([])


def test_a_placeholder_that_no_part_may_feed_fails(built: Built) -> None:
    handle = built.session.partial_run_setup([built.sum, built.product], [built.x, built.y])

    with pytest.raises(tf.errors.InvalidArgumentError, match="You must feed a value for placeholder tensor 'z'"):
        built.session.partial_run(handle, built.sum, {built.x: 1.0, built.y: 2.0})
