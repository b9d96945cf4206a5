"""Makes rows of the log from the inside of a function's call: its nodes, and the copies between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from time import time
from types import CodeType
from typing import Any, TypeAlias

from nbtf._devices.sites import CallSite, Part, Site
from nbtf._frameworks.devices import LibraryDevice, LibraryOp
from nbtf._frameworks.layers import HOLDERS
from nbtf._frameworks.tensorflow.devices import DEVICES
from nbtf._frameworks.tensorflow.functions import COMPILED, Inside
from nbtf._frameworks.tensorflow.partitions import Contents
from nbtf._record.rows import CopySubject, LateOpSubject, Row, next_number

_REMEMBERED = 4096
_LINE = 2
"""The offset of an instruction of the only line of `_code_at`."""

_Facts: TypeAlias = "list[tuple[Any, CallSite]]"
_PhaseAndLayer: TypeAlias = Callable[[str], "tuple[str, str]"]


class FunctionCalls:
    """Writes the rows of what functions run inside."""

    def __init__(self, context: Any, inside: Inside, phase_and_layer: _PhaseAndLayer) -> None:
        """Stores TensorFlow's context, the source of its functions' contents, and a node's phase and layer."""
        self.context = context
        self._inside, self._phase_and_layer = inside, phase_and_layer
        self._facts: dict[tuple[int, ...], tuple[Contents, CallSite, _Facts]] = {}

    def begin(self) -> None:
        """Lets TensorFlow collect the graphs of functions."""
        self._inside.start()

    def end(self) -> None:
        """Stops collecting."""
        self._inside.stop()

    def collect(self) -> None:
        """Takes over what TensorFlow has collected, so that it does not pile up."""
        self._inside.collect()

    def attributes_of(self, function: str, attributes: Sequence[Any]) -> Sequence[Any]:
        """Returns the attributes to call a function with, so that TensorFlow reports its inside."""
        return self._inside.attributes_of_call(function, attributes)

    def rows_of(
        self, function: str, inputs: Sequence[Any], requested: str, call_site: CallSite
    ) -> tuple[Sequence[Row], str]:
        """Returns the rows of a call's nodes and copies, and why they are unknown; empty if they are known."""
        contents = self._inside.rows_of(function, inputs, requested)
        if contents.unknown:
            return (), "" if contents is COMPILED else contents.unknown
        key = id(contents), id(call_site[0]), call_site[1], id(call_site[2])
        entry = self._facts.get(key)
        if entry is None:
            if len(self._facts) >= _REMEMBERED:
                self._facts.clear()
            entry = self._facts[key] = contents, call_site, [*self._facts_of(contents, call_site)]
        now = time()
        rows: list[Row] = []
        for subject, site in entry[2]:
            number = next_number()
            rows.append((subject, number, now, site, number - 1, now, 0.0, None))
        return rows, ""

    def _facts_of(self, contents: Contents, call_site: CallSite) -> Iterator[tuple[Any, CallSite]]:
        """Yields subject and call site of each node, then of each copy.

        A node that no line of the user's program has made has the line of the call.
        """
        for node in contents.nodes:
            op: Any = LibraryOp(node.op)
            node_device: Any = _inner_device(DEVICES.of(node.device).name)
            yield (
                LateOpSubject(op, node_device, node.reason, node_device),
                self._call_site(node.name, node.site, call_site),
            )
        for copy in contents.copies:
            start: Any = _inner_device(DEVICES.of(copy.source).name)
            end: Any = _inner_device(DEVICES.of(copy.target).name)
            subject = CopySubject(start, end, "move", copy.nbytes or 0)
            yield subject, self._call_site(copy.tensor, copy.site, call_site)

    def _call_site(self, name: str, site: Site, call_site: CallSite) -> CallSite:
        code, instruction, outer = call_site
        if site is not None:
            code, instruction = _code_at(*site), _LINE
        phase, layer = self._phase_and_layer(name)
        phase, layer = phase or outer.phase, layer or outer.layer
        return code, instruction, Part(name, None, phase, layer, HOLDERS[phase])


@lru_cache(_REMEMBERED)
def _inner_device(name: str) -> LibraryDevice:
    """Returns a device as it runs nodes: TensorFlow does not report for how long."""
    return LibraryDevice(name, "unknown")


@lru_cache(_REMEMBERED)
def _code_at(file: str, line: int) -> CodeType:
    """Returns code whose only line is that of a file, because a call site consists of code."""
    return compile("0", file, "exec").replace(co_firstlineno=line)
