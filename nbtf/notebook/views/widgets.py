"""The live views as widgets, and the pictures and tables that replace them where widgets cannot be shown."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any
from uuid import uuid4

from nbtf import runtime
from nbtf._own_name import own_name
from nbtf.notebook import device_table, memory_table
from nbtf.notebook.device_names import full_name, require, short
from nbtf.notebook.session import say, show
from nbtf.notebook.stills.device_map import map_of_session
from nbtf.notebook.stills.marks import Picture
from nbtf.notebook.stills.memory_overview import memory_overview
from nbtf.notebook.stills.memory_pictures import picture_of_session, steps_by_device
from nbtf.notebook.stills.svg import to_html, to_svg
from nbtf.notebook.tables import Table
from nbtf.notebook.views.base_widget import traitlets
from nbtf.notebook.views.protocol import LiveWidget

STILL = "A still picture of the moment this was shown. In a running notebook, the live view appears here."
STRIP = "A strip of the live view. It appears in the cell that is running."
FOLLOWS = {"nbtf": {"follows": True}}  # metadata of an output that moves from cell to cell and belongs to none
MOST_EVENTS = 10_000
"""Events of a session up to which the picture of a GPU's memory is drawn; each cell's end may draw it."""

MOST_STEPS = 1000
"""Memory steps of a GPU in the picture of all its steps."""

STILL_TYPES = ("text/html", "text/plain")
"""The formats of a picture that a page receives; pictures may be large, and the HTML contains the SVG."""

MISSING = "the live view did not load. Install anywidget where JupyterLab runs, not only in this kernel"


class View(LiveWidget):
    """A live view of a session."""

    docked: Any = traitlets.Bool(default_value=False).tag(sync=True)
    """Whether it moves into a panel of the page, if the page has panels."""
    shrinks = False
    """Whether it shrinks to a strip in pages without panels."""
    _output = _strip = ""
    _count = 0
    _drawn_at: object = None
    _renewed: Mapping[str, str] = MappingProxyType({})

    def table(self) -> Table:
        """Returns the current state as a table."""
        raise NotImplementedError

    def still(self) -> Picture | None:
        """Returns a picture of the current state; None if the table is enough."""
        return None

    def renew_still(self) -> None:
        """Replaces the picture that the notebook stores, through a page that shows the view or by renewing the result.

        A page stores the picture and keeps showing the view; renewing the result would make the page draw the view
        again. nbclient writes files without a page, so there the result is renewed. If a page may still connect, both
        happen. The picture is final once the runtime was restarted or the view was shown elsewhere.
        """
        # Pages without panels cannot change the file.
        is_read_only = self.audience.views and self.audience.without_panels
        if is_read_only or not self._output or self._drawn_at == self._moment():
            return
        if self.shown_in is not None and self.session.recorder.scenes[-1].machine != self.shown_in.machine:
            return
        data, metadata = self._bundle()
        self._renewed = {mime: data[mime] for mime in STILL_TYPES if mime in data}
        if self.audience.looking:
            self._send_renewed()
        if not self.audience.views:
            _publish(data, metadata, transient={"display_id": self._output}, update=True)

    def page_loaded(self) -> None:
        """Sends the picture again, because cells may have ended before the page loaded the view."""
        self._send_renewed()

    def _send_renewed(self) -> None:
        """Asks pages to store the picture, if it is newer than the one with which the view was shown."""
        if self._renewed:
            self.post({"kind": "drawn", "count": self._count, "data": self._renewed})

    def follow(self) -> None:
        """Shows its strip in the cell that begins, and only there, if the page has no panel for the view."""
        if not (self.shrinks and self.docked and self.audience.without_panels) or self.gone:
            return
        self._remove_strip()
        self._pump.tick(wait=True)  # the strip begins with the current state
        inherited: Any = super()
        data, metadata = inherited._repr_mimebundle_()
        self._strip = uuid4().hex
        _publish(data | {"text/plain": STRIP}, metadata | FOLLOWS, transient={"display_id": self._strip})

    def _remove_strip(self) -> None:
        """Removes the strip from the cell that showed it last."""
        name, self._strip = self._strip, ""
        if name:
            _publish({"text/html": "", "text/plain": ""}, FOLLOWS, transient={"display_id": name}, update=True)

    def did_not_load(self) -> None:
        """Shows the table, and the reason for not being live."""
        show(self.table())
        say(MISSING)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """Returns the widget, with a picture and text for front ends that cannot show it."""
        self._remove_strip()  # the strip had moved into this cell, which now shows the whole view
        self._pump.shown(self)
        self._output, self._count = _name_output(self.session.shell)
        self._renewed = {}
        return self._bundle(**kwargs)

    def _bundle(self, **kwargs: Any) -> Any:
        self._drawn_at = self._moment()
        inherited: Any = super()
        data, metadata = inherited._repr_mimebundle_(**kwargs)
        table, picture = self.table(), self.still()
        table.notes.append(STILL)
        drawn = {"text/html": table._repr_html_()}
        if picture is not None:  # pages prefer HTML to SVG, and show SVG only in trusted notebooks
            drawn = {"text/html": to_html(picture), "image/svg+xml": to_svg(picture)}
        return data | drawn | {"text/plain": repr(table)}, metadata

    def _moment(self) -> object:
        """Returns a value that changes whenever the picture would."""
        return self.session.recorder.snapshot(0).heard, runtime.devices()


class DeviceMap(View):
    """Shows all devices live: the ops that ran on each and why, and what was copied between them.

    After `%load_ext nbtf`, `%devices --live` shows the same view. Without the extension, recording starts with the
    first view, and a view shows the moment when it was made. Showing it starts no device.

    >>> tf.runtime.restart()
    >>> _ = tf.runtime.simulate_gpus(2)
    2 simulated GPUs (Tesla V100-SXM2-16GB, 16 GiB each): NumPy on this computer's CPU. No GPU is used.
    >>> get_ipython().run_line_magic("load_ext", "nbtf")  # as `%load_ext nbtf` does
    >>> with tf.device("GPU:1"):
    ...     x = tf.zeros([1024, 1024])
    >>> view = tf.notebook.DeviceMap()  # the last line of a cell shows it
    >>> view.still().title
    'Device map. GPU:1: Fill × 1 (asked for by tf.device)'
    """

    module: str = "device_map"
    drawn_by: str = "deviceMap"
    shrinks = True

    def __init__(self) -> None:
        """Creates a view of all devices."""
        super().__init__()

    def still(self) -> Picture | None:
        """Returns a picture with a box for each device and the copies between them; None before the first op.

        >>> get_ipython().run_line_magic("load_ext", "nbtf")  # as `%load_ext nbtf` does
        >>> x = tf.zeros([2])
        >>> tf.notebook.DeviceMap().still().title
        'Device map. CPU:0: Fill × 1 (no GPU)'
        """
        return map_of_session(self.session).picture if self.state["ops"] else None

    def table(self) -> Table:
        """Returns the devices as a table, as `%devices` does.

        >>> get_ipython().run_line_magic("load_ext", "nbtf")  # as `%load_ext nbtf` does
        >>> tf.notebook.DeviceMap().table()
        device  kind  ops
        CPU:0   host    0
        No GPU is available: ops run on CPU:0.
        """
        return device_table.logical(self.session)


class MemoryView(View):
    """Shows the memory of devices live: how full they are, their history, and the memory map of simulated GPUs.

    After `%load_ext nbtf`, `%gpu_memory --live` shows the same view. Without the extension, recording starts with the
    first view, and a view shows the moment when it was made. Showing it starts no device.

    Args:
      *devices: devices to show, such as `"GPU:1"`; all if none is given.

    Raises:
      ValueError: if an argument is not the name of a device.
      MissingDeviceError: if a device does not exist.

    >>> tf.runtime.restart()
    >>> _ = tf.runtime.simulate_gpus(2)
    2 simulated GPUs (Tesla V100-SXM2-16GB, 16 GiB each): NumPy on this computer's CPU. No GPU is used.
    >>> get_ipython().run_line_magic("load_ext", "nbtf")  # as `%load_ext nbtf` does
    >>> with tf.device("GPU:1"):
    ...     x = tf.zeros([1024, 1024])
    >>> view = tf.notebook.MemoryView("GPU:1")  # the last line of a cell shows it
    >>> view.still().title
    'Memory of GPU:1: 4 MiB of 15 GiB in use.'
    """

    maps = True
    module: str = "memory_view"
    drawn_by: str = "memoryView"

    def __init__(self, *devices: str) -> None:
        """Creates a view of the given devices, or of all."""
        names = [full_name(device) for device in devices]
        for name in names:
            require(name, False, f"{own_name()}.runtime.devices() lists them.")
        super().__init__(tuple(short(name) for name in names if name is not None))

    def still(self) -> Picture | None:
        """Returns a picture: the memory history if only one GPU was used, otherwise all current layouts.

        >>> tf.runtime.restart()
        >>> _ = tf.runtime.simulate_gpus(2)
        2 simulated GPUs (Tesla V100-SXM2-16GB, 16 GiB each): NumPy on this computer's CPU. No GPU is used.
        >>> get_ipython().run_line_magic("load_ext", "nbtf")  # as `%load_ext nbtf` does
        >>> x = tf.zeros([1024, 1024])
        >>> tf.notebook.MemoryView().still().title
        'Memory in use: GPU:0 4 MiB, GPU:1 1,280 B.'
        """
        overview = memory_overview(self.state)
        accounted = [device["name"] for device in self.state["devices"] if device["memory"] is not None]
        is_short = self.session.recorder.snapshot(0).heard <= MOST_EVENTS
        if len(accounted) == 1 and is_short and 0 < steps_by_device(self.session)[accounted[0]] <= MOST_STEPS:
            try:
                return picture_of_session(self.session, accounted[0], "plane").picture
            except ValueError:  # its first events are no longer kept
                return overview
        return overview

    def table(self) -> Table:
        """Returns the memory as a table, as `%gpu_memory` does.

        >>> tf.runtime.restart()
        >>> _ = tf.runtime.simulate_gpus(2)
        2 simulated GPUs (Tesla V100-SXM2-16GB, 16 GiB each): NumPy on this computer's CPU. No GPU is used.
        >>> get_ipython().run_line_magic("load_ext", "nbtf")  # as `%load_ext nbtf` does
        >>> x = tf.zeros([1024, 1024])
        >>> tf.notebook.MemoryView().table()
        device  kind        in use  of limit                 peak    pool   limit
        GPU:0   simulated    4 MiB  █░░░░░░░░░ under 1 %    4 MiB  15 GiB  15 GiB
        GPU:1   simulated  1,280 B  █░░░░░░░░░ under 1 %  1,280 B  15 GiB  15 GiB
        """
        return memory_table.table(self.session, set(self.only))


def _name_output(shell: Any) -> tuple[str, int]:
    """Names the result that is being displayed, so that it can be renewed; returns the name and the result's number.

    The name is empty if no result is being displayed. JupyterLab does not renew results, so it never draws a view
    twice; nbclient does.
    """
    message: Any = getattr(shell.displayhook, "msg", None)
    if not message:
        return "", 0
    name = uuid4().hex
    message["content"]["transient"] = {"display_id": name}
    return name, message["content"]["execution_count"]


def _publish(data: Any, metadata: Any, **options: Any) -> None:
    """Publishes an output; only a session of IPython's shell does so."""
    import_module("IPython.display").publish_display_data(data, metadata, **options)
