"""Which graphs has TensorFlow collected? Read without taking them from a program that collects graphs itself."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from nbtf._locks import new_lock

_BEGIN = ("enable_run_metadata", "enable_graph_collection")
"""Methods of the context that switch collection on. Only `disable_graph_collection` switches it off and discards."""
_END, _EXPORT = "disable_graph_collection", "export_run_metadata"
_KEPT = 1024
"""Number of graphs kept until someone asks for them; each op type that runs eagerly adds one."""


class GraphCollection:
    """The graphs of functions and ops that run for the first time.

    TensorFlow hands over each graph once. A program may want graphs as well, as `tf.summary.trace_export` does, so its
    calls are answered from copies while this object collects.
    """

    def __init__(self, context: Any, is_tracing: Callable[[], bool]) -> None:
        """Stores TensorFlow's context, and a function that returns whether the program collects graphs already."""
        self._context, self._is_tracing = context, is_tracing
        self._methods: Any = type(context)
        """The class of the context, which has the methods as TensorFlow has written them."""
        self._lock = new_lock()
        self._graphs: list[Any] = []
        self._program_collects = False
        self._of_program: Any = None
        """The metadata that the program has not exported yet; None if there is none."""

    def start(self) -> None:
        """Begins to collect."""
        with self._lock:
            earlier = self._export()
            if self._is_tracing() or earlier.function_graphs:
                self._program_collects, self._of_program = True, earlier
            for name in _BEGIN:
                setattr(self._context, name, self._program_begins)
            setattr(self._context, _END, self._program_ends)
            setattr(self._context, _EXPORT, self._program_exports)
            self._methods.enable_graph_collection(self._context)

    def stop(self) -> None:
        """Stops collecting, and leaves everything as the program has set it."""
        with self._lock:
            self.collect()
            for name in (*_BEGIN, _END, _EXPORT):
                self._context.__dict__.pop(name, None)
            if not self._program_collects:
                self._methods.disable_graph_collection(self._context)
            elif self._of_program is not None:  # TensorFlow cannot take graphs back: keep them for the program
                setattr(self._context, _EXPORT, self._program_exports_last)
            self._graphs.clear()

    def collect(self) -> None:
        """Takes over TensorFlow's graphs, so that they do not pile up; few and cheap if no function or op was new."""
        with self._lock, suppress(Exception):  # an asynchronous op may have failed; the program gets its error
            metadata = self._export()
            if not metadata.function_graphs:
                return
            self._graphs.extend(metadata.function_graphs)
            del self._graphs[:-_KEPT]
            if self._program_collects:
                if self._of_program is None:
                    self._of_program = type(metadata)()
                self._of_program.MergeFrom(metadata)

    def new_graphs(self) -> list[Any]:
        """Returns the `FunctionGraphs` collected since the last call."""
        with self._lock:
            self.collect()
            graphs, self._graphs = self._graphs, []
            return graphs

    def _export(self) -> Any:
        return self._methods.export_run_metadata(self._context)

    # The program's own calls

    def _program_begins(self) -> None:
        with self._lock:
            self.collect()
            self._program_collects = True

    def _program_ends(self) -> None:
        with self._lock:
            self.collect()
            self._program_collects, self._of_program = False, None

    def _program_exports(self) -> Any:
        with self._lock:
            self.collect()
            metadata, self._of_program = self._of_program, None
            return self._export() if metadata is None else metadata

    def _program_exports_last(self) -> Any:
        with self._lock:
            self._context.__dict__.pop(_EXPORT, None)
            metadata, self._of_program = self._of_program, None
            metadata.MergeFrom(self._export())
            return metadata
