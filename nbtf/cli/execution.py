"""What happens in each cell of a notebook? Runs the cells in a kernel of this Python and reports them one by one."""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
import sys
import time
from collections.abc import AsyncGenerator, Callable, Collection, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import DEVNULL
from typing import Any, NoReturn, TypeVar

import nbtf
from nbtf.cli.command_error import CommandError
from nbtf.cli.streams import joined_neighbours, joined_streams

T = TypeVar("T")

Output = dict[str, Any]
Placement = dict[str, Any]
"""A row of a table of placements: `op`, `device`, `count` and `why`."""

LEFT_OUT = "application/vnd.nbtf.left-out"
"""Outputs of this type are not the cell's own: they name a command that was left out of it."""

BROKEN = "application/vnd.nbtf.broken"
"""Outputs of this type are not the cell's own either: each is one finding of a check that ran in the kernel."""

PLACED = "application/vnd.nbtf.placed"
"""Outputs of this type are not the cell's own either: each lists the cell's placements as JSON."""

START_SECONDS = 120
"""Seconds for a kernel to start, or to send what a cell has printed; generous, because the computer may be busy."""

WAKE_SECONDS = 0.2

# The kernel runs in the notebook's folder, where the nbtf that runs this command may not be on its path.
_PATH = "__import__('sys').path.append({folder!r})\n"


@dataclass(frozen=True, slots=True)
class CellError:
    """The error that a cell raised: the name of its class, and its text."""

    name: str
    text: str


@dataclass(slots=True)
class CellRun:
    """One executed cell; `number` counts the code cells from 1, `index` all cells from 0.

    Later cells may still change its outputs, as `update_display` does.
    """

    number: int
    index: int
    source: str
    outputs: list[Output] = field(default_factory=list[Output])
    left_out: list[str] = field(default_factory=list[str])
    broken: list[str] = field(default_factory=list[str])
    placements: list[Placement] = field(default_factory=list[Placement])
    error: CellError | None = None
    seconds: float = 0.0


class KernelDiedError(Exception):
    """The kernel died or was stopped during a cell; the cells after it did not run."""


DEATH = CellError(KernelDiedError.__name__, "the kernel died: out of memory, or a crash below Python")


def code_cells(notebook: Any) -> list[tuple[int, Any]]:
    """Returns the non-empty code cells, each with its index in the notebook."""
    return [
        (index, cell) for index, cell in enumerate(notebook.cells) if cell.cell_type == "code" and cell.source.strip()
    ]


@dataclass(frozen=True, slots=True)
class Conditions:
    """How cells are run.

    `folder` is the kernel's working directory, `environment` its environment variables, `seconds` the time limit of a
    cell (None: no limit). `startup` is code that runs before the first cell and can import this nbtf; `code_before`
    and `code_after` run around a cell, by its index. None of this code counts as a cell. Cells in `skipped` do not run.
    `joined_streams` joins the pieces of a cell's printed text into one output. `kernel` is the name of an installed
    kernel in Python; None runs this Python. `startup_seconds` limits the time until it answers.
    """

    folder: Path
    environment: Mapping[str, str]
    seconds: int | None = None
    startup: str = ""
    code_before: Mapping[int, str] = field(default_factory=dict[int, str])
    code_after: Mapping[int, str] = field(default_factory=dict[int, str])
    skipped: Collection[int] = ()
    joined_streams: bool = False
    kernel: str | None = None
    startup_seconds: int = START_SECONDS


def run_to_end(notebook: Any, conditions: Conditions, tell: Callable[[CellRun], None]) -> Any:
    """Runs all code cells of a notebook, as `run_cells` does, and waits until they are done."""
    return wait_for(run_cells(notebook, conditions, tell))


def wait_for(work: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine to its end in its own event loop; Ctrl-C cancels it, and its kernels end."""
    with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:  # ZeroMQ needs this loop, even on Windows
        return runner.run(work)


async def run_cells(notebook: Any, conditions: Conditions, tell: Callable[[CellRun], None]) -> Any:
    """Runs all code cells of a notebook in one kernel, even after a cell has raised an error.

    Args:
      notebook: as nbformat reads it. Its cells are not changed.
      conditions: the folder, environment and time limits.
      tell: function called with each cell once it has run; an error that it raises ends the run.

    Returns:
      The notebook metadata that the kernel provides: its language, and the state of the widgets.

    Raises:
      KernelDiedError: if the kernel ended or a cell took too long; that cell has been reported.
      CommandError: if the kernel did not start, or the startup code failed.
    """
    from nbclient.exceptions import CellTimeoutError, DeadKernelError

    cells = _Cells(notebook, conditions)
    async with _started(cells.client, conditions):
        if conditions.startup:
            failed = (await cells.execute_helper(_PATH.format(folder=_package_folder()) + conditions.startup)).error
            if failed is not None:
                raise CommandError(f"cannot import nbtf in the notebook's kernel: {failed.name}: {failed.text}")
        cells.client.timeout = conditions.seconds
        for number, (index, cell) in enumerate(code_cells(notebook), start=1):
            if index in conditions.skipped:
                continue
            run = CellRun(number, index, cell.source)
            try:
                await cells.execute(run)
            except DeadKernelError as dead:
                _end(cells, run, DEATH, tell, dead)
            except CellTimeoutError as timeout:
                text = f"stopped after {conditions.seconds} s (--timeout)"
                _end(cells, run, CellError(TimeoutError.__name__, text), tell, timeout)
            tell(run)
        return await cells.metadata()


def _end(cells: _Cells, run: CellRun, error: CellError, tell: Callable[[CellRun], None], cause: Exception) -> NoReturn:
    """Reports the cell during which the kernel ended."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():  # nbclient mistakes the end of this program for the kernel's
        raise asyncio.CancelledError from cause
    cells.collect(run)
    run.error = error
    tell(run)
    raise KernelDiedError from cause


class _Cells:
    """The notebook's cells in the client that executes them; the first cell is for code outside the notebook."""

    def __init__(self, notebook: Any, conditions: Conditions) -> None:
        v4: Any = importlib.import_module("nbformat.v4")  # nbformat has no type annotations
        self._copy: Any = v4.new_notebook(cells=[v4.new_code_cell(), *map(_copied(v4), code_cells(notebook))])
        self._replies: dict[int, Any] = {}
        self._unreadable: list[str] = []
        self._conditions = conditions
        self.client: Any = _client_class(self._unreadable)(
            self._copy,
            km=kernel(conditions.kernel),
            allow_errors=True,
            record_timing=False,
            startup_timeout=conditions.startup_seconds,
            iopub_timeout=START_SECONDS,
            on_cell_executed=self._keep_reply,
        )
        self.client.log = _SILENT

    def _keep_reply(self, cell: Any, cell_index: int, execute_reply: Any) -> None:
        self._replies[cell_index] = execute_reply["content"]

    async def execute(self, run: CellRun) -> None:
        """Executes a cell, with the code that runs before and after it."""
        code_before = self._conditions.code_before.get(run.index)
        if code_before is not None:
            await self.execute_helper(code_before)
        started, waking = time.perf_counter(), asyncio.ensure_future(self._wake())
        try:
            await self.client.async_execute_cell(self._copy.cells[run.number], run.number)
        finally:
            waking.cancel()
        run.seconds = time.perf_counter() - started
        self.collect(run)
        run.error = _error(self._replies[run.number])
        code_after = self._conditions.code_after.get(run.index)
        if code_after is not None:
            checked = await self.execute_helper(code_after)
            run.broken += checked.broken
            if checked.error is not None:
                run.broken.append(f"{checked.error.name}: {checked.error.text}")

    async def _wake(self) -> None:
        """Polls the kernel's sockets periodically.

        nbclient answers an `Output` widget through a socket on which it also waits for the end of the cell. Sending may
        consume the signal that a message has arrived; without polling, the cell would then run into its time limit.
        """
        while True:
            await asyncio.sleep(WAKE_SECONDS)
            for channel in (self.client.kc.shell_channel, self.client.kc.iopub_channel):
                await channel.socket.poll(1)  # one millisecond; only polling notices a message that has arrived

    async def execute_helper(self, code: str) -> CellRun:
        """Executes code that does not belong to the notebook."""
        self._copy.cells[0].source = code
        await self.client.async_execute_cell(self._copy.cells[0], 0, store_history=False)
        run = CellRun(0, -1, code, error=_error(self._replies[0]))
        self.collect(run)
        return run

    def collect(self, run: CellRun) -> None:
        """Separates our own messages from a cell's outputs, and joins streams that came in pieces."""
        outputs: list[Output] = []
        for output in self._copy.cells[run.number].outputs:
            data = output.get("data", {})
            if LEFT_OUT in data:
                run.left_out.append(data[LEFT_OUT])
            elif BROKEN in data:
                run.broken.append(data[BROKEN])
            elif PLACED in data:
                run.placements += json.loads(data[PLACED])
            else:
                outputs.append(output)
        run.broken += self._unreadable
        self._unreadable.clear()
        run.outputs = joined_streams(outputs) if self._conditions.joined_streams else joined_neighbours(outputs)

    async def metadata(self) -> Any:
        """Returns the kernel's description of its language, and the widgets it has created."""
        reply = await self.client.async_wait_for_reply(self.client.kc.kernel_info())
        if reply is not None:
            self._copy.metadata["language_info"] = reply["content"]["language_info"]
        self.client.set_widgets_metadata()
        return self._copy.metadata


def _client_class(unreadable: list[str]) -> Any:
    """Returns a class of nbclient's that skips messages it cannot read, and describes them in a list.

    Otherwise such a message ends the task that reads outputs. If the cell then reaches its time limit, nbclient ignores
    the error of that task, and asyncio prints a traceback.
    """
    from nbclient import NotebookClient

    class Client(NotebookClient):
        def process_message(self, msg: Any, cell: Any, cell_index: int) -> Any:
            try:
                return super().process_message(msg, cell, cell_index)
            except (LookupError, TypeError, ValueError, AttributeError) as error:
                unreadable.append(f"unreadable message {msg.get('msg_type')!r}: {type(error).__name__}: {error}")
                return None

    return Client


def _copied(v4: Any) -> Callable[[tuple[int, Any]], Any]:
    return lambda indexed: v4.new_code_cell(indexed[1].source)


_SILENT = logging.Logger("nbtf.cli.execution", logging.CRITICAL)
"""For nbclient: messages that it would log are reported as an error of the cell instead."""


@asynccontextmanager
async def _started(client: Any, conditions: Conditions) -> AsyncGenerator[None]:
    """Starts the client's kernel and ends it, without the signal handlers that nbclient installs for each kernel."""
    manager = client.km
    settings = {"cwd": str(conditions.folder), "env": dict(conditions.environment)}
    try:
        await client.async_start_new_kernel(**settings, stdout=DEVNULL, stderr=DEVNULL)
        await client.async_start_new_kernel_client()
    except (RuntimeError, OSError) as error:
        await _end_kernel(client, manager)
        raise CommandError(f"the kernel did not start: {error}") from error
    except asyncio.CancelledError:  # Ctrl-C
        await _end_kernel(client, manager)
        raise
    try:
        yield
    finally:
        await _end_kernel(client, manager)


async def _end_kernel(client: Any, manager: Any) -> None:
    channels = client.kc
    if manager.has_kernel and await manager.is_alive():
        await manager.shutdown_kernel()
    await manager.cleanup_resources()
    if channels is not None:
        channels.stop_channels()


def kernel(name: str | None = None) -> Any:
    """Returns a kernel manager.

    Args:
      name: name of an installed kernel; None for this interpreter, regardless of the installed kernel named python3.

    Raises:
      CommandError: if there is no such kernel, or it is not in Python.
    """
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager, NoSuchKernel
    from jupyter_client.manager import AsyncKernelManager

    if name is not None:
        installed = KernelSpecManager()
        try:
            language = str(installed.get_kernel_spec(name).language)
        except NoSuchKernel:
            names = ", ".join(sorted(installed.find_kernel_specs())) or "none"
            raise CommandError(f"no kernel is named {name!r}. Installed kernels: {names}") from None
        if language.lower() != "python":
            raise CommandError(f"the kernel {name!r} is in {language}; nbtf runs Python notebooks")
        return AsyncKernelManager(kernel_name=name)

    class ThisPython(KernelSpecManager):
        def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
            return KernelSpec(
                argv=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
                display_name="Python 3",
                language="python",
            )

    return AsyncKernelManager(kernel_name="python3", kernel_spec_manager=ThisPython())


def _package_folder() -> str:
    return str(Path(nbtf.__file__).parents[1])


def _error(reply: Mapping[str, Any]) -> CellError | None:
    """The error in the reply. An unknown magic is reported only here: it makes no error output."""
    return CellError(reply["ename"], reply["evalue"]) if reply["status"] == "error" else None
