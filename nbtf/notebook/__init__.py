"""What `%load_ext nbtf` adds to a notebook: magics that show and check placement and memory."""

from __future__ import annotations

from typing import Any

from nbtf.notebook.session import SESSIONS as _SESSIONS
from nbtf.notebook.session import Session as _Session

__all__ = ["load_ipython_extension", "unload_ipython_extension"]


def __dir__() -> list[str]:
    return __all__


def load_ipython_extension(shell: Any) -> None:
    """Adds the magics, and records what happens until they are removed; a second call does nothing.

    Args:
      shell: IPython's shell.
    """
    from nbtf.notebook.magics import add_magics  # late: IPython may be missing where tf.notebook is only looked at

    if shell not in _SESSIONS:
        session = _SESSIONS[shell] = _Session(shell)
        session.start()
        add_magics(session)


def unload_ipython_extension(shell: Any) -> None:
    """Removes everything that loading added; the default device is again what it was then."""
    session = _SESSIONS.pop(shell, None)
    if session is not None:
        session.stop()
