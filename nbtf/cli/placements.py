"""Where did the ops of each cell run? Runs inside a notebook's kernel, and sends a row for each op and device."""

from __future__ import annotations

import importlib
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from nbtf._counts import counted
from nbtf.cli import redirect
from nbtf.cli.execution import PLACED, Placement
from nbtf.cli.table import table


def startup(library: str, tensorflow_1: bool = False) -> str:
    """Returns the code that watches a library in a kernel, `tensorflow` or `nbtf`.

    >>> startup("tensorflow")
    '__import__("nbtf.cli.placements", fromlist=["install"]).install(get_ipython(), "tensorflow", False)'
    """
    call = f'install(get_ipython(), "{library}", {tensorflow_1})'
    return f'__import__("nbtf.cli.placements", fromlist=["install"]).{call}'


def install(shell: Any, library: str, tensorflow_1: bool = False) -> None:
    """Loads the extension in an IPython shell, which then sends the placements of each cell.

    Args:
      shell: the shell.
      library: `nbtf`, which then also answers to the name `tensorflow`, or `tensorflow`, which is imported by the
        notebook.
      tensorflow_1: whether `import tensorflow as tf` means TensorFlow 1, for nbtf only.
    """
    if library == "nbtf":
        redirect.install(shell, tensorflow_1)
    else:
        redirect.leave_out_commands(shell)
    notebook: Any = importlib.import_module("nbtf.notebook")  # loads IPython, which the command itself need not have
    notebook.load_ipython_extension(shell)
    session = importlib.import_module("nbtf.notebook.session").SESSIONS[shell]
    if library != "nbtf":
        importlib.import_module("nbtf.notebook.library_watch").library_watch_of(session).begin(library)

    def send(record: Any, failed: bool) -> None:
        shell.display_pub.publish({PLACED: json.dumps(_placements(record))}, {})

    def begin(info: Any) -> None:
        if info.store_history and not session.nested:
            session.record_cell(send)

    session.on_stop(session.hooks.add("pre_run_cell", begin))


def _placements(record: Any) -> list[Placement]:
    tables: Any = importlib.import_module("nbtf.notebook.magics.placement_log")
    rows = tables.grouped(record.snapshot()).rows
    return [{name: row[name] for name in ("op", "device", "count", "why")} for row in rows]


def in_lines(placements: Sequence[Placement]) -> list[str]:
    """Returns the lines of a table of placements; empty without any.

    >>> in_lines([{"op": "MatMul", "device": "CPU:0", "count": 2, "why": "no GPU"}])
    ['op      device  count  why', 'MatMul  CPU:0   2      no GPU']
    """
    rows = [[row["op"], row["device"], f"{row['count']:,}", row["why"]] for row in placements]
    return table([["op", "device", "count", "why"], *rows]).split("\n") if rows else []


def different(first: Sequence[Placement], second: Sequence[Placement]) -> list[str]:
    """Returns the differences between two cells' placements: `-` for the first, `+` for the second.

    >>> on_cpu = {"op": "MatMul", "device": "CPU:0", "count": 2, "why": "no GPU"}
    >>> different([on_cpu], [on_cpu | {"device": "GPU:0", "why": "lowest-numbered GPU"}])
    ['- MatMul on CPU:0 (2 times)', '+ MatMul on GPU:0 (2 times)']
    """
    first_ops, second_ops = _by_device(first), _by_device(second)
    return [f"- {line}" for line in _in_words(first_ops - second_ops)] + [
        f"+ {line}" for line in _in_words(second_ops - first_ops)
    ]


def _by_device(placements: Sequence[Placement]) -> Counter[tuple[str, str]]:
    counts = Counter[tuple[str, str]]()
    for row in placements:
        counts[row["op"], row["device"]] += row["count"]
    return counts


def _in_words(ops: Counter[tuple[str, str]]) -> list[str]:
    return [
        f"{op} on {device} ({counted(count, 'time')})" if count > 1 else f"{op} on {device}"
        for (op, device), count in sorted(ops.items())
    ]
