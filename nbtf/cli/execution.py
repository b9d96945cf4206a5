"""What happens to each cell of a notebook? Runs the cells in a kernel of this Python and tells one after the other."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

import nbtf
from nbtf.cli.command_error import CommandError
from nbtf.cli.redirect import LEFT_OUT

Output = dict[str, Any]

# The kernel sits in the notebook's folder, where the nbtf that runs this command may not be on its path.
STARTUP = """\
__import__("sys").path.append({place!r})
__import__("nbtf.cli.redirect", fromlist=["install"]).install(get_ipython(), {tensorflow_1})
"""


@dataclass(frozen=True, slots=True)
class CellError:
    """What a cell raised: the name of the class, and its text."""

    name: str
    text: str


@dataclass(slots=True)
class CellRun:
    """One executed cell; `number` counts the code cells from 1, `index` all cells from 0."""

    number: int
    index: int
    source: str
    outputs: list[Output] = field(default_factory=list[Output])
    left_out: list[str] = field(default_factory=list[str])
    error: CellError | None = None


class KernelDiedError(Exception):
    """The kernel ended inside a cell, or was ended; the cells after it were not reached."""


DEATH = CellError(KernelDiedError.__name__, "the kernel died: out of memory, or a crash below Python")


def code_cells(notebook: Any) -> list[tuple[int, Any]]:
    """Returns the code cells that have text, each with its index in the notebook."""
    return [
        (index, cell) for index, cell in enumerate(notebook.cells) if cell.cell_type == "code" and cell.source.strip()
    ]


@dataclass(frozen=True, slots=True)
class Conditions:
    """How cells are run.

    `folder` is the kernel's working directory, `environment` its environment variables, `seconds` what a cell may take
    at most (None: any time), and `tensorflow_1` says that `import tensorflow` means TensorFlow 1.
    """

    folder: Path
    environment: Mapping[str, str]
    seconds: int | None = None
    tensorflow_1: bool = False


def run_cells(notebook: Any, conditions: Conditions, tell: Callable[[CellRun], None]) -> None:
    """Runs all code cells of a notebook, whatever they raise.

    Args:
      notebook: as nbformat reads it. Its cells are left as they are.
      conditions: where, with what, and for how long.
      tell: called with each cell once it has run.

    Raises:
      KernelDiedError: the kernel ended, or a cell took too long; the cell in which it did has been told.
      CommandError: nbtf cannot be imported in the kernel.
    """
    from nbclient import NotebookClient
    from nbclient.exceptions import CellTimeoutError, DeadKernelError

    v4: Any = importlib.import_module("nbformat.v4")  # has no types
    replies: dict[int, Any] = {}

    def keep_reply(cell: Any, cell_index: int, execute_reply: Any) -> None:
        replies[cell_index] = execute_reply["content"]

    package_folder = str(Path(nbtf.__file__).parents[1])
    cells: list[Any] = [v4.new_code_cell(STARTUP.format(place=package_folder, tensorflow_1=conditions.tensorflow_1))]
    cells += [v4.new_code_cell(cell.source) for _, cell in code_cells(notebook)]
    copy = v4.new_notebook(cells=cells)
    client = NotebookClient(copy, km=kernel(), allow_errors=True, on_cell_executed=keep_reply)
    settings = {"cwd": str(conditions.folder), "env": dict(conditions.environment)}
    with client.setup_kernel(**settings, stderr=DEVNULL, cleanup_kc=True):
        client.execute_cell(cells[0], 0, store_history=False)
        _require_redirect(_error(replies[0]))
        client.timeout = conditions.seconds
        for number, (index, cell) in enumerate(code_cells(notebook), start=1):
            try:
                client.execute_cell(cells[number], number)
            except DeadKernelError as dead:
                tell(_collected(number, index, cell.source, cells[number].outputs, DEATH))
                raise KernelDiedError from dead
            except CellTimeoutError as timeout:
                error = CellError(TimeoutError.__name__, f"stopped after {conditions.seconds} s (--timeout)")
                tell(_collected(number, index, cell.source, cells[number].outputs, error))
                raise KernelDiedError from timeout
            tell(_collected(number, index, cell.source, cells[number].outputs, _error(replies[number])))


def kernel() -> Any:
    """Returns a manager of kernels of this interpreter, whatever the user has installed under the name python3."""
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager

    class ThisPython(KernelSpecManager):
        def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
            return KernelSpec(
                argv=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
                display_name="Python 3",
                language="python",
            )

    return AsyncKernelManager(kernel_name="python3", kernel_spec_manager=ThisPython())


def _error(reply: Mapping[str, Any]) -> CellError | None:
    """What the reply says was raised. A magic that does not exist is found here only: it makes no error output."""
    return CellError(reply["ename"], reply["evalue"]) if reply["status"] == "error" else None


def _require_redirect(error: CellError | None) -> None:
    if error is not None:
        raise CommandError(f"cannot import nbtf in the notebook's kernel: {error.name}: {error.text}")


def _collected(number: int, index: int, source: str, outputs: list[Output], error: CellError | None) -> CellRun:
    """Sorts the messages that are ours from the cell's outputs, and joins streams that came in pieces."""
    run = CellRun(number, index, source, error=error)
    for output in outputs:
        if LEFT_OUT in output.get("data", {}):
            run.left_out.append(output["data"][LEFT_OUT])
        elif run.outputs and _same_stream(run.outputs[-1], output):
            run.outputs[-1]["text"] += output["text"]
        else:
            run.outputs.append(output)
    return run


def _same_stream(earlier: Output, following: Output) -> bool:
    return earlier["output_type"] == "stream" == following["output_type"] and earlier["name"] == following["name"]
