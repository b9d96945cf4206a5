"""Is a live view one widget with a whole state, and what stands there where it cannot be live?"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

import nbtf as tf
from nbtf._install import pip_install
from nbtf._runtime.context import CURRENT
from nbtf.notebook.session import SESSIONS
from nbtf.notebook.views.pump import HEARTBEAT, pump_of
from tests.machines import LOCAL
from tests.notebook.conftest import Shell

pytest.importorskip("anywidget", reason="needs the lab extra")
comm = pytest.importorskip("comm")
widgets = pytest.importorskip("nbtf.notebook.views.widgets")

pytestmark = pytest.mark.filterwarnings("ignore:Deprecated in traitlets 4.1:DeprecationWarning")  # by ipywidgets 8.0

Message = tuple[str, dict[str, Any]]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Message]]:
    """What is sent to front ends: kind of message, data."""
    from ipywidgets import Widget

    heard: list[Message] = []

    class Recording(comm.base_comm.BaseComm):
        def publish_msg(self, msg_type: str, data: Any = None, *_: Any, **__: Any) -> None:
            heard.append((msg_type, data))

    monkeypatch.setattr(comm, "create_comm", Recording)
    yield heard
    Widget.close_all()


@pytest.fixture
def inline(shell: Shell, sent: list[Message], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A shell whose views are fed between ops."""
    monkeypatch.setenv("NBTF_LIVE", "inline")
    pump_of(SESSIONS[shell.ip])
    shell.run("pass")
    sent.clear()
    return shell


def states(sent: list[Message]) -> list[dict[str, Any]]:
    return [data["state"]["state"] for kind, data in sent if kind == "comm_msg"]


def bundle(shell: Shell, line: str) -> dict[str, str]:
    """What a front end is given to show for the value of a line."""
    return shell.ip.display_formatter.format(shell.run(line).result)[0]


LINES = ["%devices --live", "%gpu_memory --live", "tf.notebook.DeviceMap()", "tf.notebook.MemoryView()"]


@pytest.mark.parametrize("line", LINES)
def test_view_is_opened_once_and_complete(inline: Shell, sent: list[Message], line: str) -> None:
    inline.run(line)

    (_, layout), (_, opened) = [message for message in sent if message[0] == "comm_open"]
    assert ["comm_open", "comm_open"] == [kind for kind, _ in sent][:2]
    assert ("LayoutModel", "AnyModel") == (layout["state"]["_model_name"], opened["state"]["_model_name"])
    assert ["CPU:0", "GPU:0", "GPU:1"] == [one["name"] for one in opened["state"]["state"]["devices"]]


def test_update_is_one_message_with_the_state_alone(inline: Shell, sent: list[Message]) -> None:
    inline.run("%devices --live")
    sent.clear()
    inline.run("a = tf.ones([2])")

    assert [("comm_msg", "update", ["state"])] == [(kind, data["method"], list(data["state"])) for kind, data in sent]


def test_saved_state_is_the_last_one(inline: Shell) -> None:
    widget = inline.run("%devices --live").result
    inline.run("a = tf.ones([2])")

    saved = widget.get_manager_state()["state"][widget.model_id]["state"]["state"]

    assert (False, widget.state["heard"], True) == (saved["busy"], saved["heard"], saved["heard"] > 0)


@pytest.mark.parametrize("line", LINES[:2])
def test_magic_shows_the_same_model_again(inline: Shell, line: str) -> None:
    assert inline.run(line).result is inline.run(line).result


def test_model_that_was_closed_is_made_again(inline: Shell) -> None:
    first = inline.run("%devices --live").result
    first.close()

    assert inline.run("%devices --live").result is not first


def test_memory_view_of_some_devices_shows_these(inline: Shell) -> None:
    widget = inline.run("%gpu_memory GPU:1 --live").result

    assert (["GPU:1"], ["GPU:1"]) == ([one["name"] for one in widget.state["devices"]], widget.state["only"])
    assert widget is not inline.run("%gpu_memory --live").result
    assert ["GPU:1"] == [row["device"] for row in widget.table().rows]


def test_memory_view_of_a_missing_device_is_refused(inline: Shell) -> None:
    assert isinstance(inline.run("%gpu_memory GPU:7 --live").error, tf.errors.MissingDeviceError)
    assert isinstance(inline.run("tf.notebook.MemoryView('GPU:7')").error, tf.errors.MissingDeviceError)
    assert isinstance(inline.run("tf.notebook.MemoryView('banana')").error, ValueError)


def test_reader_chooses_what_is_shown(inline: Shell) -> None:
    inline.run("a = tf.ones([2])")
    widget = inline.run("%devices --live").result
    inline.run("b = tf.negative(a)")
    whole = widget.state

    states: list[dict[str, Any]] = []
    for name in ("here", "cell", "all", "no such scope"):
        widget._handle_custom_msg({"kind": "scope", "name": name}, [])
        states.append(widget.state)

    assert [("here", 1), ("cell", 1), ("all", whole["ops"]), ("all", whole["ops"])] == [
        (state["scope"], state["ops"]) for state in states
    ]


def test_front_end_is_counted(inline: Shell, sent: list[Message]) -> None:
    widget = inline.run("%devices --live").result
    for content in ({"kind": "view", "n": 1}, {"kind": "view", "n": 1}, {"kind": "view", "n": -1}):
        widget._handle_custom_msg(content, [])
    two_of_three = widget.audience.views
    widget._handle_custom_msg({"kind": "view", "n": -1}, [])
    sent.clear()
    inline.run("a = tf.ones([2])")

    assert (1, 0, []) == (two_of_three, widget.audience.views, sent)


def test_page_in_another_language_is_sent_its_words_once(inline: Shell, sent: list[Message]) -> None:
    widget = inline.run("%devices --live").result
    sent.clear()
    for _ in range(2):
        widget._handle_custom_msg({"kind": "language", "name": "zh-CN"}, [])

    ((_, data),) = sent
    assert ["texts"] == list(data["state"])
    assert "设备图" in data["state"]["texts"]["zh-CN"]["texts"]


@pytest.mark.parametrize("name", ["en-US", "fr", None, ["ja"]])
def test_page_in_a_language_that_nobody_speaks_gets_english(inline: Shell, sent: list[Message], name: Any) -> None:
    widget = inline.run("%devices --live").result
    sent.clear()
    widget._handle_custom_msg({"kind": "language", "name": name}, [])

    assert ([], {}) == (sent, widget.texts)


@pytest.mark.parametrize(("asked", "lang", "texts"), [("", "", []), ("ja_JP", "ja", ["ja"]), ("fr", "en", [])])
def test_environment_decides_on_the_language(
    inline: Shell, sent: list[Message], monkeypatch: pytest.MonkeyPatch, asked: str, lang: str, texts: list[str]
) -> None:
    monkeypatch.setenv("NBTF_LANG", asked)
    inline.ip.extension_manager.loaded.add("nbtf")
    inline.run("%reload_ext nbtf", "%gpu_memory --live")

    opened = [data["state"] for kind, data in sent if kind == "comm_open"][-1]
    assert (lang, texts) == (opened["state"]["lang"], list(opened["texts"]))


@pytest.mark.parametrize(
    "content", [{}, {"kind": "view"}, {"kind": "view", "n": 7}, {"kind": "x", "n": 1}, None, "text"]
)
def test_other_messages_are_ignored(inline: Shell, content: Any) -> None:
    widget = inline.run("%devices --live").result
    widget._handle_custom_msg(content, [])

    assert 0 == widget.audience.views


def test_unloading_ends_the_views(inline: Shell, sent: list[Message]) -> None:
    inline.run("%devices --live")
    inline.run("%gpu_memory --live")
    sent.clear()
    inline.ip.extension_manager.loaded.add("nbtf")
    inline.run("%unload_ext nbtf")
    inline.run("a = tf.ones([2])")

    assert [True, True] == [state["ended"] for state in states(sent)]


def test_view_that_has_ended_can_still_be_shown(inline: Shell) -> None:
    inline.run("view = tf.notebook.MemoryView()")
    inline.ip.extension_manager.loaded.add("nbtf")
    inline.run("%unload_ext nbtf")

    assert "application/vnd.jupyter.widget-view+json" in bundle(inline, "view")


def test_loading_again_gives_new_views(inline: Shell) -> None:
    first = inline.run("%devices --live").result
    inline.ip.extension_manager.loaded.add("nbtf")
    inline.run("%reload_ext nbtf")
    second = inline.run("%devices --live").result

    assert (True, False) == (first.state["ended"], second.state["ended"])


# What stands in for it


@pytest.mark.parametrize("line", LINES)
def test_front_ends_without_widgets_get_a_text(inline: Shell, line: str) -> None:
    inline.run("a = tf.ones([2])")
    shown = bundle(inline, line)

    assert "GPU:1" in shown["text/html"]
    assert "GPU:1" in shown["text/plain"]
    assert shown["text/plain"].endswith("In a running notebook, the live view appears here.")
    assert max(map(len, shown["text/plain"].splitlines())) < 120


@pytest.mark.parametrize("line", LINES)
def test_front_ends_without_widgets_get_a_picture(inline: Shell, line: str) -> None:
    inline.run("a = tf.ones([2])")
    shown = bundle(inline, line)

    picture = ElementTree.fromstring(shown["image/svg+xml"])
    image = HTMLImage(shown["text/html"])
    assert shown["image/svg+xml"] == image.svg
    assert picture.get("aria-label") == image.alternative


@pytest.mark.parametrize("line", LINES[1::2])
def test_picture_has_the_figures_of_the_text(inline: Shell, line: str) -> None:
    inline.run("a = tf.ones([2])")
    shown = bundle(inline, line)

    texts = "".join(ElementTree.fromstring(shown["image/svg+xml"]).itertext())
    figures = set(re.findall(r"[\d.,]+ (?:[KMGT]i)?B", shown["text/plain"]))
    assert len(figures) > 2
    assert set() == {figure for figure in figures if figure not in texts}


@pytest.fixture
def stored_line(inline: Shell, monkeypatch: pytest.MonkeyPatch) -> str:
    """A line whose value is shown as a kernel does: as the result of a cell, with its number."""
    monkeypatch.setattr(inline.ip.displayhook, "msg", {"content": {"execution_count": 7}}, raising=False)
    return "%devices --live"


def drawn(sent: list[Message]) -> list[dict[str, Any]]:
    """The pictures that pages are to store."""
    contents = [data["content"] for _, data in sent if data.get("method") == "custom"]
    return [content for content in contents if content["kind"] == "drawn"]


def test_page_stores_the_picture_after_each_cell_that_changes_it(
    inline: Shell, sent: list[Message], stored_line: str
) -> None:
    bundle(inline, stored_line)
    inline.run("a = tf.ones([2])")
    inline.run("pass")
    inline.run("b = tf.negative(a)")

    first, second = drawn(sent)
    assert (7, 7) == (first["count"], second["count"])
    assert [False, True] == ["Neg" in content["data"]["text/html"] for content in (first, second)]
    assert {"text/html", "text/plain"} == second["data"].keys()


@pytest.mark.parametrize("line", ["%devices --live", "%gpu_memory --live"])
@pytest.mark.parametrize("gpus", [8, 64])
def test_stored_picture_is_a_small_message(
    inline: Shell, sent: list[Message], stored_line: str, gpus: int, line: str
) -> None:
    inline.run(f"tf.runtime.restart(); tf.runtime.simulate_gpus({gpus})")
    assert stored_line
    bundle(inline, line)
    inline.run(
        f"for n in range({gpus}):\n"
        "    with tf.device(f'GPU:{n}'): a = tf.ones([9999])\n"
        f"    with tf.device(f'GPU:{{(n + 3) % {gpus}}}'): b = tf.square(a)"
    )

    (content,) = drawn(sent)
    assert len(json.dumps(content)) < 64 * 1024


def test_page_that_loads_the_view_late_stores_the_picture_then(
    inline: Shell, sent: list[Message], stored_line: str
) -> None:
    widget = inline.run(stored_line).result
    inline.ip.display_formatter.format(widget)
    widget._handle_custom_msg({"kind": "view", "n": 1}, [])
    as_shown = drawn(sent)
    inline.run("a = tf.ones([2])")
    sent.clear()
    widget._handle_custom_msg({"kind": "view", "n": 1}, [])

    assert [] == as_shown
    assert ["Fill" in content["data"]["text/html"] for content in drawn(sent)] == [True]


def test_page_is_sent_no_picture_once_the_runtime_was_restarted(
    inline: Shell, sent: list[Message], stored_line: str
) -> None:
    inline.run("a = tf.ones([2])")
    bundle(inline, stored_line)
    inline.run("tf.runtime.restart()", "b = tf.ones([3])")

    assert [] == drawn(sent)


def test_picture_of_a_single_gpu_is_its_history(inline: Shell) -> None:
    inline.run("with tf.device('GPU:1'): a = tf.ones([2])")
    shown = bundle(inline, "%gpu_memory GPU:1 --live")["image/svg+xml"]

    assert (True, False) == ("Memory of GPU:1" in shown, "GPU:0" in shown)


def test_picture_of_a_long_history_is_what_there_is_now(inline: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    inline.run("with tf.device('GPU:1'): a = tf.ones([2])")
    monkeypatch.setattr(widgets, "MOST_STEPS", 1)

    assert "Memory in use: GPU:1" in bundle(inline, "%gpu_memory GPU:1 --live")["image/svg+xml"]


@pytest.mark.parametrize("line", LINES)
def test_before_the_first_op_the_table_says_so(inline: Shell, line: str) -> None:
    shown = bundle(inline, line)

    assert shown["text/html"].startswith("<div><table>")
    assert "image/svg+xml" not in shown


class HTMLImage(HTMLParser):
    """What a page reads of an image: the picture in its address, and its text."""

    svg = alternative = ""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = dict(attrs)
        media, _, data = (said["src"] or "").partition(",")
        assert ("img", "data:image/svg+xml") == (tag, media)
        self.svg, self.alternative = unquote(data), said["alt"] or ""


def test_table_escapes_names(inline: Shell) -> None:
    inline.run("tf.runtime.set_default_device('CPU:0')")
    placed = tf.runtime.OpPlaced("<img src=x onerror=alert(1)>", f"{LOCAL}GPU:0", tf.runtime.Reason("cell"), 1, 0.0)
    SESSIONS[inline.ip].recorder(placed)

    shown = bundle(inline, "%devices --live")

    assert "<img src=x" not in shown["text/html"] + shown["text/plain"]


@pytest.mark.parametrize(
    ("live", "why"),
    [("", "Not live: this Python is not a notebook kernel."), ("off", "Not live: NBTF_LIVE=off.")],
)
@pytest.mark.parametrize("line", LINES[:2])
def test_where_nothing_can_be_live_the_table_says_so(
    shell: Shell, sent: list[Message], monkeypatch: pytest.MonkeyPatch, live: str, why: str, line: str
) -> None:
    monkeypatch.setenv("NBTF_LIVE", live)
    table = shell.run(line).result

    assert (why, ["GPU:0", "GPU:1"], []) == (
        table.to_dict()["notes"][-1],
        [row["device"] for row in table.to_dict()["rows"]][-2:],
        sent,
    )


def test_view_that_is_off_is_shown_and_never_told(
    shell: Shell, sent: list[Message], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NBTF_LIVE", "off")
    shell.run("view = tf.notebook.DeviceMap()")
    bundle(shell, "view")
    sent.clear()
    shell.run("a = tf.ones([2])")

    assert [] == sent


def test_missing_front_end_is_told_with_a_table(inline: Shell) -> None:
    widget = inline.run("%gpu_memory --live").result
    inline.ip.user_ns["widget"] = widget

    said = inline.run("widget.did_not_load()").out

    assert "GPU:1   simulated" in said
    assert said.endswith(
        "the live view did not load. Install anywidget where JupyterLab runs, not only in this kernel\n"
    )


def test_without_the_extension_the_views_show_the_moment_when_they_were_made(bare: Shell, sent: list[Message]) -> None:
    for name in ("DeviceMap", "MemoryView"):
        bare.run(f"first = tf.notebook.{name}()", "x = tf.ones([2])")
        first, second = bare.run("first").result, bare.run(f"tf.notebook.{name}()").result

        assert first.state["fixed"]
        assert first.state["heard"] < second.state["heard"]


def test_without_anywidget_the_views_say_what_to_install(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NBTF_LIVE", "inline")
    for name in ("base_widget", "recording_view", "protocol", "widgets"):
        monkeypatch.delitem(sys.modules, f"nbtf.notebook.views.{name}", raising=False)
        monkeypatch.delattr(sys.modules["nbtf.notebook.views"], name, raising=False)
    monkeypatch.setitem(sys.modules, "anywidget", None)

    for line in LINES:
        error = shell.run(line).error

        assert isinstance(error, ImportError)
        assert f"The live views need anywidget, which is not installed. {pip_install('lab')}" == str(error)


def test_loading_the_extension_does_not_load_anywidget(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anywidget", None)

    assert shell.run("%devices").error is None


def test_looking_starts_nothing_and_fixes_nothing(inline: Shell) -> None:
    for line in LINES:
        bundle(inline, line)

    assert CURRENT.context.machine is None
    assert inline.run("tf.runtime.simulate_gpus(3)").error is None
    assert 3 == len(inline.run("%gpu_memory --live").result.state["devices"]) - 1


def test_watchdog_is_told_how_often_the_heart_beats(inline: Shell) -> None:
    assert HEARTBEAT == inline.run("%devices --live").result.state["hb"]


def test_name_of_the_view_is_offered() -> None:
    assert {"DeviceMap", "MemoryView"} <= set(dir(tf.notebook))
    assert re.match("Shows all devices live", tf.notebook.DeviceMap.__doc__ or "")
    with pytest.raises(AttributeError, match="no attribute 'Map'"):
        tf.notebook.Map  # noqa: B018
