"""Which features does `%load_ext nbtf` add? Magics and live views that show and check placement and memory."""

from __future__ import annotations

import typing as _typing
from importlib import import_module as _import_module
from typing import Any

from nbtf.notebook.session import SESSIONS as _SESSIONS
from nbtf.notebook.session import Session as _Session

if _typing.TYPE_CHECKING:
    from nbtf.notebook.stills.device_map import device_picture as device_picture
    from nbtf.notebook.stills.memory_pictures import memory_picture as memory_picture
    from nbtf.notebook.views.page import save_page as save_page
    from nbtf.notebook.views.recording_view import RecordingView as RecordingView
    from nbtf.notebook.views.widgets import DeviceMap as DeviceMap
    from nbtf.notebook.views.widgets import MemoryView as MemoryView

_LATE = {  # loaded on first use: views need anywidget, and few programs draw
    "DeviceMap": "nbtf.notebook.views.widgets",
    "MemoryView": "nbtf.notebook.views.widgets",
    "RecordingView": "nbtf.notebook.views.recording_view",
    "device_picture": "nbtf.notebook.stills.device_map",
    "memory_picture": "nbtf.notebook.stills.memory_pictures",
    "save_page": "nbtf.notebook.views.page",
}

__all__ = [
    "DeviceMap",
    "MemoryView",
    "RecordingView",
    "device_picture",
    "load_ipython_extension",
    "memory_picture",
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
    from nbtf.notebook.magics.register import add_magics

    if shell not in _SESSIONS:
        session = _SESSIONS[shell] = _Session(shell)
        session.start()
        add_magics(session)


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
