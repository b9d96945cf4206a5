"""Assigns tasks to workers by name, because names are stable and addresses are not."""

from __future__ import annotations

import re
from collections.abc import Mapping

_NAMED = re.compile(r"([A-Za-z_]\w*)-(\d+)")
"""The form of worker names; nbtf's clusters use `job-number`, Dask's launchers a number, alone or after a name."""

JOBS = ("chief", "worker", "ps", "evaluator")
"""Jobs that a worker's name may contain. Source: `tf.train.ClusterSpec` in the guides."""

_JOB = "worker"
"""The job of all other workers."""


def number_tasks(names: Mapping[str, str], earlier: Mapping[str, tuple[str, int]]) -> dict[str, tuple[str, int]]:
    """Returns job and number of each worker, by address.

    A worker whose name ends with a number gets that number, unless another worker has it. The others get free numbers
    in the order of their names.

    Args:
      names: names of the current workers, by address.
      earlier: earlier assignments, including those of workers that have left.
    >>> number_tasks({"tls://b": "worker-1", "tls://a": "chief-0", "tls://c": "node-7-gpu"}, {})
    {'tls://a': ('chief', 0), 'tls://b': ('worker', 1), 'tls://c': ('worker', 0)}
    """
    tasks = {address: task for address, task in earlier.items() if address in names}
    used_tasks = set(tasks.values())
    unnumbered: list[str] = []
    for address in sorted(names.keys() - tasks.keys(), key=lambda address: (_order(names[address]), address)):
        task = _task(names[address])
        if task is None or task in used_tasks:
            unnumbered.append(address)
        else:
            tasks[address] = task
            used_tasks.add(task)
    for address in unnumbered:
        number = next(number for number in range(len(used_tasks) + 1) if (_JOB, number) not in used_tasks)
        tasks[address] = _JOB, number
        used_tasks.add((_JOB, number))
    return tasks


def _task(name: str) -> tuple[str, int] | None:
    """Returns the task that a worker's name contains, or None."""
    match = _NAMED.fullmatch(name)
    if match:
        return (match[1] if match[1] in JOBS else _JOB), int(match[2])
    return (_JOB, int(name)) if name.isascii() and name.isdigit() else None


def _order(name: str) -> tuple[str, int]:
    """Returns the sort key of a name: `w-9` comes before `w-10`."""
    prefix = name.rstrip("0123456789")
    number = name[len(prefix) :]
    return prefix, int(number) if number else -1
