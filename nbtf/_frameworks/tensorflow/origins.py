"""Which line of the program has caused a TensorFlow op, in which phase, layer and replica?"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any

from nbtf._devices.sites import CallSite
from nbtf._frameworks.keras_frames import OF_LAYERS, scope_path, user_frame
from nbtf._frameworks.layers import layer_at, place_in
from nbtf._runtime.phases import BACKWARD, FORWARD

_GRADIENTS = "gradient_tape/"
"""The scope of the nodes that a tape adds to a graph."""
_NUMBER = re.compile(r"_\d+$")
_REMEMBERED = 4096


class Origins:
    """Determines the origins of ops."""

    __slots__ = ("_graph", "_has_no_tape", "_phases")

    def __init__(self, has_no_tape: Callable[[], bool], default_graph: Callable[[], Any]) -> None:
        """Stores TensorFlow's functions.

        Args:
          has_no_tape: returns whether no tape records on this thread.
          default_graph: returns the thread's graph, which has the stack of strategies.
        """
        self._has_no_tape, self._graph = has_no_tape, default_graph
        self._phases: dict[str, str] = {}
        """The phases of Keras' scopes in which functions were traced, by path."""

    def of(self, caller: Any, replica: int | None) -> CallSite:
        """Returns the code line of an op, with phase and layer.

        Args:
          caller: frame of the caller.
          replica: number of the strategy's replica that runs.
        """
        frame, phase = user_frame(caller)
        if not phase and not self._has_no_tape():
            phase = FORWARD
        path = scope_path() if phase in OF_LAYERS else ""
        return place_in(frame, layer_at(path).step_part(phase, replica=replica))

    def replica(self) -> int | None:
        """Returns the number of the strategy's replica that runs on this thread; None outside of replicas."""
        stack = getattr(self._graph(), "_distribution_strategy_stack", None)
        context = stack[-1].replica_context if stack else None
        if context is None:
            return None
        number = getattr(threading.current_thread(), "replica_id", context.replica_id_in_sync_group)
        return number if isinstance(number, int) else None  # a tensor inside a traced function

    def see_node(self, caller: Any) -> None:
        """Keeps the scope and phase in which a node of a function is made, given the caller's frame."""
        path = scope_path()
        if path and path not in self._phases:
            if len(self._phases) >= _REMEMBERED:
                self._phases.clear()
            self._phases[path] = user_frame(caller)[1]

    def of_node(self, name: str) -> tuple[str, str]:
        """Returns phase and layer of a function's node, by its name; empty if they are unknown."""
        is_gradient, components = _GRADIENTS in name, name.split("/")
        for begin in range(len(components)):
            for end in range(len(components) - 1, begin, -1):
                path = self._scope_at(components[begin:end])
                if path is not None:
                    phase = BACKWARD if is_gradient else self._phases[path]
                    return phase, path if phase in OF_LAYERS else ""
        return BACKWARD if is_gradient else "", ""

    def _scope_at(self, components: list[str]) -> str | None:
        """Returns the Keras scope of these parts of a node's name, to which TensorFlow may have added numbers."""
        candidates = "/".join(components), "/".join([_NUMBER.sub("", component) for component in components])
        return next((path for path in candidates if path in self._phases), None)
