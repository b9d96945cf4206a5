"""The text of errors about tasks: which task, what happened, and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic
from typing import Any

from nbtf._cluster.tables import Failure, error_of
from nbtf._devices.sites import WORDING, Site
from nbtf.errors import OpError

INTERRUPTED = (
    "Work that the tasks of the cluster had not started was cancelled: reading one of its results raises a "
    "CancelledError. Finished results are kept, and the connection can still be used."
)
"""Note below an interrupt of a program that waited for a task."""


def error_of_op(failure: Failure, device: str, site: Site) -> OpError:
    """Returns the error of an op as TensorFlow writes it, with the line that requested the op if it is known."""
    if failure.of_cluster and not failure.is_dropped:
        return error_of(failure, failure.message)
    line_text = f"\nRequested in {WORDING.describe(site)}." if site is not None else ""
    if failure.is_dropped:
        return error_of(
            failure,
            f"{failure.op} was not run on {device}: the program was interrupted before the task reached it, and "
            "waiting work was cancelled. Run the code that makes this tensor again (assign a variable, or restore a "
            f"checkpoint). Finished results are kept, and the task can still be used.{line_text}",
        )
    message, newline, hint = failure.message.partition("\n")
    text = f"{{{{function_node __wrapped__{failure.op}_device_{device}}}}} {message} [Op:{failure.op}] name: "
    return error_of(failure, text + newline + hint + line_text)


def text_of_loss(task: str, reason: str, hello: Mapping[str, Any], counts: str) -> str:
    """Returns the message about a lost task.

    Args:
      task: name of the task.
      reason: what happened.
      hello: the task's description of itself.
      counts: finished and unfinished work, as text.
    """
    process = f" It was process {hello['pid']} on host {hello['host']}." if hello else ""
    short_task = task.replace("/replica:0", "")
    return (
        f"{task} is lost: {reason.removesuffix('.')}.{process} Its tensors are lost. A strategy continues after "
        f"strategy.replace('{short_task}'). Otherwise connect again with tf.config.experimental_connect_to_cluster and "
        f"create its tensors again. {counts}"
    )


def overdue(task: str, deadline: float, heard_at: float) -> str:
    """Returns the message about a task that is alive but does not answer."""
    return (
        f"{task} has not answered for {deadline:g} s, although it gave a sign of life {monotonic() - heard_at:.1f} s "
        "ago. It may be busy with a long op. If so, raise the cluster's deadline."
    )
