"""Which nodes and copies has a function's call, once TensorFlow has optimized, placed and divided its graph?"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from nbtf._devices.names import Fields, full_name, parse, task_of
from nbtf._devices.sites import Site
from nbtf._frameworks.tensorflow.definitions import ARGUMENTS, CONTROL_FLOW, RESULTS, Definitions, NodePath
from nbtf._frameworks.tensorflow.reasons import BY_OPTIMIZER, Reasons
from nbtf._frameworks.tensorflow.shapes import NbytesOf
from nbtf._record.events import Reason
from nbtf._runtime.placement import FOLLOWS_INPUT, FOLLOWS_USE, PLACER

_SENDS = {"_Send": False, "_HostSend": True}
_RECEIVES = {"_Recv": False, "_HostRecv": True}
"""Ops that copy a tensor between the parts of a graph, and whether the tensor is in host memory there."""
_ADDED = frozenset({*ARGUMENTS, *RESULTS, *_SENDS, *_RECEIVES})
"""Types of nodes that TensorFlow adds for arguments, results and copies."""
_ABOUT_SHAPES = frozenset({"Shape", "ShapeN", "Size", "Rank"})
"""Ops that read no values, which TensorFlow places with their input."""


class PlacedNode(NamedTuple):
    """A node of a function as it runs, with the device that TensorFlow gave it.

    `op` is its type in the partition graph, such as `_MklMatMul`. `site` is the user's line that made it; None if only
    library code is on its stack, as in `model.fit`, whose line is the call's own. `by_optimizer` means that the node is
    not in the traced program: TensorFlow's optimizer made it, and `site` is that of the node it was made from.
    """

    name: str
    op: str
    device: str
    reason: Reason
    site: Site
    by_optimizer: bool


class InnerCopy(NamedTuple):
    """A tensor that a function copies between two devices in each call.

    `tensor` is the name of the node whose result it is. `nbytes` is None if its shape is not known before the call.
    `site` is the line of the op that needs it. `in_loop` means that it may be copied several times per call, or never.
    """

    tensor: str
    source: str
    target: str
    nbytes: int | None
    site: Site
    in_loop: bool


class Contents(NamedTuple):
    """Nodes and copies of a function's call. `unknown` explains why they are not known; it is empty if they are."""

    nodes: tuple[PlacedNode, ...] = ()
    copies: tuple[InnerCopy, ...] = ()
    unknown: str = ""

    @property
    def optimizer_count(self) -> int:
        """The number of nodes that TensorFlow's optimizer made."""
        return sum(node.by_optimizer for node in self.nodes)


class Partitions:
    """Reads partition graphs with the definitions of their functions."""

    def __init__(self, definitions: Definitions, reasons: Reasons, sizes_of: Callable[[Any], NbytesOf]) -> None:
        """Stores the traced functions, the reasons for devices, and a function that returns the sizes in a graph."""
        self._definitions, self._reasons, self._sizes_of = definitions, reasons, sizes_of

    def contents(self, function: str, graphs: Any, requested: str) -> Contents:
        """Returns the nodes and copies of a function.

        Args:
          function: name of the function.
          graphs: its `FunctionGraphs`.
          requested: device requested for the call; empty for none.
        """
        partitions = [list(partition.node) for partition in graphs.partition_graphs]
        nodes = [node for partition in partitions for node in partition if node.op not in _ADDED]
        origins = {node.name: self._origin(function, node) for node in nodes}
        copies = self._copies(partitions, origins, graphs.post_optimization_graph)
        return Contents(tuple(self._placed(node, origins[node.name], requested) for node in nodes), tuple(copies))

    def _origin(self, function: str, node: Any) -> Origin:
        path = self._definitions.path_to(function, node.name)
        if path.is_complete or (path.nodes and path.nodes[-1].op in CONTROL_FLOW):
            return Origin(path, False)
        info = node.experimental_debug_info
        for inner, name in zip(info.original_func_names, info.original_node_names, strict=False):
            traced = self._definitions.of(inner).nodes.get(name)
            if traced is not None:
                return Origin(NodePath((*path.nodes, traced), True), False)
        candidates = [self._definitions.path_to(function, name) for name in _possible_sources(node.name)]
        complete = [candidate for candidate in candidates if candidate.is_complete]
        return Origin(max(complete or candidates, key=lambda candidate: len(candidate.nodes)), True)

    def _placed(self, node: Any, origin: Origin, requested: str) -> PlacedNode:
        reason = BY_OPTIMIZER if origin.by_optimizer else self._reason(node, origin, requested)
        return PlacedNode(node.name, node.op, node.device, reason, origin.site, origin.by_optimizer)

    def _reason(self, node: Any, origin: Origin, requested: str) -> Reason:
        traced = origin.path.nodes[-1]
        op_type = traced.op if origin.path.is_complete else node.op
        attributes = _without_label(node.attr) if op_type != node.op else node.attr
        is_call = bool(traced.functions)
        follows = not is_call and self._reasons.registry.uses_resource(op_type, attributes)
        labels = node.attr["_class"].list.s if "_class" in node.attr else ()
        reason = self._reasons.of(
            op_type,
            attributes,
            node.device,
            requested=origin.requested or requested,
            replica=origin.replica,
            follows=node.device if follows else "",
            colocated=next((label.decode().removeprefix("loc:@") for label in labels), ""),
        )
        if reason.kind == PLACER and op_type in _ABOUT_SHAPES:
            return Reason(FOLLOWS_INPUT)
        if reason.kind == PLACER and all(each.startswith("^") for each in node.input):
            return Reason(FOLLOWS_USE)
        return reason

    def _copies(
        self, partitions: Sequence[Sequence[Any]], origins: Mapping[str, Origin], graph: Any
    ) -> Iterator[InnerCopy]:
        """Yields the copies between devices; a tensor in host memory on both sides is not copied."""
        receives = {_key(node): node for partition in partitions for node in partition if node.op in _RECEIVES}
        users = {_name(each): node.name for partition in partitions for node in partition for each in node.input}
        nbytes_of = self._sizes_of(graph) if receives else None
        for partition in partitions:
            looping = _looping(partition)
            for node in partition:
                receive = receives.get(_key(node)) if node.op in _SENDS else None
                if receive is None or nbytes_of is None or node.input[0].startswith("^"):
                    continue
                source = _memory_of(node.attr["send_device"].s.decode(), _SENDS[node.op])
                target = _memory_of(node.attr["recv_device"].s.decode(), _RECEIVES[receive.op])
                if not _are_apart(source, target):
                    continue
                tensor = node.input[0]
                origin = origins.get(users.get(receive.name, "")) or origins.get(_name(tensor))
                site = None if origin is None else origin.site
                nbytes = nbytes_of(tensor, node.attr["T"].type)
                yield InnerCopy(tensor, source.device, target.device, nbytes, site, node.name in looping)


def _possible_sources(name: str) -> Iterator[str]:
    """Yields names of nodes that an optimizer's node may be made from, such as `a/mul`: `ConstantFolding/a/mul_recip`.

    TensorFlow adds words before and after the name of the node.
    """
    scopes = name.split("/")
    for number in range(len(scopes)):
        words = re.split(r"(?=[-_/])", "/".join(scopes[number:]))
        for count in range(len(words), 0, -1):
            yield "".join(words[:count])


def _key(node: Any) -> tuple[bytes, bytes, bytes]:
    """Returns the key of a copy, which a send and its receive share."""
    return node.attr["tensor_name"].s, node.attr["send_device"].s, node.attr["recv_device"].s


def _name(tensor: str) -> str:
    """Returns the name of the node of an input: `a` for `a:1` and `^a`."""
    return tensor.removeprefix("^").partition(":")[0]


def _looping(partition: Sequence[Any]) -> set[str]:
    """Returns the nodes inside loops: those after an `Enter` and before an `Exit`."""
    users: dict[str, list[Any]] = {}
    for node in partition:
        for each in node.input:
            users.setdefault(_name(each), []).append(node)
    names: set[str] = set()
    pending = [node for node in partition if node.op == "Enter"]
    while pending:
        node = pending.pop()
        if node.name not in names and node.op != "Exit":
            names.add(node.name)
            pending += users.get(node.name, ())
    return names


class Origin(NamedTuple):
    """Where a node comes from: the calls that lead to it, and whether the optimizer has made it from the last one."""

    path: NodePath
    by_optimizer: bool

    @property
    def site(self) -> Site:
        """The user's line of the innermost node with one."""
        return next((node.site for node in reversed(self.path.nodes) if node.site is not None), None)

    @property
    def requested(self) -> str:
        """The requested device; a call's device applies where its function's nodes leave parts open."""
        fields = Fields()
        for node in self.path.nodes:
            fields = fields.merged_with(parse(node.requested))
        return fields.to_string()

    @property
    def replica(self) -> int | None:
        """The number of the replica that has requested the device; None without one."""
        requests = [node for node in self.path.nodes if node.requested]
        return requests[-1].replica if requests else None


class _Memory(NamedTuple):
    """Where a tensor is. `is_any_cpus` means that each CPU of the task can use it there."""

    device: str
    is_any_cpus: bool


def _memory_of(device: str, on_host: bool) -> _Memory:
    """Returns the memory of a tensor on one side of a copy; host memory is shown as CPU:0 unless it is a CPU's."""
    if on_host and parse(device).device_type != "CPU":
        device = full_name("CPU", 0, task_of(device))
    return _Memory(device, on_host)


def _are_apart(source: _Memory, target: _Memory) -> bool:
    """Returns whether a tensor is copied. No CPU copies an argument that belongs in host memory."""
    if (source.is_any_cpus or target.is_any_cpus) and "GPU" not in source.device + target.device:
        return task_of(source.device) != task_of(target.device)
    return source.device != target.device


def _without_label(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if name != "_kernel"}
