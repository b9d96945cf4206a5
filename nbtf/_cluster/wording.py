"""What does a person read who needs what a task has not done? Who, what happened, and what to do."""

from __future__ import annotations

from time import monotonic

from nbtf._cluster.tables import Failure, error_of
from nbtf._devices.sites import WORDING, Site
from nbtf.errors import AbortedError, CancelledError, DeadlineExceededError, OpError, UnavailableError

INTERRUPTED = (
    "What the tasks of the cluster had not begun was dropped: whoever reads a result of it gets a CancelledError. What "
    "was finished is there, and the connection can be used."
)
"""Stands below an interrupt of a program that waited for a task."""

_OF_TASKS = (UnavailableError.__name__, AbortedError.__name__, DeadlineExceededError.__name__)
"""Errors that say themselves which task they are about."""


def error_of_op(failure: Failure, device: str, site: Site) -> OpError:
    """Returns the error of an op as TensorFlow tells it, with the line that asked for it where it is known."""
    if failure.error in _OF_TASKS:
        return error_of(failure, failure.message)
    line_text = f"\nAsked for in {WORDING.describe(site)}." if site is not None else ""
    if failure.error == CancelledError.__name__:
        return error_of(
            failure,
            f"{failure.op} was not run on {device}: the program was interrupted before the task had come to it, and "
            "what waited was dropped. Run again what makes this tensor (a variable: assign it anew, or restore a "
            f"checkpoint). What was finished is there, and the task can be used.{line_text}",
        )
    message, newline, hint = failure.message.partition("\n")
    text = f"{{{{function_node __wrapped__{failure.op}_device_{device}}}}} {message} [Op:{failure.op}] name: "
    return error_of(failure, text + newline + hint + line_text)


def overdue(task: str, deadline: float, heard_at: float) -> str:
    """Returns what is said of a task that lives and does not answer."""
    return (
        f"{task} has not answered for {deadline:g} s, though it gave a sign of life {monotonic() - heard_at:.1f} s "
        "ago. It may be busy with a long op: raise the cluster's deadline."
    )
