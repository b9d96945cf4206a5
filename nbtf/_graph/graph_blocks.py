"""The open blocks of a graph, which determine names, devices and order of the nodes made inside."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, NamedTuple

from nbtf._graph.controls import ControlBlock
from nbtf._graph.devices import DeviceBlock
from nbtf._graph.names import Names, check_scope_name
from nbtf._graph.operation import Operation
from nbtf._graph.tensor import GraphTensor
from nbtf._runtime.blocks import current_scope
from nbtf._runtime.changes import Change, block
from nbtf._runtime.scopes import SCOPE


class _Surroundings(NamedTuple):
    """The settings of a graph's open blocks for the next node."""

    names: str = ""
    """The prefix of its name, without the last `/`."""
    devices: tuple[DeviceBlock, ...] = ()
    controls: tuple[ControlBlock, ...] = ()
    colocated: tuple[Operation, ...] = ()
    groups: tuple[str, ...] = ()


class GraphBlocks(ABC):
    """The names in use, and the settings of the open blocks for the next node."""

    def __init__(self) -> None:
        """Starts without open blocks."""
        self._names = Names()
        self._around = _Surroundings()

    @abstractmethod
    def settle(self) -> None:
        """Gives unused constants nodes."""

    @abstractmethod
    def as_graph_element(self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True) -> Any:
        """Returns the tensor or node that a name, a tensor or a node refers to."""

    # Names

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """Returns a name in the open scope that no node or scope uses."""
        names = self.get_name_scope()
        return self._names.unique(f"{names}/{name}" if names else name, mark_as_used)

    def scoped_name(self, name: str) -> str:
        """Returns the full name of a new node; a name that ends with `/` is already full."""
        return name[:-1] if name.endswith("/") else self.unique_name(name)

    @block
    def name_scope(self, name: str | None) -> Change[str]:
        """Prefixes the names of the nodes made inside.

        Args:
          name: the name; one that ends with `/` reopens a scope; None or empty leaves all scopes.

        Returns:
          A block that yields the prefix, such as `tower/`.

        Raises:
          ValueError: if the name is not valid for a scope; raised on entering the block.
        """
        if name:
            check_scope_name(name, self.get_name_scope())
        self.settle()
        names = self.scoped_name(name) if name else ""
        return self._changed("tf.name_scope", self._around._replace(names=names), f"{names}/" if names else "")

    def get_name_scope(self) -> str:
        """Returns the open scope, without the last `/`."""
        if SCOPE() is not None:
            current_scope()
        return self._around.names

    def _changed(self, title: str, inner: _Surroundings, result: Any = None) -> Change[Any]:
        """Returns the change that a block makes."""
        return Change(title, self._turn_to, self._around, inner, result)

    def _turn_to(self, around: _Surroundings) -> None:
        """Changes the settings for the next node; constants still unnamed are settled under the old settings."""
        try:
            self.settle()
        finally:
            self._around = around

    # Devices and order

    @block
    def device(self, device_name_or_function: Any) -> Change[None]:
        """Sets the device of the nodes made inside; whether it exists is checked when they run.

        Args:
          device_name_or_function: a device string or spec, which fills what inner blocks leave open; a function that
            takes each node and returns a device; None to ignore the outer blocks.
        """
        devices = (*self._around.devices, DeviceBlock(device_name_or_function))
        return self._changed("tf.device", self._around._replace(devices=devices))

    @block
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Change[None]:
        """Places the nodes inside on the device of another node, regardless of `device` blocks.

        Args:
          op: a node or one of its tensors; None to ignore the outer blocks.
          ignore_existing: whether to ignore outer blocks of this kind.
        """
        outer = () if ignore_existing or op is None else self._around.colocated
        colocated = outer if op is None else (*outer, self._node_of(op))
        return self._changed("tf.colocate_with", self._around._replace(devices=(), colocated=colocated))

    @block
    def grouped_with(self, name: str) -> Change[None]:
        """Places the nodes inside on the device of the node with this name, which need not exist yet."""
        return self._changed("tf.Variable", self._around._replace(groups=(*self._around.groups, name)))

    @block
    def control_dependencies(self, control_inputs: Iterable[Any] | None) -> Change[None]:
        """Makes the nodes inside wait for others.

        Args:
          control_inputs: nodes or tensors to wait for; None to ignore the outer blocks.
        """
        waiting = ControlBlock([self._node_of(element) for element in control_inputs or ()])
        controls = (waiting,) if control_inputs is None else (*self._around.controls, waiting)
        return self._changed("tf.control_dependencies", self._around._replace(controls=controls))

    @block
    def outermost(self) -> Change[None]:
        """Removes all dependencies and name prefixes for the nodes inside."""
        return self._changed("tf.init_scope", self._around._replace(names="", controls=(ControlBlock([]),)))

    def _node_of(self, element: Any) -> Operation:
        element = self.as_graph_element(element)
        return element.op if isinstance(element, GraphTensor) else element
