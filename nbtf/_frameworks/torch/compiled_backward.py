"""Records the backward pass of a compiled call as one op, like its forward pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from time import perf_counter, time
from typing import Any

from nbtf._frameworks.torch.origins import CompiledCall, Origins
from nbtf._frameworks.torch.thread_observer import hearing_of_thread

_NODE = "CompiledFunctionBackward"
"""AOTAutograd's name of the node for all compiled ops, whose kernels may bypass PyTorch's dispatcher."""


class _Running:
    """The backward pass of a call: its start, and the last results."""

    __slots__ = ("began_at", "ended", "results", "started")

    def __init__(self) -> None:
        self.began_at, self.started = time(), perf_counter()
        self.ended = self.started
        self.results: Any = ()


class BackwardCalls:
    """The running backward passes of compiled calls on a thread. Nodes of several calls may alternate."""

    def __init__(self, torch: Any, note: Callable[[CompiledCall, float, float, Any], object]) -> None:
        """Stores PyTorch's module, and a function that records a finished pass: start, seconds and last results."""
        self._torch, self._note = torch, note
        self.running: dict[CompiledCall, _Running] = {}

    def clear(self) -> None:
        """Discards what an interrupt has left behind."""
        self.running.clear()

    def begin(self, call: CompiledCall) -> _Running:
        """Starts a call's pass, unless it has started; the end of the backward pass ends it at the latest."""
        running = self.running.get(call)
        if running is None:
            running = self.running[call] = _Running()
            self._torch.autograd.Variable._execution_engine.queue_callback(self.end_all)
        return running

    def has(self, origins: Origins) -> bool:
        """Returns whether the running op belongs to a call; ends passes without further ops."""
        if self.running:
            self.end_above(origins.node_number)
        return origins.compiled_call is not None

    def run(self, call: CompiledCall, func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Runs an op that belongs to a call and is not recorded separately."""
        running = self.begin(call)
        running.results = result = func(*args, **kwargs)
        running.ended = perf_counter()
        return result

    def end_above(self, node_number: int) -> None:
        """Ends the calls whose nodes all have higher numbers than the running node, because those nodes ran first."""
        for call in [call for call in self.running if node_number < call.first_number]:
            self._end(call)

    def end_all(self) -> None:
        """Ends all passes: the backward pass is over."""
        self.end_above(-1)

    def end(self, call: CompiledCall, results: Sequence[Any]) -> None:
        """Ends a call whose only node has returned its gradients."""
        running = self.running.get(call)
        if running is not None:
            running.ended, running.results = perf_counter(), results
            self._end(call)

    def _end(self, call: CompiledCall) -> None:
        running = self.running.pop(call)
        with suppress(Exception):  # an error here must not reach the user's program
            self._note(call, running.began_at, running.ended - running.started, running.results)


def tell_of_backward(torch: Any, results: Sequence[Any]) -> None:
    """Records the backward pass of a compiled call's results, even when no op of it is dispatched."""
    nodes = {node for each in results if (node := getattr(each, "grad_fn", None)) is not None and node.name() == _NODE}
    for node in nodes:
        _watch(torch, node)


def _watch(torch: Any, node: Any) -> None:
    number: int = node._sequence_nr()  # a hook with a reference to the node would keep the whole graph alive

    def begins(_: Any) -> None:
        _tell(torch, number, None)

    def ends(gradients: Any, _: Any) -> None:
        _tell(torch, number, gradients)

    node.register_prehook(begins)
    node.register_hook(ends)


def _tell(torch: Any, number: int, gradients: Sequence[Any] | None) -> None:
    """Records that a node starts, or the gradients that it has returned."""
    hearing = hearing_of_thread(torch)
    call = None if hearing is None or hearing.origins is None else hearing.origins.compiled_call_of(number)
    if hearing is None or call is None:
        return
    with suppress(Exception):
        if gradients is None:
            hearing.backward.begin(call)
        else:
            hearing.backward.end(call, gradients)
