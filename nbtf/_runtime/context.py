"""Devices and settings of the process: configured, then frozen. All state that outlives a `with` is in this module."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from nbtf._devices.backends import MemoryOptions
from nbtf._devices.base import Device
from nbtf._devices.journal import Box
from nbtf._devices.lent import LENT
from nbtf._devices.machines import Simulated
from nbtf._devices.names import without_cuda
from nbtf._garbage import collector_paused
from nbtf._locks import new_lock
from nbtf._record.events import Reason
from nbtf._record.listeners import Observers
from nbtf._record.memory import journal_of
from nbtf._runtime.blocks import current_scope
from nbtf._runtime.configuration import Configuration, LogicalDevice
from nbtf._runtime.constants import Constants
from nbtf._runtime.device_scopes import CellDevice, DeviceScopes
from nbtf._runtime.gpus import GPUs, LogicalGPU
from nbtf._runtime.lanes import close_lane, open_lane
from nbtf._runtime.log_styles import CURRENT_STYLE
from nbtf._runtime.logical_devices import LogicalDevices
from nbtf._runtime.placement import Machine, Placeable, place_op
from nbtf._runtime.scopes import HERE, SCOPE, Request, Scope, merged
from nbtf._types import DType

if TYPE_CHECKING:
    from nbtf._record.recorder import Recorder
    from nbtf._runtime.seeds import Seeds


_REMEMBERED = 4096
"""Maximum number of kept decisions, so that a loop over made-up device names cannot fill the memory."""


class Settings:
    """Settings that can be changed at any time."""

    soft_placement: bool = True
    device_policy: str = "silent"
    functions_eager: bool = False
    default_device: Request | None = None
    inter_op_threads: int = 0
    intra_op_threads: int = 0
    placement_log_style: str = CURRENT_STYLE
    check_numerics: bool = False
    filters_tracebacks: bool = True
    tensor_float_32: bool = True
    jit: str = ""
    optimizer_options: tuple[tuple[str, bool], ...] = ()


class Context:
    """The devices of one process. Tests and `tf.runtime.restart` replace the context.

    `log` prints the placement of each op, given its type and device; it is not an observer, because it makes no
    events. `watched` is whether a log or an observer is set. `last_recorder` has stopped recording, but can still
    explain why a tensor is on its device.
    """

    # Shared by all contexts: a context that is being replaced must not open a lane after its successor has settled.
    _lock = new_lock()

    def __init__(
        self,
        machine: Simulated | None = None,
        environ: Mapping[str, str] | None = None,
        settings: Settings | None = None,
    ) -> None:
        """Creates an unused context.

        Args:
          machine: the simulated GPUs; None reads them from the environment.
          environ: where settings are read from; `os.environ` by default.
          settings: soft placement and similar settings; None uses the defaults.
        """
        self.configuration = Configuration(os.environ if environ is None else environ, machine)
        self.settings = settings or Settings()
        self.observers = Observers(self.settle, self.deliver, _is_silent)
        self.gpus = GPUs(self.configuration)
        self.logical_devices = LogicalDevices(self.configuration, self.gpus)
        self.machine: Machine | None = None
        self.log: Callable[[str, str], object] | None = None
        self.watched = False
        self.last_recorder: Recorder | None = None
        self.replacements = 0  # counts replaced strategy devices: functions traced earlier have outdated variables
        self.cluster: Any = None  # the connected cluster, as `_cluster.controller` defines it
        self.default_graph: Callable[[], Any] | None = None  # set by programs that disable eager execution
        self.endings: list[Callable[[], object]] = []  # called when the context ends
        self.summaries: Any = None  # the default summary writer outside blocks
        self.trace: Any = None  # the trace requested by `tf.summary.trace_on`
        self.constants = Constants()
        self.seeds: Seeds | None = None  # created by the first random op, so that `import nbtf` stays fast
        self.device_scopes = DeviceScopes()
        # Decisions since the last change, kept for the common case; `settle` clears them.
        self._placed: dict[Any, tuple[Device, Reason]] = {}
        self.decisions: dict[Any, Any] = {}  # see `decisions.py`

    # What placement reads

    @property
    def devices(self) -> Machine:
        """The logical devices; the first access freezes the configuration."""
        return self.machine or self.freeze()

    @property
    def host(self) -> Device:
        """CPU:0, where Python values and host-memory tensors are stored."""
        return self.devices.host

    def place_op(
        self, op: Placeable, dtypes: tuple[DType, ...], pinned_to: Device | None, scope: Scope | None
    ) -> tuple[Device, Reason]:
        """Chooses the device for an op in a scope."""
        request = None if scope is None else scope.request
        if scope is not None and scope.placed is not None:
            return scope.placed
        placed = self._placed  # read before the machine, so that a stale decision goes into a discarded dictionary
        cell = self.device_scopes.of_cell() if self.device_scopes.cells else None
        key = (op, dtypes, pinned_to, request and (request.name, request.reason), cell)
        placement = placed.get(key)
        if placement is None:
            if len(placed) > _REMEMBERED:
                placed.clear()
            machine = (self.machine or self.freeze())._replace(cell=cell)
            placement = placed[key] = place_op(op, dtypes, pinned_to, request, machine)
        return placement

    def freeze(self) -> Machine:
        """Creates the devices and lets all GPUs map memory. From now on `tf.config` rejects changes."""
        with self._lock, collector_paused():
            if self.machine is None:
                gpus, options = self.gpus.configured(), self.logical_devices.memory_options()
                self._use(self.logical_devices.make(gpus, [options] * len(gpus)))
                # As in TensorFlow, GPUs that are never used are started as well.
                self.gpus.start([options] * len(self.gpus.made))
        return self.devices

    def session_gpus(self, requested_gpus: Sequence[LogicalGPU], count: int, options: MemoryOptions) -> list[Device]:
        """Returns the GPUs of a session; unused GPUs start with the session's options.

        Args:
          requested_gpus: the GPUs that the session numbers.
          count: how many of them the session uses.
          options: the session's memory options; `tf.config` decides those that are unset.

        Raises:
          AlreadyExistsError: if the process already numbers its GPUs differently.
        """
        with self._lock:
            default_options = self.logical_devices.memory_options()
            options = options._replace(
                fraction=options.fraction or default_options.fraction, growth=options.growth or default_options.growth
            )
            used = min(count, len(requested_gpus))
            each = [options] * used + [default_options] * (len(requested_gpus) - used)
            if self.machine is None:
                self._use(self.logical_devices.make(requested_gpus, each))
            elif self.gpus.make(requested_gpus, each):
                self._use(self.logical_devices.machine())
            self.gpus.start(each[:used])
            return [*self.gpus.made[:used]]

    def admit(self, devices: Sequence[Device]) -> None:
        """Adds devices of other tasks to those that ops can be placed on."""
        with self._lock:
            self.freeze()
            self.logical_devices.joined = tuple(devices)
            self._use(self.logical_devices.machine())

    def _use(self, machine: Machine) -> None:
        """Places ops on a machine's devices from now on."""
        self.machine = machine
        self.settle()

    # What listeners and scopes change

    def settle(self) -> None:
        """Discards decisions, and opens or closes the express lane; every setter calls this last."""
        with self._lock:
            if self.machine is not None:
                default = self.settings.default_device
                self.machine = self.machine._replace(soft=self.settings.soft_placement, default=default)
            self._placed, self.decisions = {}, {}
            self.device_scopes.forget()
            self.watched = bool(self.observers.all) or self.log is not None
            self._keep_journals()
            if CURRENT.context is self:
                noticed = self.watched or self.settings.check_numerics
                requested = self.device_scopes.cells or self.settings.default_device is not None
                open_lane(None if noticed or requested else self.machine)
                HERE.watched = self.watched

    def _keep_journals(self) -> None:
        """Makes all GPUs log their memory changes while anything listens."""
        own_cards = [(gpu, "") for gpu in (*self.gpus.made, *self.logical_devices.joined)]
        lent_cards = [(card, card.library) for card in LENT] if CURRENT.context is self else []
        for card, library in (*own_cards, *lent_cards):
            card.keep_journal(journal_of(card, library) if self.observers.all else None)

    def deliver(self, boxes: Sequence[Box]) -> None:
        """Collects the pending memory entries of all GPUs."""
        for card in (*self.gpus.made, *self.logical_devices.joined, *LENT):
            card.hand_over(boxes)

    def set_log(self, log: Callable[[str, str], object] | None) -> None:
        """Calls `log` with the type and device of each placed op; None stops it."""
        with self._lock:
            self.log = log
            self.settle()

    def change(self, **settings: object) -> None:
        """Changes settings by name."""
        with self._lock:
            for name, value in settings.items():
                setattr(self.settings, name, value)
            self.settle()

    def set_cell_device(self, name: str) -> Callable[[], None]:
        """Makes a device the outermost scope of this thread; returns an undo that works from any thread."""
        cell = (threading.get_ident(), merged(without_cuda(name), None, Reason("cell")))
        with self._lock:
            self._open_cells([*self.device_scopes.opened, cell])

        def undo() -> None:
            with self._lock:
                for context in {self, CURRENT.context}:  # a restart in the cell carries the device over
                    opened = context.device_scopes.opened
                    context._open_cells([opened_cell for opened_cell in opened if opened_cell is not cell])

        return undo

    def _open_cells(self, opened: list[CellDevice]) -> None:
        self.device_scopes.open_cells(opened)
        self.settle()

    def set_default_device(self, name: str | None) -> None:
        """Places ops on a device if the program requests none."""
        self.change(
            default_device=None if name is None else merged(without_cuda(name), None, Reason("session default"))
        )

    def list_logical(self, device_type: str | None = None) -> list[LogicalDevice]:
        """Returns the logical devices, CPUs first."""
        self.freeze()
        return self.logical_devices.listed(device_type)

    def successor(self, keep_settings: bool) -> Context:
        """Returns a new context with the same observers, cell devices and simulated machine."""
        configuration = self.configuration
        machine = None if configuration.machine_from_environment else configuration.machine
        fresh = Context(machine, configuration.environ, self.settings if keep_settings else None)
        fresh.configuration.shares_simulated_gpus = configuration.shares_simulated_gpus
        fresh.observers = self.observers
        fresh.observers.belong_to(fresh.settle, fresh.deliver)
        fresh.last_recorder = self.last_recorder
        fresh._open_cells(self.device_scopes.opened)
        if keep_settings:
            fresh.log = self.log
        return fresh

    def close(self) -> None:
        """Ends this context. Its tensors stay readable; an op on them raises an error that mentions the restart."""
        for end in self.endings:
            end()
        if self.machine is not None:
            for device in self.machine.devices:
                device.close()
        for card in LENT:
            card.memory.tell_end()
        self.deliver(self.observers.boxes)


def _is_silent() -> bool:
    """Returns whether this thread is in a trial run, whose ops are not reported."""
    scope = SCOPE()
    return scope is not None and (scope.silent or getattr(scope.graph, "silent", False))


class _Current:
    """Holds the context in use."""

    __slots__ = ("context",)

    context: Context


CURRENT = _Current()
CURRENT.context = Context()


def open_graph() -> Any:
    """Returns the graph of the innermost open block, or the default graph; None in eager execution."""
    scope = SCOPE() and current_scope()
    if scope is not None and (scope.graph is not None or scope.at_once):
        return None if getattr(scope.graph, "runs_at_once", False) else scope.graph
    default = CURRENT.context.default_graph
    return None if default is None else default()


def install(context: Context) -> None:
    """Makes a context the current one."""
    with Context._lock:
        CURRENT.context = context
        close_lane()
        context.settle()


@contextmanager
def use_context(context: Context) -> Generator[Context]:
    """Uses another context inside a `with`, then restores the previous one."""
    previous = CURRENT.context
    install(context)
    try:
        yield context
    finally:
        install(previous)
