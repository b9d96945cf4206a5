from __future__ import annotations

import io
import sys
from typing import Any

import pytest

import nbtf
import nbtf.compat.v1 as tf
from nbtf._devices import discovery
from nbtf._devices.cuda import probe as cuda_probe
from nbtf._runtime.context import CURRENT, Context, use_context
from nbtf.compat._v1._session.log import Placed, SessionLog
from tests import fake_cupy
from tests.machines import LOCAL, machine

LOGGED = {"log_device_placement": True}
OLD = "/job:localhost/replica:0/task:0/"


def style(name: str) -> None:
    nbtf.runtime.placement_log_style(name)


def guide() -> Any:
    """The running example of the guides."""
    a = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3], name="a")
    b = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2], name="b")
    return tf.matmul(a, b)


def towers() -> Any:
    """The example of the guides with several GPUs."""
    c = []
    for name in ("/gpu:2", "/gpu:3"):
        with tf.device(name):
            a = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3])
            b = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2])
            c.append(tf.matmul(a, b))
    with tf.device("/cpu:0"):
        return tf.add_n(c)


def printed(fetch: Any, capsys: pytest.CaptureFixture[str], **config: Any) -> list[str]:
    """Lines on stdout of a session that logs and prints a result, as the guides have it."""
    sess = tf.Session(config=tf.ConfigProto(**{**LOGGED, **config}))
    print(sess.run(fetch))
    return capsys.readouterr().out.splitlines()


def test_the_oldest_guide_is_printed_as_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    with machine(1, "Tesla K40c"):
        style("0.12")
        lines = printed(guide(), capsys)

    assert [
        "Device mapping:",
        f"{OLD}gpu:0 -> device: 0, name: Tesla K40c, pci bus id: 0000:05:00.0",
        f"b: {OLD}gpu:0",
        f"a: {OLD}gpu:0",
        f"MatMul: {OLD}gpu:0",
        "[[22. 28.]",
        " [49. 64.]]",
    ] == lines


def test_the_oldest_guide_to_several_gpus_is_printed_as_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    with machine(4, "Tesla K20m"):
        style("0.12")
        lines = printed(towers(), capsys)

    assert [
        "Device mapping:",
        f"{OLD}gpu:0 -> device: 0, name: Tesla K20m, pci bus id: 0000:02:00.0",
        f"{OLD}gpu:1 -> device: 1, name: Tesla K20m, pci bus id: 0000:03:00.0",
        f"{OLD}gpu:2 -> device: 2, name: Tesla K20m, pci bus id: 0000:83:00.0",
        f"{OLD}gpu:3 -> device: 3, name: Tesla K20m, pci bus id: 0000:84:00.0",
        f"Const_3: {OLD}gpu:3",
        f"Const_2: {OLD}gpu:3",
        f"MatMul_1: {OLD}gpu:3",
        f"Const_1: {OLD}gpu:2",
        f"Const: {OLD}gpu:2",
        f"MatMul: {OLD}gpu:2",
        f"AddN: {OLD}cpu:0",
        "[[ 44.  56.]",
        " [ 98. 128.]]",
    ] == lines


@pytest.mark.parametrize(
    ("name", "mapping", "nodes"),
    [
        (
            "1.0",
            f"{OLD}gpu:0 -> device: 0, name: Tesla K40c, pci bus id: 0000:05:00.0",
            [f"MatMul: (MatMul): {OLD}gpu:0", f"b: (Const): {OLD}gpu:0", f"a: (Const): {OLD}gpu:0"],
        ),
        (
            "1.4",
            f"{LOCAL}GPU:0 -> device: 0, name: Tesla K40c, pci bus id: 0000:05:00.0, compute capability: 3.5",
            [f"MatMul: (MatMul): {LOCAL}GPU:0", f"b: (Const): {LOCAL}GPU:0", f"a: (Const): {LOCAL}GPU:0"],
        ),
        (
            "2.21",
            f"{LOCAL}GPU:0 -> device: 0, name: Tesla K40c, pci bus id: 0000:05:00.0, compute capability: 3.5"
            " (simulated)",
            [f"MatMul: (MatMul): {LOCAL}GPU:0", f"a: (Const): {LOCAL}GPU:0", f"b: (Const): {LOCAL}GPU:0"],
        ),
    ],
)
def test_releases_print_the_same_session_in_their_own_words(
    name: str, mapping: str, nodes: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with machine(1, "Tesla K40c"):
        style(name)
        lines = printed(guide(), capsys)

    assert ["Device mapping:", mapping, *nodes] == lines[:5]


def test_the_form_of_today_is_the_default(capsys: pytest.CaptureFixture[str]) -> None:
    assert [f"MatMul: (MatMul): {LOCAL}CPU:0", f"a: (Const): {LOCAL}CPU:0"] == printed(guide(), capsys)[:2]


def test_the_style_can_be_changed_between_runs(capsys: pytest.CaptureFixture[str]) -> None:
    a = tf.constant(1.0, name="a")
    sess = tf.Session(config=tf.ConfigProto(**LOGGED))
    sess.run(a)
    style("0.12")
    sess.run(tf.square(a, name="b"))

    assert [f"a: (Const): {LOCAL}CPU:0", f"a: {OLD}cpu:0", f"b: {OLD}cpu:0"] == capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("other", ["1.5", "", 1.4, "2"])
def test_another_style_is_refused(other: Any) -> None:
    with pytest.raises(ValueError, match=r"Expected one of '0\.12', '1\.0', '1\.4', '2\.21'\.$"):
        style(other)


def test_a_restart_goes_back_to_the_form_of_today() -> None:
    style("1.0")
    nbtf.runtime.restart()

    assert "2.21" == nbtf.runtime.placement_log_style()


def test_the_mapping_is_printed_when_a_session_is_made(capsys: pytest.CaptureFixture[str]) -> None:
    with machine(1, "Tesla K40c"):
        tf.Session(config=tf.ConfigProto(**LOGGED))

        assert 2 == len(capsys.readouterr().out.splitlines())


def test_without_a_gpu_stderr_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    tf.Session(config=tf.ConfigProto(**LOGGED))

    assert ("", "Device mapping: no known devices.\n") == capsys.readouterr()


def test_the_mapping_has_the_gpus_of_the_session_only(capsys: pytest.CaptureFixture[str]) -> None:
    with machine(4, "Tesla K20m"):
        style("0.12")
        tf.Session(config=tf.ConfigProto(gpu_options={"visible_device_list": "3,1"}, **LOGGED))

        assert [
            "Device mapping:",
            f"{OLD}gpu:0 -> device: 3, name: Tesla K20m, pci bus id: 0000:84:00.0",
            f"{OLD}gpu:1 -> device: 1, name: Tesla K20m, pci bus id: 0000:03:00.0",
        ] == capsys.readouterr().out.splitlines()


def test_the_number_of_a_card_is_that_among_visible_ones(capsys: pytest.CaptureFixture[str]) -> None:
    with machine(4, "Tesla K20m", CUDA_VISIBLE_DEVICES="2,3"):
        style("1.0")
        tf.Session(config=tf.ConfigProto(gpu_options={"visible_device_list": "1"}, **LOGGED))

        assert capsys.readouterr().out.endswith("/gpu:0 -> device: 1, name: Tesla K20m, pci bus id: 0000:84:00.0\n")


def test_a_real_card_is_not_called_simulated(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with fake_cupy.installed(1):
        found = cuda_probe.ask(fake_cupy).cards
        monkeypatch.setattr(discovery, "real_cards", lambda environ: found)
        with use_context(Context(environ={})):
            tf.Session(config=tf.ConfigProto(**LOGGED))

    described = "device: 0, name: Fake GPU, pci bus id: 0000:05:00.0, compute capability: 7.0"
    assert f"Device mapping:\n{LOCAL}GPU:0 -> {described}\n" == capsys.readouterr().out


def test_nothing_is_printed_unless_it_was_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    with machine(1, "Tesla K40c"):
        tf.Session().run(guide())

        assert "" == capsys.readouterr().out


def test_observers_hear_of_nodes_by_name() -> None:
    with machine(1, "Tesla K40c"):
        product = guide()
        with nbtf.runtime.recording() as record:
            tf.Session(config=tf.ConfigProto()).run(product)

        placed = [(e.node, e.op) for e in record.events if isinstance(e, nbtf.runtime.OpPlaced)]

        assert [("MatMul", "MatMul"), ("a", "Const"), ("b", "Const")] == sorted(placed)


def test_a_log_that_cannot_be_written_does_not_stop_a_session(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = io.StringIO()
    closed.close()
    a = tf.constant(1.0)
    sess = tf.Session(config=tf.ConfigProto(**LOGGED))
    monkeypatch.setattr(sys, "stdout", closed)

    with pytest.warns(RuntimeWarning, match="could not write the placement log of a session: ValueError"):
        assert 1.0 == sess.run(a)


def test_a_program_without_streams_can_log(monkeypatch: pytest.MonkeyPatch) -> None:
    a = tf.constant(1.0)
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)

    assert 1.0 == tf.Session(config=tf.ConfigProto(**LOGGED)).run(a)


def test_lines_of_a_graph_are_written_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []

    class Stream(io.StringIO):
        def write(self, text: str, /) -> int:
            written.append(text)
            return len(text)

    monkeypatch.setattr(sys, "stdout", Stream())
    tf.Session(config=tf.ConfigProto(**LOGGED)).run(guide())

    assert [3] == [text.count("\n") for text in written]


# The order of older releases


def order(nodes: list[Placed], name: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    style(name)
    SessionLog().placed(nodes, CURRENT.context.devices)
    return [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()]


def test_a_node_that_takes_an_input_twice_waits_for_it_once(capsys: pytest.CaptureFixture[str]) -> None:
    a = Placed("a", "Const", "d", True)
    square = Placed("s", "Mul", "d", False, ("a", "a"))

    assert ["a", "s"] == order([a, square], "0.12", capsys)


def test_control_inputs_hold_nodes_back(capsys: pytest.CaptureFixture[str]) -> None:
    a = Placed("a", "Const", "d", True)
    b = Placed("b", "Const", "d", True, ("c",))
    c = Placed("c", "NoOp", "d", False)

    assert ["c", "b", "a"] == order([a, b, c], "0.12", capsys)
    assert ["c", "b", "a"] == order([a, b, c], "1.0", capsys)
    assert ["c", "a", "b"] == order([a, b, c], "2.21", capsys)


def test_a_long_graph_is_ordered_without_a_deep_stack(capsys: pytest.CaptureFixture[str]) -> None:
    nodes = [Placed(str(i), "Neg", "d", False, (str(i - 1),) if i else ()) for i in range(20_000)]

    assert [str(i) for i in range(20_000)] == order(nodes, "0.12", capsys)
