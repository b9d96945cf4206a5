"""Which line of the program has caused a PyTorch op, in which phase and layer, and why is it on its device?"""

from __future__ import annotations

from typing import Any, Generic, TypeVar, cast

from nbtf._devices.sites import CallSite
from nbtf._frameworks.layers import OUTSIDE, LayerPart, place_at, place_in
from nbtf._frameworks.torch.frames import AUTOGRAD, ENGINE, LOADER, MODULES, asks_for_device, scope_device, user_frame
from nbtf._frameworks.torch.modules import ModuleStack
from nbtf._frameworks.torch.operators import LIFT, Operator
from nbtf._record.events import Reason
from nbtf._runtime.phases import BACKWARD, FORWARD, INPUT, SLOTS, UPDATE, WEIGHTS
from nbtf._runtime.placement import ASKED, BACKWARD_OF, BACKWARD_VIEW, COMPILED, DEFAULT_DEVICE, FOLLOWS_INPUT, VIEW

FOLLOWS, SHARES = Reason(FOLLOWS_INPUT), Reason(VIEW)
ASKED_FOR, BY_DEFAULT = Reason(ASKED), Reason(DEFAULT_DEVICE)

_NODES = 4096
_SLOT_OPS = frozenset({"aten::zeros_like", "aten::zeros", "aten::full_like", "aten::clone"})
"""Functions in `torch.optim` that create an optimizer's state."""


class Marks:
    """The open, nested profiler marks on a thread, and whether one of them is an optimizer's step."""

    __slots__ = ("_open", "in_step")

    def __init__(self) -> None:
        """Starts outside steps."""
        self._open: list[bool] = []
        self.in_step = False

    def begin(self, is_step: bool) -> None:
        """Records that a mark starts."""
        self._open.append(is_step)
        self.in_step = any(self._open)

    def end(self) -> None:
        """Records that the last mark ends."""
        del self._open[-1:]
        self.in_step = any(self._open)

    def clear(self) -> None:
        """Discards what an interrupt has left behind."""
        self._open.clear()
        self.in_step = False


class CompiledCall:
    """A call of a compiled function with nodes in autograd's graph, and the origin of its backward pass."""

    __slots__ = ("call_site", "first_number", "reason")

    def __init__(self, first_number: int, call_site: CallSite, reason: Reason) -> None:
        """Stores the number of the call's first node, and the code line and reason of its backward pass."""
        self.first_number, self.call_site, self.reason = first_number, call_site, reason


class Origins:
    """Determines the origins of a thread's ops."""

    __slots__ = (
        "_compiled",
        "_default",
        "_forward",
        "_modules",
        "_node",
        "_nodes",
        "_sequence",
        "_sequence_before",
        "_tensor",
        "compiled_call",
        "marks",
        "node_number",
    )

    def __init__(self, torch: Any, modules: ModuleStack) -> None:
        """Stores PyTorch's module and the running modules."""
        self._node = torch._C._current_autograd_node
        self._sequence = torch.autograd._get_sequence_nr
        self._default = torch.get_default_device
        self._tensor = torch.Tensor
        self._modules, self._forward = modules, ForwardLines[CallSite]()
        self._compiled = ForwardLines[CompiledCall]()
        self.node_number = -1
        """The origin of the node whose backward pass is running."""
        self.compiled_call: CompiledCall | None = None
        """The compiled call that this node belongs to."""
        self._nodes: dict[str, tuple[Reason, Reason]] = {}
        self.marks = Marks()
        self.begin()

    def begin(self) -> None:
        """Starts again after an interrupt or a pause, and discards the earlier state."""
        self._modules.clear()
        self.marks.clear()
        self._sequence_before: int = self._sequence()

    def of(self, operator: Operator, args: Any, kwargs: Any, caller: Any) -> tuple[CallSite, Reason]:
        """Returns the code line that has caused an op, with phase and layer, and the reason for its device.

        Args:
          operator: operator of the op.
          args: positional arguments of the call.
          kwargs: keyword arguments of the call.
          caller: frame of the caller.
        """
        node, following = self._node(), self._sequence()
        frame, bits = user_frame(caller)
        self.node_number = -1 if node is None else node._sequence_nr()
        self.compiled_call = None if node is None else self._compiled.of(self.node_number)
        if node is None:
            step_part = self._step_part(operator, bits, following)
            call_site = place_in(frame, step_part)
            if operator.is_view:
                reason = SHARES
            elif operator.action == LIFT:
                reason = self._reason_of_new(args[0].device, caller)
            elif self._has_tensor(args):
                reason = FOLLOWS if kwargs.get("device") is None else ASKED_FOR
            else:
                reason = self._reason_of_new(kwargs.get("device"), caller)
        else:
            name: str = node.__class__.name(node)  # a program may have set `ctx.name`
            reason = self._backward_of(name)[operator.is_view]
            forward = self._forward.of(self.node_number) if frame is None or bits & ENGINE else None
            if forward is None:
                call_site = place_in(frame, self._modules.current.step_part(BACKWARD))
            else:
                code, instruction, step_part = forward
                call_site = place_at(code, instruction, cast("LayerPart", step_part).layer_of.step_part(BACKWARD))
        if following != self._sequence_before:
            self._forward.keep(following, call_site)
            self._sequence_before = following
        return call_site, reason

    def of_layer(self, caller: Any) -> CallSite:
        """Returns the origin of work that is not a dispatched op: a layer that runs as a whole."""
        layer = self._modules.current
        phase = BACKWARD if self._node() is not None else "" if layer is OUTSIDE else FORWARD
        return place_in(user_frame(caller)[0], layer.step_part(phase))

    def of_region(self, caller: Any, following: int, name: str) -> tuple[CallSite, Reason]:
        """Returns the origin and reason of a compiled function that has run, and keeps the origin for its nodes.

        Args:
          caller: frame of the caller.
          following: number that the next node would have had before the call.
          name: name of the function.
        """
        frame, _ = user_frame(caller)
        layer, end = self._modules.current, self._sequence()
        step_part = layer.step_part(FORWARD if layer is not OUTSIDE or end != following else "")
        call_site, path = place_in(frame, step_part), layer.path or name
        backward = CompiledCall(following, place_in(frame, layer.step_part(BACKWARD)), Reason(BACKWARD_OF, path))
        for number in range(following + 1, min(end, following + _NODES) + 1):
            self._forward.keep(number, call_site)
            self._compiled.keep(number, backward)
        self._sequence_before = end
        return call_site, Reason(COMPILED, path)

    def compiled_call_of(self, node: int) -> CompiledCall | None:
        """Returns the call of a compiled function that has created a node, by the node's number."""
        return self._compiled.of(node)

    def _step_part(self, operator: Operator, bits: int, following: int) -> LayerPart:
        layer = self._modules.current
        if self.marks.in_step:
            return layer.step_part(UPDATE, SLOTS if operator.op.type in _SLOT_OPS else "")
        if bits & (AUTOGRAD | LOADER):
            return layer.step_part(INPUT if bits & LOADER else BACKWARD)
        if layer is not OUTSIDE or following != self._sequence_before:
            return layer.step_part(FORWARD)
        return layer.step_part("", WEIGHTS if bits & MODULES else "")

    def _has_tensor(self, args: Any) -> bool:
        for each in args:
            if isinstance(each, self._tensor) or (
                each.__class__ in (list, tuple) and any(isinstance(inner, self._tensor) for inner in each)
            ):
                return True
        return False

    def _reason_of_new(self, device: Any, caller: Any) -> Reason:
        """Returns why a tensor without tensor inputs is on its device."""
        default = scope_device(caller) or self._default()
        if device is not None and (device.type, device.index or 0) != (default.type, default.index or 0):
            return ASKED_FOR
        return ASKED_FOR if asks_for_device(caller) else BY_DEFAULT

    def _backward_of(self, node: str) -> tuple[Reason, Reason]:
        reasons = self._nodes.get(node)
        if reasons is None:
            if len(self._nodes) >= _NODES:
                self._nodes.clear()
            name = node.removeprefix("torch::autograd::")
            reasons = self._nodes[node] = Reason(BACKWARD_OF, name), Reason(BACKWARD_VIEW, name)
        return reasons


T = TypeVar("T")

GENERATION = 100_000
"""Numbers after which the oldest entries are dropped; a graph with fewer nodes is fully known."""


class ForwardLines(Generic[T]):
    """The origins of the latest nodes, in two generations, so that a loop over a million steps does not fill memory."""

    __slots__ = ("_newer", "_older")

    def __init__(self) -> None:
        """Creates an empty table."""
        self._newer: dict[int, T] = {}
        self._older: dict[int, T] = {}

    def keep(self, following: int, origin: T) -> None:
        """Keeps the origin of an op; a later op that creates no node meets the same number and is not kept.

        Args:
          following: number of the next node while the op runs.
          origin: origin of the op.
        """
        self._newer.setdefault(following, origin)
        if len(self._newer) > GENERATION:
            self._older, self._newer = self._newer, {}

    def of(self, node: int) -> T | None:
        """Returns the origin of a node, by its number."""
        return self._newer.get(node + 1) or self._older.get(node + 1)
