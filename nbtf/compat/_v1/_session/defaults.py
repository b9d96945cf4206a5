"""The default session, which `eval` and `run` use if none is given."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from nbtf._runtime.blocks import current_scope
from nbtf._runtime.changes import Change, block
from nbtf._runtime.scopes import SCOPE
from nbtf.compat._v1._graph.process import process

_OPEN: ContextVar[tuple[Any, ...]] = ContextVar("nbtf sessions", default=())


def get_default_session() -> Any:
    """Returns the session of the innermost open block; without a block, the last interactive session or None."""
    if SCOPE() is not None:
        current_scope()
    sessions = _OPEN.get() or process().sessions
    return sessions[-1] if sessions else None


def add_default_session(session: Any) -> None:
    """Makes a session the default of the process until it is dropped.

    This is not a block, because a notebook closes the blocks of a cell, and the session must outlive the cell.
    """
    process().sessions.append(session)
    if _OPEN.get():
        _OPEN.set((*_OPEN.get(), session))


def drop_default_session(session: Any) -> None:
    """Undoes `add_default_session`; sessions may be closed in any order."""
    sessions = process().sessions
    sessions[:] = [open_session for open_session in sessions if open_session is not session]
    _OPEN.set(tuple([open_session for open_session in _OPEN.get() if open_session is not session]))


@block
def as_default_session(session: Any) -> Change[Any]:
    """Returns a block in which a session is the default; the session stays open."""
    outer = _OPEN.get()
    return Change("a session", _OPEN.set, outer, (*outer, session), session)


def evaluate_in_session(tensor: Any, feed_dict: Any, session: Any) -> Any:
    """Returns the value of a tensor in a session, by default the default session.

    Raises:
      ValueError: if no session is available, or it has another graph.
    """
    chosen = get_default_session() if session is None else session
    if chosen is None:
        raise ValueError(
            "Cannot evaluate tensor using `eval()`: No default session is registered. Use `with sess.as_default()` "
            "or pass an explicit session to `eval(session=sess)`"
        )
    if chosen.graph is not tensor.graph:
        session_text, advice = (
            ("default session", "Pass an explicit session to `eval(session=sess)`.")
            if session is None
            else ("given session", "")
        )
        raise ValueError(
            f"Cannot use the {session_text} to evaluate tensor: the tensor's graph is different from the session's "
            f"graph. {advice}".rstrip()
        )
    return chosen.run(tensor, feed_dict)


def run_operation(operation: Any, feed_dict: Any, session: Any) -> None:
    """Runs a node in a session, by default the default session.

    Raises:
      ValueError: if no session is available, or it has another graph.
    """
    chosen = get_default_session() if session is None else session
    if chosen is None:
        raise ValueError(
            "Cannot execute operation using `run()`: No default session is registered. Use `with sess.as_default():` "
            "or pass an explicit session to `run(session=sess)`"
        )
    if chosen.graph is not operation.graph:
        session_text = "default session" if session is None else "given session"
        raise ValueError(
            f"Cannot use the {session_text} to execute operation: the operation's graph is different from the "
            "session's graph."
        )
    chosen.run(operation, feed_dict)
