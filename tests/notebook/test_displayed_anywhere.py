"""Does everything that front ends display display itself, in a process without IPython's extension?"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from textwrap import dedent

import nbtf as tf

METHODS = ("_repr_mimebundle_", "_repr_html_", "_repr_svg_")
PICTURES = {"text/html", "image/svg+xml"}
BASES = {
    "nbtf._displayed.Displayed": "base",
    "nbtf._displayed.Drawn": "base",
    "nbtf.notebook.views.base_widget.Widget": "base",
    "nbtf.notebook.views.protocol.LiveWidget": "base",
    "nbtf.notebook.views.scene_view.SceneView": "base",
    "nbtf.notebook.views.widgets.View": "base",
    "nbtf.runtime._recorded_events.RecordedEvents": "base",
    "nbtf._record.opened.OpenedRecording": "base",
}
"""Classes that programs do not have objects of: other classes inherit from them."""

OTHERS = ("nbtf.cli.", "nbtf._tutorials.")
"""Modules that start programs, and define nothing that is displayed."""

MADE = """
import json, pathlib, tempfile
import nbtf as tf
from nbtf._snapshots.reading import open_snapshot
from nbtf.notebook.error_reports.notebook_report import ErrorReport
from nbtf.notebook.opened_files import Options, SnapshotFile
from nbtf.notebook.prediction.report import Prediction
from nbtf.notebook.stills.memory_pictures import Still
from nbtf.notebook.views.scene_view import FileView
from nbtf._error_texts.recognition import explain

tf.runtime.simulate_gpus(2, memory="64MiB")
folder = pathlib.Path(tempfile.mkdtemp())
with tf.runtime.recording() as record, tf.device("GPU:1"):
    x = tf.ones([64, 64])
    y = tf.matmul(x, x)
record.save(folder / "run.nbtf")
block = {"size": 1024, "requested_size": 1000, "state": "active_allocated"}
segment = {"address": 4096, "total_size": 2 << 20, "blocks": [block]}
(folder / "snapshot.json").write_text(json.dumps([segment]))
snapshot = tf.runtime.read_snapshot(folder / "snapshot.json")
file = SnapshotFile(snapshot, Options())
host = tf.runtime.HostReport("node-7", (), (), missing="no driver")
no_peak = {"peak": None, "notes": [], "unprepared": [], "error": "", "stopped": "", "comparison": None}
MADE = [
    record, record.snapshot(), tf.runtime.read_recording(folder / "run.nbtf"), snapshot,
    open_snapshot(folder / "snapshot.json"), tf.runtime.memory_map("GPU:1"), tf.runtime.ClusterLook([host]),
    tf.runtime.explain_placement(y), record.what_if("allow_growth:True", device="GPU:1"),
    tf.runtime.compare_recordings(record, record), tf.notebook.device_picture(record),
    tf.notebook.memory_picture(record, "GPU:1"), tf.notebook.DeviceMap(), tf.notebook.MemoryView(),
    tf.notebook.RecordingView(record), FileView(file.scene, file.picture(), "a file"),
    tf.notebook.DeviceMap().table(), Prediction(no_peak, "cell 4"), ErrorReport(explain("nothing known")),
    tf.notebook.device(),
]
"""

SHOW = """
shown = {}
for each in MADE:
    data = each._repr_mimebundle_(include=None, exclude=None)
    bundle = data[0] if isinstance(data, tuple) else data
    assert all(form is not None for form in bundle.values())
    forms = {mime: str(form) for mime, form in bundle.items()}
    for kind in type(each).__mro__:
        shown.setdefault(f"{kind.__module__}.{kind.__qualname__}", forms)
print(json.dumps(shown))
"""


def displayed_classes() -> Iterator[str]:
    """Yields the names of nbtf's classes that front ends can display."""
    from anywidget import AnyWidget

    for module in pkgutil.walk_packages(tf.__path__, "nbtf."):
        if module.name.startswith(OTHERS) or module.name.endswith("__main__") or ".compat.v1" in module.name:
            continue
        for kind in vars(importlib.import_module(module.name)).values():
            if not inspect.isclass(kind) or kind.__module__ != module.name:
                continue
            if issubclass(kind, AnyWidget) or any(hasattr(kind, method) for method in METHODS):
                yield f"{kind.__module__}.{kind.__qualname__}"


def test_every_object_that_can_be_displayed_displays_itself_without_the_extension() -> None:
    ran = subprocess.run([sys.executable, "-c", MADE + SHOW], capture_output=True, text=True, check=False)
    assert 0 == ran.returncode, ran.stderr
    shown = json.loads(ran.stdout.splitlines()[-1])

    assert set(displayed_classes()) - set(BASES) == {name for name in displayed_classes() if name in shown} - set(BASES)
    for name in set(displayed_classes()) - set(BASES):
        forms = shown[name]
        assert forms["text/plain"], name
        assert PICTURES & forms.keys() or name.endswith(("ErrorReport", "ClusterLook")), name
        assert not any("%load_ext nbtf first" in form for form in forms.values()), name


def test_loading_neither_ipython_nor_widgets_is_needed_for_text_and_pictures() -> None:
    """A process that has neither displays a recording: its bundle is made by nbtf and numpy."""
    blocked = dedent(
        """
        import sys
        for name in ("IPython", "ipywidgets", "anywidget", "traitlets"):
            sys.modules[name] = None
        import nbtf as tf
        with tf.runtime.recording() as record:
            c = tf.add(1.0, 2.0)
        for shown in (record, record.snapshot(), tf.runtime.explain_placement(c), tf.notebook.devices()):
            print(sorted(shown._repr_mimebundle_()))
        """
    )
    ran = subprocess.run([sys.executable, "-c", blocked], capture_output=True, text=True, check=False)
    assert 0 == ran.returncode, ran.stderr
    pictures = ["['image/svg+xml', 'text/html', 'text/plain']"] * 3
    assert [*pictures, "['text/html', 'text/plain']"] == ran.stdout.splitlines()


def test_recordings_without_ops_are_shown_as_text() -> None:
    with tf.runtime.recording() as record:
        pass
    assert {"text/plain": "Recording: 0 ops, 0 copies"} == record._repr_mimebundle_()
    assert record._repr_svg_() is None
