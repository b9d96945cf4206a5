"""What happens inside a call of a `tf.function`?"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

from nbtf._frameworks.tensorflow.collection import GraphCollection
from nbtf._frameworks.tensorflow.definitions import Definitions, Outline, outline_of
from nbtf._frameworks.tensorflow.partitions import Contents, Partitions
from nbtf._frameworks.tensorflow.reasons import Reasons
from nbtf._frameworks.tensorflow.shapes import NbytesOf, static_sizes
from nbtf._locks import new_lock

COMPILED = Contents(unknown="XLA has compiled the function: it runs as one op.")
EARLIER = Contents(
    unknown="The function ran before it was watched, and preparing it again would change its random numbers or state."
)
MISSING = Contents(unknown="TensorFlow has not reported the function's nodes.")

_OPTIONS = "config_proto"
"""The attribute of a call with its options."""
_MEANINGLESS = b"\xc0\x3e\x01"
"""A field of the options that TensorFlow does not know, with the number 1000 and the value 1."""
_UNCLAIMED = 256
"""Number of graphs kept that belong to none of the functions asked for."""
_FUNCTIONS = 4096

_Call: TypeAlias = "tuple[str, tuple[str, ...]]"
"""The requested device of a call, and the devices of its inputs; TensorFlow places a function by them."""


class Inside:
    """The insides of called functions, from the graphs that TensorFlow collects when a function runs first.

    Nothing has to be observed while a function is traced: TensorFlow keeps requested devices and code lines itself.
    """

    def __init__(
        self, context: Any, collection: GraphCollection, reasons: Reasons, sizes_of: Callable[[Any], NbytesOf]
    ) -> None:
        """Stores TensorFlow's context and its collected graphs, and what their contents depend on."""
        self._context, self._collection, self._registry = context, collection, reasons.registry
        self._definitions = Definitions(context)
        self._partitions = Partitions(self._definitions, reasons, sizes_of)
        self._lock = new_lock()
        self._earlier: frozenset[str] = frozenset()
        self._prepared: set[str] = set()
        self._unclaimed: list[tuple[Outline, Any]] = []
        self._contents: dict[str, dict[_Call, Contents]] = {}

    def start(self) -> None:
        """Lets TensorFlow collect graphs from now on; what was learned before is kept."""
        self._earlier = frozenset(self._context.list_function_names())
        self._prepared.clear()
        self._collection.start()

    def stop(self) -> None:
        """Stops collecting; TensorFlow collects afterwards only if the program had requested that."""
        self._collection.stop()
        self._unclaimed.clear()

    def collect(self) -> None:
        """Takes over collected graphs; call it now and then if no function is called, so that memory stays flat."""
        self._collection.collect()

    def attributes_of_call(self, function: str, attributes: Sequence[Any]) -> Sequence[Any]:
        """Returns the attributes to call a function with, so that TensorFlow reports its inside.

        TensorFlow reports it when it prepares a function for its first call. A function that was prepared before the
        watch is prepared once more if its options differ, so an option that means nothing is added for one call. This
        needs kernels without state; otherwise the call would compute other values, such as other random numbers.

        Args:
          function: name of the function.
          attributes: names and values of the call's attributes, in turn.
        """
        if function not in self._earlier or function in self._contents or function in self._prepared:
            return attributes
        self._prepared.add(function)
        if _OPTIONS not in attributes or self._definitions.of(function).is_compiled or self._keeps_state(function):
            return attributes
        value = [*attributes].index(_OPTIONS) + 1
        return *attributes[:value], attributes[value] + _MEANINGLESS, *attributes[value + 1 :]

    def _keeps_state(self, function: str) -> bool:
        return any(self._registry.keeps_state(op) for op in self._definitions.op_types(function))

    def rows_of(self, function: str, inputs: Sequence[Any], requested: str) -> Contents:
        """Returns what a function runs inside; call it after each call of the function.

        Args:
          function: name of the function, such as `__inference_step_75`. An op callback gets it as the op's type.
          inputs: tensors that the function was called with. TensorFlow places a function anew if their devices change.
          requested: requested device of the call, from the open `tf.device`; empty for none.

        Returns:
          Nodes and copies, always the same object for calls that TensorFlow places alike.
        """
        call = requested, tuple([each.device for each in inputs])
        with self._lock:
            placed_alike = self._contents.get(function, {}).get(call)
            if placed_alike is not None:
                return placed_alike
            self._keep(self._collection.new_graphs())
            graph = self._claim(function)
            contents = self._contents.get(function, {})
            if graph is None and not contents:
                return self._reason_for_nothing(function)
            if graph is None and len(contents) == 1 and function not in self._earlier:
                return next(iter(contents.values()))
            call = requested, tuple([each.device for each in inputs])
            if graph is not None:
                if len(self._contents) >= _FUNCTIONS:
                    self._contents.clear()
                contents = self._contents.setdefault(function, {})
                contents[call] = self._partitions.contents(function, graph, requested)
            return contents.get(call) or self._reason_for_nothing(function)

    def _keep(self, graphs: list[Any]) -> None:
        """Keeps graphs until their functions claim them; most are of single ops, which never do."""
        for graph in graphs:
            self._unclaimed.append((outline_of(graph.pre_optimization_graph), graph))
        del self._unclaimed[:-_UNCLAIMED]

    def _claim(self, function: str) -> Any:
        """Returns the newest graph of a function that it has not claimed yet; None without one."""
        outline = self._definitions.of(function).outline
        for number in reversed(range(len(self._unclaimed))):
            if self._unclaimed[number][0] == outline:
                return self._unclaimed.pop(number)[1]
        return None

    def _reason_for_nothing(self, function: str) -> Contents:
        if self._definitions.of(function).is_compiled:
            return COMPILED
        return EARLIER if function in self._earlier else MISSING


def inside_of(tensorflow: Any, context: Any, reasons: Reasons) -> Inside:
    """Returns the insides of a context's functions: always the same object, so that a later watch knows them too.

    Args:
      tensorflow: TensorFlow's module.
      context: its eager context, after TensorFlow has started its devices.
      reasons: reasons for its placements.
    """
    if context in _INSIDES:
        return _INSIDES[context]

    def is_tracing() -> bool:
        """Returns whether `tf.summary.trace_on` is in effect."""
        summaries = sys.modules.get("tensorflow.python.ops.summary_ops_v2")
        trace = getattr(summaries, "_current_trace_context", None)
        return trace is not None and trace.graph

    inside = Inside(context, GraphCollection(context, is_tracing), reasons, partial(static_sizes, tensorflow))
    return _INSIDES.setdefault(context, inside)


_INSIDES: dict[Any, Inside] = {}
"""The insides of each eager context; a process usually has one."""
