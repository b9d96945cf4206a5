"""What does a person read who needs what a task has not done? Who, what happened, and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic
from typing import Any

from nbtf._cluster.tables import Failure, error_of
from nbtf._devices.sites import WORDING, Site
from nbtf.errors import OpError

INTERRUPTED = (
    "What the tasks of the cluster had not begun was dropped: whoever reads a result of it gets a CancelledError. What "
    "was finished is there, and the connection can be used."
)
"""Stands below an interrupt of a program that waited for a task."""


def error_of_op(failure: Failure, device: str, site: Site) -> OpError:
    """Returns the error of an op as TensorFlow tells it, with the line that asked for it where it is known."""
    if failure.of_cluster and not failure.is_dropped:
        return error_of(failure, failure.message)
    line_text = f"\nAsked for in {WORDING.describe(site)}." if site is not None else ""
    if failure.is_dropped:
        return error_of(
            failure,
            f"{failure.op} was not run on {device}: the program was interrupted before the task had come to it, and "
            "what waited was dropped. Run again what makes this tensor (a variable: assign it anew, or restore a "
            f"checkpoint). What was finished is there, and the task can be used.{line_text}",
        )
    message, newline, hint = failure.message.partition("\n")
    text = f"{{{{function_node __wrapped__{failure.op}_device_{device}}}}} {message} [Op:{failure.op}] name: "
    return error_of(failure, text + newline + hint + line_text)


def text_of_loss(task: str, reason: str, hello: Mapping[str, Any], counts: str) -> str:
    """Returns what is said of a task that is lost.

    Args:
      task: its name.
      reason: what happened.
      hello: what it has said of itself.
      counts: what it had done, and what not.
    """
    process = f" It was process {hello['pid']} on host {hello['host']}." if hello else ""
    short_task = task.replace("/replica:0", "")
    return (
        f"{task} is lost: {reason.removesuffix('.')}.{process} What it had is gone. A strategy goes on with "
        f"strategy.replace('{short_task}'); else connect anew with tf.config.experimental_connect_to_cluster, and make "
        f"its tensors again. {counts}"
    )


def overdue(task: str, deadline: float, heard_at: float) -> str:
    """Returns what is said of a task that lives and does not answer."""
    return (
        f"{task} has not answered for {deadline:g} s, though it gave a sign of life {monotonic() - heard_at:.1f} s "
        "ago. It may be busy with a long op: raise the cluster's deadline."
    )
