"""What does TensorFlow know about the nodes of a traced function: requested device, code line, and functions inside?

TensorFlow keeps each function's definition and its Python stacks, so nothing has to be observed while it is traced.
"""

from __future__ import annotations

import os
import re
import sys
import sysconfig
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from nbtf._devices.sites import Site

_LIBRARIES = ("tensorflow", "keras", "tf_keras", "nbtf")
"""Packages whose frames are never the user's."""
_REMEMBERED = 1024
ARGUMENTS, RESULTS = frozenset({"_Arg", "_DeviceArg"}), frozenset({"_Retval", "_DeviceRetval"})
"""Types of nodes that stand for a function's arguments and results."""
CONTROL_FLOW = frozenset({"While", "StatelessWhile", "If", "StatelessIf", "Case", "StatelessCase"})
"""Types of nodes that TensorFlow replaces with simpler ones, which have names such as `while/enter/_5`."""
_SHAPES, _COMPILED = "_output_shapes", "_XlaMustCompile"
"""Attributes of arguments and of functions."""
_LOWERED = frozenset({"cond", "body", "then", "else", "branch"})
"""Names that TensorFlow inserts between a control flow node and the inlined nodes of its function."""


class TracedNode(NamedTuple):
    """A node as the function's author has written it.

    `requested` is the requested device, empty for none; `replica` is the number of the replica that requested it.
    `functions` lists the functions that the node calls. `site` is None if no frame of the user's program is on its
    stack, as in the replica threads of Keras.
    """

    name: str
    op: str
    requested: str
    replica: int | None
    site: Site
    functions: tuple[str, ...]


class Outline(NamedTuple):
    """Arguments of a function, and names and types of its nodes: the graph made from it has the same."""

    arguments: tuple[tuple[str, int, bytes], ...]
    nodes: frozenset[tuple[str, str]]


class Definition(NamedTuple):
    """A traced function: its outline, its nodes by name, and whether XLA compiles it."""

    outline: Outline
    nodes: dict[str, TracedNode]
    is_compiled: bool


NO_DEFINITION = Definition(Outline((), frozenset()), {}, False)


class NodePath(NamedTuple):
    """The calls that lead to a node, and the node itself if the path is complete."""

    nodes: tuple[TracedNode, ...]
    is_complete: bool


NO_PATH = NodePath((), False)


class Definitions:
    """The traced functions of a TensorFlow context, by name."""

    def __init__(self, context: Any) -> None:
        """Stores TensorFlow's context."""
        self._context = context
        self._definitions: dict[str, Definition] = {}

    def of(self, function: str) -> Definition:
        """Returns the definition of a function; an empty one if TensorFlow has already deleted the function."""
        definition = self._definitions.get(function)
        if definition is None:
            if len(self._definitions) >= _REMEMBERED:
                self._definitions.clear()
            definition = self._read(function)
            if definition is not NO_DEFINITION:
                self._definitions[function] = definition
        return definition

    def _read(self, function: str) -> Definition:
        if not self._context.has_function(function):
            return NO_DEFINITION
        proto = self._context.get_function_def(function)
        stacks = Stacks(self._context.get_graph_debug_info(function))
        replicas = {
            node.device: _replica_number(node.name)
            for node in proto.node_def
            if node.device and stacks.is_of_replica(node.name)
        }
        nodes = {
            node.name: TracedNode(
                node.name,
                node.op,
                node.device,
                replicas.get(node.device),
                stacks.site(node.name),
                tuple(_functions_of(node)),
            )
            for node in proto.node_def
        }
        for name, node in nodes.items():
            if node.site is None and node.op in CONTROL_FLOW:
                nodes[name] = node._replace(site=self._line_of(node))
        arguments = [
            (each.name, each.type, _shapes(proto.arg_attr[number].attr if number in proto.arg_attr else {}))
            for number, each in enumerate(proto.signature.input_arg)
        ]
        outline = Outline(tuple(arguments), frozenset((node.name, node.op) for node in nodes.values()))
        return Definition(outline, nodes, _COMPILED in proto.attr and proto.attr[_COMPILED].b)

    def _line_of(self, node: TracedNode) -> Site:
        """Returns the line of a control flow node that TensorFlow has rebuilt for gradients, from its condition."""
        inner = (each.site for function in node.functions for each in self.of(function).nodes.values())
        return next((site for site in inner if site is not None), None)

    def op_types(self, function: str) -> set[str]:
        """Returns the types of all nodes of a function, and of the functions that it calls."""
        types: set[str] = set()
        visited, pending = {function}, [function]
        while pending:
            for node in self.of(pending.pop()).nodes.values():
                types.add(node.op)
                pending += {*node.functions} - visited
                visited.update(node.functions)
        return types

    def path_to(self, function: str, name: str) -> NodePath:
        """Returns the nodes that lead to a node of an inlined graph, from the outermost call to the node itself.

        TensorFlow names inlined nodes by their path: `call/node`, or `while/body/_5/node` for control flow. If the last
        part of the name is not from a function, as in `while/merge/_12`, the path ends at the last call.
        """
        nodes = self.of(function).nodes
        if name in nodes:
            return NodePath((nodes[name],), True)
        nearest = NO_PATH
        for prefix, remainder in _splits(name):
            if (call := nodes.get(prefix)) is None:
                continue
            for each in call.functions:
                inner = self.path_to(each, remainder)
                path = NodePath((call, *inner.nodes), inner.is_complete)
                if path.is_complete:
                    return path
                nearest = max(nearest, path, key=lambda each: len(each.nodes))
        return nearest


def outline_of(graph: Any) -> Outline:
    """Returns the outline of a `GraphDef` before its optimization, to be compared with that of a function."""
    arguments = sorted((node for node in graph.node if node.op in ARGUMENTS), key=lambda node: node.attr["index"].i)
    return Outline(
        tuple((node.name, node.attr["T"].type, _shapes(node.attr)) for node in arguments),
        frozenset((node.name, node.op) for node in graph.node if node.op not in ARGUMENTS | RESULTS),
    )


def _shapes(attributes: Any) -> bytes:
    """Returns the shapes of an argument, to be compared only."""
    return attributes[_SHAPES].SerializeToString(deterministic=True) if _SHAPES in attributes else b""


def _splits(name: str) -> Iterator[tuple[str, str]]:
    """Yields each prefix of a name that may be a call, and the part after it."""
    scopes = name.split("/")
    for end in range(1, len(scopes)):
        prefix, remainder = "/".join(scopes[:end]), scopes[end:]
        if len(remainder) > 2 and remainder[0] in _LOWERED and remainder[1].startswith("_"):
            yield prefix, "/".join(remainder[2:])
        yield prefix, "/".join(remainder)


def _functions_of(node: Any) -> Iterator[str]:
    """Yields the functions of a node, a loop's condition before its body."""
    for _, value in sorted(node.attr.items(), reverse=True):
        if value.HasField("func"):
            yield value.func.name
        elif value.HasField("list"):
            yield from (each.name for each in value.list.func)


def _replica_number(name: str) -> int:
    """Returns the number of a replica by the scope of its nodes, `replica_1`; the first replica has no scope."""
    return next((int(scope[8:]) for scope in name.split("/") if re.fullmatch(r"replica_\d+", scope)), 0)


class Stacks:
    """The Python stacks of a function's nodes, from which TensorFlow has removed most of its own frames."""

    def __init__(self, info: Any) -> None:
        """Stores a `GraphDebugInfo`."""
        self._info = info
        self._files = [None if is_library_file(file) else file for file in info.files]
        self._sites: dict[int, Site] = {}

    def _frames(self, trace: int) -> list[Any]:
        """Returns the frames of a stack, the innermost last."""
        frames = self._info.frames_by_id
        return [frames[number] for number in self._info.traces_by_id[trace].frame_id]

    def site(self, node: str) -> Site:
        """Returns the user's innermost line for a node."""
        trace = self._info.name_to_trace_id.get(node)
        if trace is None:
            return None
        if trace not in self._sites:
            self._sites[trace] = self._innermost(trace)
        return self._sites[trace]

    def _innermost(self, trace: int) -> Site:
        for frame in reversed(self._frames(trace)):
            file = self._files[frame.file_index]
            if file is not None:
                return file, frame.line
        return None

    def is_of_replica(self, node: str) -> bool:
        """Returns whether a strategy's own thread has made a node.

        `MirroredStrategy` runs each replica in a thread whose method `run` is TensorFlow's, so it is not on the stack.
        """
        trace = self._info.name_to_trace_id.get(node)
        frames = [] if trace is None else self._frames(trace)[:3]
        files = self._info.files
        return (
            len(frames) > 2
            and all(files[frame.file_index].endswith("threading.py") for frame in frames[:2])
            and frames[2].func != "run"
        )


@lru_cache(_REMEMBERED)
def is_library_file(file: str) -> bool:
    """Returns whether a file belongs to TensorFlow, Keras, nbtf or Python itself, or was generated by AutoGraph."""
    if "__autograph_generated_file" in file:
        return True
    folders = [folder for module in _LIBRARIES for folder in getattr(sys.modules.get(module), "__path__", ())]
    if any(_is_below(file, folder) for folder in folders):
        return True
    return _is_below(file, _PYTHON) and not any(_is_below(file, os.path.join(_PYTHON, name)) for name in _INSTALLED)


_PYTHON = sysconfig.get_path("stdlib")
_INSTALLED = ("site-packages", "dist-packages")


def _is_below(file: str, folder: str) -> bool:
    return file.startswith(os.path.join(folder, ""))
