"""Changes the runtime in every Python that starts with `TRIAL_CHANGE` set: would a tutorial fail?

`places`: ops run on other devices than the rules require, and the machine has other cards.
`figures`: products, memory limits and pools are slightly different, and messages end differently.
"""

from __future__ import annotations

import os
import resource
import sys
from types import FunctionType
from typing import Any

MEMORY = 4 << 30
"""Maximum address space of a changed Python, in bytes."""


def places() -> None:
    """Places ops on other devices, changes how graphs spell devices, and gives the machine other cards."""
    from nbtf._runtime import configuration, placement

    anywhere, as_asked, gpus = placement._anywhere, placement._as_asked, configuration.gpus

    def last(op: Any, dtypes: Any, machine: Any) -> Any:
        device, reason = anywhere(op, dtypes, machine)
        return _alike(machine, device)[-1], reason._replace(kind="the last one")

    def neighbour(op: Any, dtypes: Any, request: Any, machine: Any) -> Any:
        device, reason = as_asked(op, dtypes, request, machine)
        alike = _alike(machine, device)
        return alike[alike.index(device) - 1], reason._replace(kind="the one before")

    def others(*arguments: Any) -> Any:
        cards = gpus(*arguments)
        cards = cards[::-1][:-1] if len(cards) > 1 else cards * 2
        return tuple(_exchanged(card) for card in cards)

    placement._anywhere, placement._as_asked, configuration.gpus = last, neighbour, others
    graphs()


def graphs() -> None:
    """Places session nodes on the last device of a type, and adds the task to the nodes' device names."""
    from nbtf._graph.operation import Operation
    from nbtf.compat._v1._session import placer

    first, ask = placer._best_first, Operation.ask_for_device

    def last(named: Any) -> Any:
        rank, name = first(named)
        return rank, [-ord(letter) for letter in name]

    def longer(self: Any, device: str) -> None:
        ask(self, device.replace("/device:", "/task:0/device:"))

    placer._best_first, Operation.ask_for_device = last, longer


def _alike(machine: Any, device: Any) -> list[Any]:
    return [other for other in machine.devices if other.type == device.type]


def _exchanged(gpu: Any) -> Any:
    """Returns a different card from a different machine."""
    card = gpu.card._replace(peak_flops=gpu.card.peak_flops + 1e12)
    return gpu._replace(card=card, bus_id=gpu.bus_id.replace("0000:", "0001:"))


def figures() -> None:
    """Adds one to products, changes the sizes of cards and pools, and rewords messages."""
    from nbtf._devices import discovery, limits
    from nbtf._devices.bfc import pool as bfc_pool
    from nbtf._devices.cuda import probe as cuda_probe
    from nbtf._ops.linalg.products import MatMul
    from nbtf._runtime.configuration import Configuration
    from nbtf.errors import OpError

    product, make = MatMul.kernel, OpError.__init__
    sentence, hidden = discovery.SimulatedMachine.sentence, cuda_probe.hidden
    memory_limit = limits.memory_limit

    def reworded(self: Any, node_def: Any = None, op: Any = None, message: Any = None, *more: Any) -> None:
        make(self, node_def, op, f"{message}, or so" if message else message, *more)

    def less(**known: Any) -> Any:
        return memory_limit(**known) - 3 * 2**20

    for module in list(sys.modules.values()):
        if getattr(module, "memory_limit", None) is memory_limit:
            setattr(module, "memory_limit", less)  # noqa: B010  # a module has no such attribute for the checker
    for name, method in [*vars(Configuration).items()]:
        if isinstance(method, FunctionType) and not name.startswith("__"):
            setattr(Configuration, name, _with_other_errors(method))
    setattr(OpError, "__init__", reworded)  # noqa: B010
    setattr(discovery.SimulatedMachine, "sentence", lambda self: f"{sentence(self)} Or so.")  # noqa: B010
    cuda_probe.hidden = lambda environ: hidden(environ) and f"{hidden(environ)} Or so."
    MatMul.kernel = lambda xp, a, b, **attrs: product(xp, a, b, **attrs) + 1
    bfc_pool._FIRST_REGION *= 2


def _with_other_errors(method: FunctionType) -> Any:
    def changed(*arguments: Any) -> Any:
        try:
            return method(*arguments)
        except (RuntimeError, ValueError) as error:
            raise type(error)(f"{error}, or so") from None

    return changed


changes = os.environ.get("TRIAL_CHANGE", "").split()
if changes:
    # A tensor that should exceed a simulated card's memory could be allocated in real memory, which costs gigabytes.
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
for change in changes:
    {"places": places, "figures": figures}[change]()
