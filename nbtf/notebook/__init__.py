"""Which features does `%load_ext nbtf` add? Magics and live views that show and check placement and memory."""

from __future__ import annotations

import typing as _typing
from importlib import import_module as _import_module
from typing import Any

from nbtf.notebook.session import SESSIONS as _SESSIONS
from nbtf.notebook.session import Session as _Session
from nbtf.notebook.session import end_program_session as _end_program_session

if _typing.TYPE_CHECKING:
    from nbtf.notebook.magics.functions import check as check
    from nbtf.notebook.magics.functions import cluster as cluster
    from nbtf.notebook.magics.functions import device as device
    from nbtf.notebook.magics.functions import device_block as device_block
    from nbtf.notebook.magics.functions import devices as devices
    from nbtf.notebook.magics.functions import explain as explain
    from nbtf.notebook.magics.functions import gpu_memory as gpu_memory
    from nbtf.notebook.magics.functions import gpu_memory_block as gpu_memory_block
    from nbtf.notebook.magics.functions import needs as needs
    from nbtf.notebook.magics.functions import placement as placement
    from nbtf.notebook.magics.functions import placement_log as placement_log
    from nbtf.notebook.stills.device_map import device_picture as device_picture
    from nbtf.notebook.stills.memory_pictures import memory_picture as memory_picture
    from nbtf.notebook.views.page import save_page as save_page
    from nbtf.notebook.views.recording_view import RecordingView as RecordingView
    from nbtf.notebook.views.widgets import DeviceMap as DeviceMap
    from nbtf.notebook.views.widgets import MemoryView as MemoryView

_FUNCTIONS = (
    "check",
    "cluster",
    "device",
    "device_block",
    "devices",
    "explain",
    "gpu_memory",
    "gpu_memory_block",
    "needs",
    "placement",
    "placement_log",
)
"""The functions that do what magics do."""

_LATE = {  # loaded on first use: views need anywidget, and few programs draw
    "DeviceMap": "nbtf.notebook.views.widgets",
    "MemoryView": "nbtf.notebook.views.widgets",
    "RecordingView": "nbtf.notebook.views.recording_view",
    "device_picture": "nbtf.notebook.stills.device_map",
    "memory_picture": "nbtf.notebook.stills.memory_pictures",
    "save_page": "nbtf.notebook.views.page",
    **dict.fromkeys(_FUNCTIONS, "nbtf.notebook.magics.functions"),
}

__all__ = [
    "DeviceMap",
    "MemoryView",
    "RecordingView",
    "check",
    "cluster",
    "device",
    "device_block",
    "device_picture",
    "devices",
    "explain",
    "gpu_memory",
    "gpu_memory_block",
    "load_ipython_extension",
    "memory_picture",
    "needs",
    "placement",
    "placement_log",
    "save_page",
    "unload_ipython_extension",
]


def __getattr__(name: str) -> Any:
    if name in _LATE:
        return getattr(_import_module(_LATE[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__


def load_ipython_extension(shell: Any) -> None:
    """Adds the magics, and records events until they are removed; a second call does nothing.

    Args:
      shell: IPython's shell.

    >>> tf.load_ipython_extension(get_ipython())  # as `%load_ext nbtf` does
    >>> get_ipython().run_line_magic("device", "CPU:0")
    default device: CPU:0 (was auto)
    """
    # Imported late: IPython may be missing when tf.notebook is only inspected.
    from nbtf.notebook.magics.register import add_extension

    _end_program_session()  # this session takes its place
    if shell not in _SESSIONS:
        session = _SESSIONS[shell] = _Session(shell)
        session.start()
        add_extension(session)


def unload_ipython_extension(shell: Any) -> None:
    """Removes everything that loading added, and restores the default device of that time.

    Args:
      shell: IPython's shell; one without our extension is not changed.

    >>> tf.load_ipython_extension(get_ipython())
    >>> tf.unload_ipython_extension(get_ipython())  # as `%unload_ext nbtf` does
    >>> "device" in get_ipython().magics_manager.magics["line"]
    False
    """
    session = _SESSIONS.pop(shell, None)
    if session is not None:
        session.stop()
