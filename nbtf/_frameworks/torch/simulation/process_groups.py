"""Kernels for the operations of `torch.distributed` on simulated devices: gloo sends the host memory below the tensors.

A real card's values would be copied to the host and back. Here that memory is the host's already, so nothing is
copied, but both copies are recorded and added to the modelled time.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from time import sleep
from typing import Any

from nbtf._frameworks.torch.simulation.machine import Machine
from nbtf._frameworks.torch.simulation.peers import Peers
from nbtf._frameworks.torch.thread_observer import hearing_of_thread

_LIBRARY = "c10d"
"""The namespace of these operations in PyTorch's dispatcher."""

_RELEASE = 0.1
"""Seconds that gloo's threads have to release the last operation, which takes them microseconds."""

_SOURCE = "gloo/"
"""Part of the errors of gloo's connections, which name a file of its source."""

_FLAT = frozenset(
    [f"c10d::{name}_" for name in ("_allgather_base", "_reduce_scatter_base")]
    + [f"c10d::{name}_coalesced_" for name in ("allgather_into_tensor", "reduce_scatter_tensor")]
)
"""Operations for which only the numbers of elements must agree; gloo requires the same for the first dimensions."""

_WAITING = "_c10d_functional::wait_tensor"

_NO_VALUES = "Process groups need values, and these GPUs are simulated without values. Predict one process instead."
_SPARSE = (
    "Process groups send only dense tensors of simulated GPUs. Send tensor.to_dense(), or create the embedding with "
    "sparse=False."
)
_MIXED = "{} got tensors on {} and the CPU. All tensors of one operation must be on simulated GPUs or on the CPU."


def group_kernels(machine: Machine, peers: Peers) -> Iterator[tuple[str, str, Callable[..., Any]]]:
    """Yields the name of each operation, a dispatch key, and the kernel.

    Args:
      machine: machine with the devices.
      peers: the other processes, which errors name.
    """
    torch = machine.torch
    for name in torch._C._dispatch_get_all_op_names():
        if name.startswith(f"{_LIBRARY}::"):
            yield name, "CUDA", GroupKernel(machine, peers, name)
            yield name, "SparseCUDA", _refuse_sparse
        elif name == _WAITING:
            yield name, "CUDA", _wait_and_raise(machine, peers, torch.ops._c10d_functional.wait_tensor.default)


def _wait_and_raise(machine: Machine, peers: Peers, op: Any) -> Callable[[Any], Any]:
    """Returns the kernel that ends an operation of `torch.distributed._functional_collectives`."""

    def wait(tensor: Any) -> Any:
        result = op.redispatch(machine.cpu_keys, tensor)
        peers.raise_error()
        return result

    return wait


def _refuse_sparse(*_args: Any, **_kwargs: Any) -> Any:
    raise NotImplementedError(_SPARSE)


class GroupKernel:
    """Runs an operation of a process group on the host memory of device tensors."""

    def __init__(self, machine: Machine, peers: Peers, name: str) -> None:
        """Stores the machine, the other processes and the full name of the operation."""
        self._machine, self._peers, self._name = machine, peers, name
        torch = machine.torch
        self._op = getattr(getattr(torch.ops, _LIBRARY), name.partition("::")[2]).default
        self._arguments = [argument.name for argument in self._op._schema.arguments]
        self._types: Any = torch._C._distributed_c10d

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Starts the operation, and returns its results with the work that ends it."""
        machine = self._machine
        self._peers.raise_error()
        if not machine.tensors.has_values:
            raise NotImplementedError(_NO_VALUES)
        arguments = dict(zip(self._arguments, args, strict=False)) | kwargs
        numbers: list[int] = []
        with machine.plain():
            lowered = {name: machine.lower(value, numbers) for name, value in arguments.items()}
        device = f"cuda:{max(numbers)}"
        if min(numbers) < 0:
            raise RuntimeError(_MIXED.format(self._name, device))
        if "process_group" not in arguments:
            return self._op(**lowered)
        group = self._types.ProcessGroup.unbox(arguments["process_group"])
        lowered["process_group"] = self._on_host(group).boxed()
        if "device_ids" in arguments:
            lowered["device_ids"] = []
        if self._name in _FLAT:
            lowered = {name: _flattened(value, machine.torch.Tensor) for name, value in lowered.items()}
        result: Any = self._explained(lambda: self._op(**lowered))
        self._add_copies(arguments, group.rank())
        if result is None:
            return None
        _register_exit()
        tensors = arguments[self._arguments[0]]
        host_work: Any = result[1] if result.__class__ is tuple else result
        boxed: Any = (
            None if host_work is None else self._boxed(host_work, tensors, device, arguments.get("async_op", True))
        )
        return (tensors, boxed) if result.__class__ is tuple else boxed

    def _boxed(self, host_work: Any, tensors: Any, device: str, is_async: bool) -> Any:
        """Returns the work of an operation as the dispatcher passes it on; it has ended unless `is_async`."""
        work, results = self._types.Work.unbox(host_work), [*_flat(tensors)]
        if is_async:
            return self._work(work, results, device).boxed()
        self._explained(work.wait)
        future = self._machine.torch.futures.Future(devices=[device])
        future.set_result(results)
        return self._types._create_work_from_future(future).boxed()

    def _on_host(self, group: Any) -> Any:
        """Returns a group of the same processes whose backend for devices receives tensors on the CPU."""
        host_group = self._types.ProcessGroup(group.rank(), group.size())
        backend = group._get_backend(self._machine.torch.device("cuda"))
        gloo = self._types.ProcessGroup.BackendType.GLOO
        host_group._register_backend(self._machine.cpu, gloo, backend)
        host_group._set_default_backend(gloo)
        return host_group

    def _work(self, host_work: Any, results: Any, device: str) -> Any:
        """Returns the work of an operation, whose results are tensors of the device."""
        try:
            future = host_work.get_future()
        except RuntimeError:  # gloo has no future for sent and received tensors and for scattered sums
            return self._waiting(host_work)

        def open_gate(_future: Any) -> None:
            gate.set_result([])

        def end(_gate: Any) -> Any:
            try:
                self._explained(future.value)
            except RuntimeError as error:
                self._peers.keep_error(error)
                raise
            return results

        gate = self._machine.torch.futures.Future(devices=[device])  # gloo's future may only contain CPU tensors
        outcome = gate.then(end)
        future.add_done_callback(open_gate)
        return self._types._create_work_from_future(outcome)

    def _waiting(self, work: Any) -> Any:
        """Returns a work that waits for gloo's own when the program does."""
        if self._name == "c10d::recv_any_source_":  # only gloo's own work knows the sender
            return work

        def wait(timeout: Any) -> bool:
            return self._explained(lambda: work.wait(timeout) if timeout else work.wait())

        return self._types.PythonCallbackWork(wait)

    def _explained(self, result: Callable[[], Any]) -> Any:
        """Returns a result, or raises its error with the names of the processes that have ended."""
        try:
            return result()
        except RuntimeError as error:
            lost = self._peers.lost() if _SOURCE in str(error) else ""
            if lost:
                raise RuntimeError(f"{self._name.partition('::')[2].strip('_')} failed: {lost} {error}") from error
            raise

    def _add_copies(self, arguments: Mapping[str, Any], rank: int) -> None:
        """Records the copies to the host and back, and adds them to the devices' modelled time."""
        sent, received = self._traffic(arguments, rank)
        machine, hearing = self._machine, hearing_of_thread(self._machine.torch)
        for tensor in sent:
            if machine.timing.is_wanted:
                machine.timing.add_copy(tensor.get_device(), -1, _nbytes(tensor))
            if hearing is not None:
                hearing.note_transfer(tensor.device, machine.cpu, _nbytes(tensor))
        for tensor in received:
            if machine.timing.is_wanted:
                machine.timing.add_copy(-1, tensor.get_device(), _nbytes(tensor))
            if hearing is not None:
                hearing.note_transfer(machine.cpu, tensor.device, _nbytes(tensor))

    def _traffic(self, arguments: Mapping[str, Any], rank: int) -> tuple[Sequence[Any], Sequence[Any]]:
        """Returns the tensors that this process sends and those that it receives."""
        name, is_root = self._name.partition("::")[2], arguments.get("root_rank") == rank
        sent: list[Any] = []
        received: list[Any] = []
        for argument, value in arguments.items():
            tensors = [each for each in _flat(value) if isinstance(each, self._machine.torch.Tensor)]
            if argument.startswith("input"):
                sent += tensors
            elif argument.startswith("output"):
                received += tensors
            elif name not in ("barrier", "monitored_barrier_"):
                if name not in ("recv_", "recv_any_source_") and (name != "broadcast_" or is_root):
                    sent += tensors
                if name != "send" and (name != "broadcast_" or not is_root) and (name != "reduce_" or is_root):
                    received += tensors
        return sent, received


@cache
def _register_exit() -> None:
    """Lets gloo's threads release their tensors and callbacks before Python ends, which would abort the process."""
    atexit.register(sleep, _RELEASE)


def _flat(value: Any) -> Iterator[Any]:
    """Yields the elements of nested lists, or a single value."""
    if value.__class__ in (list, tuple):
        for element in value:
            yield from _flat(element)
    else:
        yield value


def _flattened(value: Any, tensor_class: type) -> Any:
    """Returns tensors with one dimension, and other values unchanged."""
    if value.__class__ is list:
        return [_flattened(element, tensor_class) for element in value]
    return value.view(-1) if isinstance(value, tensor_class) and value.is_contiguous() else value


def _nbytes(tensor: Any) -> int:
    return int(tensor.numel() * tensor.element_size())
