"""Do the views show what a session of TensorFlow 1 runs as they show eager ops, and with the names of nodes?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import nbtf as tf
from nbtf.notebook.session import SESSIONS
from nbtf.notebook.views.feed import Feed
from tests.notebook.conftest import Shell

GRAPH = (
    "import nbtf.compat.v1 as tf1",
    "with tf1.Graph().as_default() as graph:",
    "    with tf1.device('/gpu:0'): b = tf1.square(tf1.constant([1.0, 2.0], name='a'), name='b')",
    "    with tf1.device('/gpu:1'): c = tf1.negative(b, name='c')",
    "session = tf1.Session(graph=graph)",
)


@pytest.fixture
def graph(shell: Shell) -> Shell:
    """A notebook with two nodes on two GPUs, which have not run yet."""
    shell.run(*GRAPH)
    return shell


def rows_of(state: dict[str, Any]) -> list[dict[str, Any]]:
    words = [*state["words"], None]
    found = [dict(zip(state["columns"], row, strict=True)) for row in state["steps"]]
    return [{name: words[row[name]] for name in ("op", "node", "device", "target", "why")} for row in found]


def test_the_log_names_nodes(graph: Shell) -> None:
    graph.run("value = session.run(c)")
    rows = graph.run("%placement_log").result.rows

    assert [
        ("Const", "a", "GPU:0 (simulated)", "asked for by tf.device"),
        ("Square", "b", "GPU:0 (simulated)", "asked for by tf.device"),
        ("Neg", "c", "GPU:1 (simulated)", "asked for by tf.device"),
    ] == [(row["op"], row["node"], row["device"], row["why"]) for row in rows]


def test_a_log_of_eager_ops_has_no_such_column(shell: Shell) -> None:
    shell.run("a = tf.constant(1.0)")

    assert "node" not in repr(shell.run("%placement_log").result)


def test_lines_name_nodes(graph: Shell) -> None:
    graph.run("%placement_log on")

    assert (
        "Executing op Neg in device /job:localhost/replica:0/task:0/device:GPU:1, node c"
        == graph.run("value = session.run(c)").out.splitlines()[-1]
    )


def test_steps_name_nodes_and_what_copies_are_for(graph: Shell) -> None:
    feed = Feed(SESSIONS[graph.ip])
    graph.run("value = session.run(c)")

    assert [
        ("copy", "a", "CPU:0", "GPU:0", "value of a"),
        ("Const", "a", "GPU:0", None, "asked for by tf.device"),
        ("Square", "b", "GPU:0", None, "asked for by tf.device"),
        ("copy", "c", "GPU:0", "GPU:1", "input of c"),
        ("Neg", "c", "GPU:1", None, "asked for by tf.device"),
        ("copy", "c", "GPU:1", "CPU:0", "fetched: c"),
    ] == [
        tuple(row[name] for name in ("op", "node", "device", "target", "why"))
        for row in rows_of(feed.state(busy=False))
    ]


@pytest.mark.parametrize(("form", "where"), [("json", "node"), ("chrome", "args")])
def test_exports_name_nodes(graph: Shell, tmp_path: Path, form: str, where: str) -> None:
    graph.run("value = session.run(c)")
    graph.run(f"%placement_log export {tmp_path / 'log.json'} --format {form}")
    told = json.loads((tmp_path / "log.json").read_text())
    events = told["events"] if form == "json" else [one.get("args", {}) for one in told["traceEvents"]]

    assert {"a", "b", "c"} == {one["node"] for one in events if "node" in one}


def test_a_tensor_of_a_graph_is_explained_where_it_was_made(graph: Shell) -> None:
    graph.run("value = session.run(c)", "why = tf.runtime.explain_placement(c)")
    why = graph.ip.user_ns["why"]

    assert ("/job:localhost/replica:0/task:0/device:GPU:1", "c (Neg)", "asked for by tf.device") == (
        why.device,
        why.op,
        why.why,
    )


def test_a_tensor_that_no_session_made_is_not_explained(graph: Shell) -> None:
    with pytest.raises(ValueError, match=r"^No recorded session run computed node 'c'"):
        tf.runtime.explain_placement(graph.ip.user_ns["c"])
