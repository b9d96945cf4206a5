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
    chosen = _chosen(session, "evaluate tensor", "eval", " `with sess.as_default()` or")
    _check_graph(tensor, chosen, session, "evaluate tensor: the tensor's graph")
    return chosen.run(tensor, feed_dict)


def run_operation(operation: Any, feed_dict: Any, session: Any) -> None:
    """Runs a node in a session, by default the default session.

    Raises:
      ValueError: if no session is available, or it has another graph.
    """
    chosen = _chosen(session, "execute operation", "run", " `with sess.as_default():` or")
    _check_graph(operation, chosen, session, "execute operation: the operation's graph")
    chosen.run(operation, feed_dict)


def _chosen(session: Any, task: str, method: str, block: str) -> Any:
    """Returns the given session or the default one; raises `ValueError` if there is none."""
    chosen = get_default_session() if session is None else session
    if chosen is None:
        raise ValueError(
            f"Cannot {task} using `{method}()`: No default session is registered. Use{block} pass an explicit session "
            f"to `{method}(session=sess)`"
        )
    return chosen


def _check_graph(item: Any, chosen: Any, session: Any, text: str) -> None:
    if chosen.graph is not item.graph:
        session_text = "default session" if session is None else "given session"
        advice = " Pass an explicit session to `eval(session=sess)`." if session is None and "tensor" in text else ""
        raise ValueError(f"Cannot use the {session_text} to {text} is different from the session's graph.{advice}")
