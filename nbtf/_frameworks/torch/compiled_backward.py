"""When does the backward pass of what PyTorch has compiled run? It is told as one op, as its forward pass is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from time import perf_counter, time
from typing import Any

from nbtf._frameworks.torch.origins import CompiledCall, Origins

_NODE = "CompiledFunctionBackward"
"""What AOTAutograd calls the node of all that it has compiled; its kernels need not pass PyTorch's dispatcher."""


class _Running:
    """The backward pass of a call: how it began, and what ran of it last."""

    __slots__ = ("began_at", "ended", "results", "started")

    def __init__(self) -> None:
        self.began_at, self.started = time(), perf_counter()
        self.ended = self.started
        self.results: Any = ()


class BackwardCalls:
    """What runs on a thread of the backward passes of compiled calls. Nodes of several may take turns."""

    def __init__(self, torch: Any, note: Callable[[CompiledCall, float, float, Any], object]) -> None:
        """Takes PyTorch's module, and what notes a pass that has ended: when it began, seconds, and last results."""
        self._torch, self._note = torch, note
        self.running: dict[CompiledCall, _Running] = {}

    def clear(self) -> None:
        """Forgets what an interrupt has left behind."""
        self.running.clear()

    def begin(self, call: CompiledCall) -> _Running:
        """Begins with a call, if it has not begun; it ends with the backward pass at the latest."""
        running = self.running.get(call)
        if running is None:
            running = self.running[call] = _Running()
            self._torch.autograd.Variable._execution_engine.queue_callback(self.end_all)
        return running

    def has(self, origins: Origins) -> bool:
        """Tells whether what runs now belongs to a call; ends those to which nothing belongs any more."""
        if self.running:
            self.end_above(origins.node_number)
        return origins.compiled_call is not None

    def run(self, call: CompiledCall, func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Runs an op that belongs to a call, and is no op of its own."""
        running = self.begin(call)
        running.results = result = func(*args, **kwargs)
        running.ended = perf_counter()
        return result

    def end_above(self, node_number: int) -> None:
        """Ends the calls whose nodes all have higher numbers than the one that runs now: they came first."""
        for call in [call for call in self.running if node_number < call.first_number]:
            self._end(call)

    def end_all(self) -> None:
        """Ends what has begun: the backward pass is over."""
        self.end_above(-1)

    def end(self, call: CompiledCall, results: Sequence[Any]) -> None:
        """Ends a call whose only node has returned its gradients."""
        running = self.running.get(call)
        if running is not None:
            running.ended, running.results = perf_counter(), results
            self._end(call)

    def _end(self, call: CompiledCall) -> None:
        running = self.running.pop(call)
        with suppress(Exception):  # the program has asked for nothing here
            self._note(call, running.began_at, running.ended - running.started, running.results)


def tell_of_backward(torch: Any, results: Sequence[Any]) -> None:
    """Has the backward pass of what a compiled call has returned told, also where no op of it is dispatched."""
    nodes = {node for each in results if (node := getattr(each, "grad_fn", None)) is not None and node.name() == _NODE}
    for node in nodes:
        _watch(torch, node)


def _watch(torch: Any, node: Any) -> None:
    number: int = node._sequence_nr()  # a hook that had the node would keep it, and all of the graph

    def begins(_: Any) -> None:
        _tell(torch, number, None)

    def ends(gradients: Any, _: Any) -> None:
        _tell(torch, number, gradients)

    node.register_prehook(begins)
    node.register_hook(ends)


def _tell(torch: Any, number: int, gradients: Sequence[Any] | None) -> None:
    """Is told that a node begins, or which gradients it has returned."""
    from nbtf._frameworks.torch.hearing import hearing_of_thread  # late: it imports what imports this

    hearing = hearing_of_thread(torch)
    call = None if hearing is None or hearing.origins is None else hearing.origins.compiled_call_of(number)
    if hearing is None or call is None:
        return
    with suppress(Exception):
        if gradients is None:
            hearing.backward.begin(call)
        else:
            hearing.backward.end(call, gradients)
