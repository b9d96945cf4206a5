"""Does a recording leave a picture in a notebook, and answer what a page asks about it?"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import nbtf as tf
from nbtf.notebook import catalogue
from nbtf.notebook.session import SESSIONS
from nbtf.notebook.stills.device_facts import map_facts
from nbtf.notebook.stills.device_map import map_data
from nbtf.notebook.views import recording_answers
from nbtf.notebook.views.pump import pump_of
from tests.notebook.conftest import Shell
from tests.notebook.views.test_widgets import HTMLImage

pytest.importorskip("anywidget", reason="needs the lab extra")
comm = pytest.importorskip("comm")
recording_view = pytest.importorskip("nbtf.notebook.views.recording_view")
base_widget = pytest.importorskip("nbtf.notebook.views.base_widget")

pytestmark = pytest.mark.filterwarnings("ignore:Deprecated in traitlets 4.1:DeprecationWarning")  # by ipywidgets 8.0

SVG, HTML, TEXT = "image/svg+xml", "text/html", "text/plain"
WIDGET = "application/vnd.jupyter.widget-view+json"
STEP = (
    "with tf.runtime.recording() as record:",
    "    with tf.device('GPU:1'):",
    "        c = tf.matmul(tf.ones([64, 64]), tf.ones([64, 64]))",
)
NASTY = "<img src=x onerror=alert(1)>'\""

Message = tuple[dict[str, Any], list[bytes]]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Message]]:
    """What is sent to pages: data, buffers."""
    from ipywidgets import Widget

    heard: list[Message] = []

    class Recording(comm.base_comm.BaseComm):
        def publish_msg(self, msg_type: str, data: Any = None, _: Any = None, buffers: Any = None, **__: Any) -> None:
            heard.append((data, list(buffers or ())))

    monkeypatch.setattr(comm, "create_comm", Recording)
    yield heard
    Widget.close_all()


@pytest.fixture
def live(shell: Shell, sent: list[Message], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A shell of a kernel that has recorded something."""
    monkeypatch.setenv("NBTF_LIVE", "inline")
    pump_of(SESSIONS[shell.ip])
    assert shell.run(*STEP).error is None
    sent.clear()
    return shell


def bundle(shell: Shell, line: str) -> dict[str, str]:
    """What a front end is given to show for the value of a line."""
    return shell.ip.display_formatter.format(shell.run(line).result)[0]


def ask(view: Any, sent: list[Message], **question: Any) -> Any:
    """What a page hears when it asks."""
    sent.clear()
    view._handle_custom_msg({"kind": "ask", "number": 7, **question}, [])
    contents = [data["content"] for data, _ in sent]
    assert {("answer", 7)} == {(content["kind"], content["number"]) for content in contents}
    if "failed" in contents[0]:
        return contents[0]["failed"]
    assert {len(sent)} == {content["parts"] for content in contents}
    parts = [part for _, (part,) in sent]
    assert max(map(len, parts)) <= base_widget.LARGEST_PART
    return json.loads(zlib.decompress(b"".join(parts)))


@pytest.mark.parametrize("line", ["record", "record.snapshot()", "tf.notebook.RecordingView(record)"])
def test_cell_that_ends_with_a_recording_leaves_a_picture_with_a_name(live: Shell, line: str) -> None:
    shown = bundle(live, line)

    picture, image = ElementTree.fromstring(shown[SVG]), HTMLImage(shown[HTML])
    assert {SVG, HTML, TEXT} == shown.keys()
    assert shown[SVG] == image.svg
    assert picture.get("aria-label") == image.alternative
    assert re.search("data-nbtf-recording='[0-9a-f]{32}'", shown[HTML])
    assert re.fullmatch(r"(Recording|Snapshot): 6 ops, 2 copies", shown[TEXT])


def test_notebook_keeps_neither_program_nor_data(live: Shell) -> None:
    shown = bundle(live, "record")
    view = live.run("tf.notebook.RecordingView(record)").result
    state = json.dumps(view.get_manager_state(widgets=[view]))

    assert "<script" not in "".join(shown.values())
    assert len(state) < 8000
    assert not re.search("timelineScene|MatMul", state)


def test_page_is_sent_the_program_and_the_scene(live: Shell, sent: list[Message]) -> None:
    view = live.run("tf.notebook.RecordingView(record)").result

    program, scene = ask(view, sent, what="program", language="en"), ask(view, sent, what="scene")

    assert re.search(r"^export \{ showRecording, speakIn \};$", program["script"], re.MULTILINE)
    assert ".nbtf-recording" in program["style"]
    assert None is program["words"]
    assert {"timeline", "memory", "map"} == scene.keys()
    assert map_data(map_facts(view.record.snapshot(), tf.runtime.devices())) == scene["map"]
    assert (["CPU:0", "GPU:1"], "GPU:1") == (scene["timeline"]["lanes"], scene["memory"][0]["name"])


@pytest.mark.parametrize(("asked", "language"), [("", "zh-CN"), ("ja", "ja")])
def test_words_are_those_of_the_page_unless_the_environment_asks(
    live: Shell, sent: list[Message], monkeypatch: pytest.MonkeyPatch, asked: str, language: str
) -> None:
    monkeypatch.setenv(catalogue.VARIABLE, asked)
    view = live.run("tf.notebook.RecordingView(record)").result

    assert language == ask(view, sent, what="program", language="zh-CN")["words"]["lang"]


@pytest.mark.parametrize(
    "question", [{}, {"what": "x"}, {"what": None}, {"what": "program"}, {"what": "program", "language": 3}]
)
def test_page_that_asks_for_anything_else_is_told_so(live: Shell, sent: list[Message], question: Any) -> None:
    view = live.run("tf.notebook.RecordingView(record)").result

    assert ask(view, sent, **question).startswith("ValueError: Unknown question {")


@pytest.mark.parametrize("content", [{}, None, "text", {"kind": "ask"}, {"kind": "ask", "number": "1"}])
def test_what_is_no_question_is_ignored(live: Shell, sent: list[Message], content: Any) -> None:
    view = live.run("tf.notebook.RecordingView(record)").result
    sent.clear()
    view._handle_custom_msg(content, [])

    assert [] == sent


def test_long_answer_comes_in_pieces(live: Shell, sent: list[Message], monkeypatch: pytest.MonkeyPatch) -> None:
    view = live.run("tf.notebook.RecordingView(record)").result
    whole = ask(view, sent, what="scene")
    monkeypatch.setattr(base_widget, "LARGEST_PART", 100)

    assert whole == ask(view, sent, what="scene")
    assert len(sent) > 3


def test_same_recording_has_one_view_and_older_ones_are_closed(live: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording_view, "MOST_VIEWS", 2)
    session, record = SESSIONS[live.ip], live.run("record").result
    views = [recording_view.view_of(one, session) for one in (record, record, *(record.snapshot() for _ in range(2)))]

    assert views[0] is views[1]
    assert [True, False, False] == [view.comm is None for view in views[1:]]


def test_recording_that_goes_on_is_shown_as_it_is(live: Shell) -> None:
    live.run("block = tf.runtime.recording(); record = block.__enter__()", "c = tf.matmul([[1.0]], [[2.0]])")
    before = bundle(live, "record")
    live.run("c = tf.negative(c)")

    counts = [int(re.findall(r"(\d+) ops, ", one[SVG])[0]) for one in (before, bundle(live, "record"))]
    assert [3, 4] == counts
    live.run("block.__exit__(None, None, None)")


def test_recording_without_ops_is_a_text_and_no_view(live: Shell) -> None:
    live.run("with tf.runtime.recording() as empty: pass")

    assert {TEXT: "Recording: 0 ops, 0 copies"} == bundle(live, "empty")
    assert isinstance(live.run("tf.notebook.RecordingView(empty)").error, ValueError)


@pytest.mark.parametrize("missing", ["anywidget", "ipywidgets"])
def test_without_widgets_there_is_the_picture_alone(
    live: Shell, sent: list[Message], monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    for name in ("base_widget", "scene_view", "recording_view"):
        monkeypatch.delitem(sys.modules, f"nbtf.notebook.views.{name}", raising=False)
        monkeypatch.delattr(sys.modules["nbtf.notebook.views"], name, raising=False)
    for name in [name for name in sys.modules if name.partition(".")[0] == "anywidget"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)

    ran = live.run("record")

    assert ("", None) == (ran.out.partition("Out")[0].strip(), ran.error)
    assert {SVG, TEXT} == bundle(live, "record").keys()
    assert [] == sent


def test_where_nothing_is_live_there_is_the_picture_alone(
    shell: Shell, sent: list[Message], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NBTF_LIVE", "off")
    shell.run(*STEP)

    assert {SVG, TEXT} == bundle(shell, "record").keys()
    assert [] == sent


@pytest.mark.parametrize("where", ["Colab", "VS Code"])
def test_output_that_is_a_document_has_the_widget_and_its_picture(
    live: Shell, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    if where == "Colab":
        monkeypatch.setitem(sys.modules, "google.colab", sys)
    else:
        live.ip.user_ns["__vsc_ipynb_file__"] = "lesson.ipynb"
    monkeypatch.setattr("anywidget.widget.in_colab", lambda: False)

    shown = bundle(live, "record")

    view = recording_view.view_of(live.run("record").result, SESSIONS[live.ip])
    assert {SVG, HTML, TEXT, WIDGET} == shown.keys()
    assert view.still.startswith("data:image/svg+xml,%3Csvg")
    assert view.about == HTMLImage(shown[HTML]).alternative


def test_names_are_shown_as_text(live: Shell) -> None:
    recorder = SESSIONS[live.ip].recorder
    recorder(tf.runtime.OpExecuted(NASTY, "/job:localhost/replica:0/task:0/device:GPU:0", (), 1.0, "measured", 1, 0.0))

    shown = bundle(live, "get_ipython() and __import__('nbtf').notebook.session.SESSIONS[get_ipython()].recording")

    assert NASTY not in "".join(shown.values())


def test_unloading_leaves_the_pictures_and_takes_the_live_view_away(live: Shell) -> None:
    live.ip.extension_manager.loaded.add("nbtf")
    live.run("%unload_ext nbtf")

    assert {TEXT, SVG} == bundle(live, "record").keys()
    assert "data-nbtf-recording" not in bundle(live, "record")[SVG]


@pytest.mark.parametrize(
    ("place", "span"),
    [({}, False), ({"device": "GPU:1", "times": [0, 1e12]}, True), ({"device": 3, "times": ["x"]}, False)],
    ids=["cell", "moment", "nonsense"],
)
def test_live_view_opens_the_recording_of_a_cell(
    live: Shell, sent: list[Message], place: dict[str, Any], span: bool
) -> None:
    widget = live.run("tf.notebook.DeviceMap()").result
    sent.clear()
    widget._handle_custom_msg({"kind": "open", **place}, [])

    (opened,) = [data["content"] for data, _ in sent if data.get("method") == "custom"]
    view = recording_view._VIEWS[SESSIONS[live.ip]][-1]
    assert ("opened", view.ident, "cell 1", span) == (
        opened["kind"],
        opened["ident"],
        opened["cell"],
        opened["span"] is not None,
    )
    assert "GPU:1" == ask(view, sent, what="scene")["memory"][0]["name"]


def test_live_view_opens_nothing_where_nothing_ran(shell: Shell, sent: list[Message]) -> None:
    widget = shell.run("tf.notebook.DeviceMap()").result
    sent.clear()
    widget._handle_custom_msg({"kind": "open"}, [])

    assert [] == sent


def test_long_recording_comes_in_parts(live: Shell, sent: list[Message], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording_answers, "MOST_EVENTS", 3)
    monkeypatch.setattr(recording_answers, "MOST_STEPS", 2)
    view = live.run("tf.notebook.RecordingView(record)").result

    scene = ask(view, sent, what="scene")
    part = ask(view, sent, what="timeline", **{"from": 0, "to": 5e-8})
    assert ("rest", None, None) == (scene["coming"], scene.get("memory"), scene.get("map"))
    scene |= ask(view, sent, what=scene["coming"])

    assert (2, 0.0, 5e-8) == (scene["lastSteps"], part["detail"]["from"], part["detail"]["to"])
    assert {True} == {memory["steps"] <= 2 for memory in scene["memory"]}
    regions = tf.runtime.memory_map("GPU:1")
    held = sorted(chunk.offset for region in regions for chunk in region.chunks if chunk.in_use)
    (memory,) = [memory for memory in scene["memory"] if memory["name"] == "GPU:1"]
    assert held == sorted(row[0] for row in memory["pieces"] if row[5] == memory["steps"])


@pytest.mark.parametrize("part", ["loader", "program"])
def test_programs_are_valid(live: Shell, part: str, tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node; the browser tests load the programs, too")
    view = live.run("tf.notebook.RecordingView(record)").result
    file = tmp_path / "program.mjs"
    file.write_text(view._esm if part == "loader" else recording_answers.program_data("en")["script"], encoding="utf-8")

    assert "" == subprocess.run([node, "--check", str(file)], capture_output=True, text=True).stderr
