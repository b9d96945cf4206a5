"""Nodes whose ops are known only when their inputs have values: each calls a function of tensors, op by op."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from nbtf._devices.base import Device
from nbtf._graph.names import Names
from nbtf._graph.operation import flat
from nbtf._ops.arrays.creation import zeros_like
from nbtf._ops.arrays.element_lists import elements_of, is_list, with_tensors
from nbtf._ops.arrays.list_gradients import continuous_in, packed_gradient, seeded
from nbtf._ops.op import Op
from nbtf._record.events import Reason
from nbtf._runtime.context import CURRENT
from nbtf._runtime.conversion import as_tensor, constant_of
from nbtf._runtime.decisions import OpRecord
from nbtf._runtime.execute import execute
from nbtf._runtime.scopes import EMPTY, SCOPE, NodeScope, set_scope
from nbtf._runtime.tape import CONTINUOUS
from nbtf._runtime.tensor import Tensor
from nbtf._types import DType
from nbtf.autodiff.custom import record_own_gradient
from nbtf.autodiff.ends import UnconnectedGradients
from nbtf.autodiff.tape import GradientTape

if TYPE_CHECKING:
    from nbtf._graph.tensor import GraphTensor

Function = Callable[[Sequence[Tensor]], Sequence[Any]]
WayBack = Callable[[Sequence[Any]], Sequence[Any]]


class Deferred:
    """The record of a node whose ops depend on shapes or values that the graph does not know.

    Its function is written in public functions, like a gradient. When a session runs the node, each op in the function
    takes the road separately, on the node's device and under the node's name, such as `gradients/add_grad/Sum`.
    """

    __slots__ = ("function", "own_gradient", "takes_variables", "type")

    inputs: tuple[str, ...] = ()
    resource = False

    def __init__(
        self, type: str, function: Function, takes_variables: bool = False, own_gradient: WayBack | None = None
    ) -> None:
        """Creates the record from the node's type and the function from its inputs to its outputs.

        With `takes_variables`, inputs that lead to a variable are the session's variable instead of its value.
        `own_gradient` builds the gradients of the first inputs from those of the outputs. Without it, the function is
        run again under a tape.
        """
        self.type = type
        self.function = function
        self.takes_variables = takes_variables
        self.own_gradient = own_gradient

    def __repr__(self) -> str:
        return f"<deferred {self.type}>"

    def has_kernel(self, device_type: str, dtypes: Sequence[DType]) -> bool:
        """Returns True: the node can be placed anywhere, because each op finds its kernel when it runs."""
        return True

    def run(self, name: str, inputs: Sequence[Tensor]) -> list[Tensor]:
        """Returns the node's outputs; the open scope gives the device of its ops.

        Args:
          name: name of the node.
          inputs: values of the node's inputs.
        """
        previous = SCOPE() or EMPTY
        try:
            set_scope(previous.with_(graph=_Running(name.rpartition("/")[0] or name, previous.placed)))
            return [as_tensor(item) for item in self.function(inputs)]
        finally:
            set_scope(previous)

    def backwards(self, count: int, positions: Sequence[int], arrived: Sequence[int]) -> Deferred:
        """Returns the record for the gradients of this one.

        Args:
          count: number of inputs; they come first, followed by a gradient for each output in `arrived`.
          positions: indices of the inputs whose gradients are computed.
          arrived: indices of the outputs that have gradients.
        """
        forwards = self.function

        def function(tensors: Sequence[Tensor]) -> Sequence[Any]:
            inputs = [_alias(tensor) for tensor in tensors[:count]]  # so that equal inputs get separate gradients
            sources = [source for number in positions for source in continuous_in(inputs[number])]
            with GradientTape(watch_accessed_variables=False) as tape:
                tape.watch(sources)
                outputs = forwards(inputs)
                results = [as_tensor(outputs[number]) for number in arrived]
            pairs = [
                pair for result, grad in zip(results, tensors[count:], strict=True) for pair in seeded(result, grad)
            ]
            targets, grads = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
            flows = iter(tape.gradient(targets, sources, grads, UnconnectedGradients.ZERO))
            return [packed_gradient(inputs[number], flows) for number in positions]

        return Deferred(f"{self.type}Grad", function)


def or_zeros(flow: Any, like: Tensor) -> Any:
    """Returns a gradient; zeros if there is none, because a node must produce all its outputs."""
    return zeros_like(like) if flow is None else flow


def is_continuous(tensor: GraphTensor) -> bool:
    """Returns whether gradients flow through a tensor."""
    return tensor._dtype in CONTINUOUS


class _Running:
    """Takes the place of a graph in a scope, and runs incoming ops on the device and under the name of a node."""

    building_function = False
    runs_at_once = True

    __slots__ = ("_names", "_placed", "_prefix")

    def __init__(self, prefix: str, placed: tuple[Device, Reason] | None) -> None:
        self._prefix = prefix
        self._placed = placed
        self._names = Names()

    def add(self, op: Op, inputs: Sequence[Any], attrs: dict[str, Any], name: str | None) -> Any:
        """Runs an op; called by the road."""
        full_name = self._names.unique(f"{self._prefix}/{name or op.form.node_name or op.type}")
        with self._outside(full_name, op, inputs):
            return execute(op, inputs, attrs, full_name)

    def constant(self, array: Any, dtype: DType, *origin: Any) -> Tensor:
        """Returns a constant; called by the road."""
        with self._outside(f"{self._prefix}/Const"):
            return constant_of(array, dtype)

    @contextmanager
    def _outside(self, name: str, op: OpRecord | None = None, inputs: Sequence[Any] = ()) -> Generator[None]:
        """Opens a scope in which an op runs while tapes keep recording."""
        previous = SCOPE() or EMPTY
        inner = previous.with_(graph=None)
        if self._placed is not None:
            device, reason = self._placed
            dtypes = [item._dtype for item in flat(inputs) if isinstance(item, Tensor)]
            if op is not None and not op.has_kernel(device.type, dtypes):
                device, reason = CURRENT.context.host, Reason("no kernel on GPU", op.type)
            inner = NodeScope(name, device, reason)
            inner.tapes, inner.tape = previous.tapes, previous.tape
        try:
            set_scope(inner)
            yield
        finally:
            set_scope(previous)


def _passed_on(grad: Tensor) -> list[Tensor]:
    return [grad]


def _alias(tensor: Tensor) -> Tensor:
    """Returns a new tensor that shares another one's memory; for a tensor that holds a list, the list of new tensors.

    A surrounding tape passes gradients through it, so that higher-order gradients are correct.
    """
    if is_list(tensor):
        elements = elements_of(tensor)
        return with_tensors(elements, [None if inner is None else _alias(inner) for inner in elements.tensors])
    twin = Tensor()
    twin._array, twin._dtype, twin._device, twin._watch = tensor._array, tensor._dtype, tensor._device, None
    if tensor._host:
        twin._host = True
    if tensor._allocation is not None:
        twin._allocation = tensor._allocation
    record_own_gradient([tensor], [twin], _passed_on)
    return twin
