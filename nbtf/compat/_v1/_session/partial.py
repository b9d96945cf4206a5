"""Partial runs: each part feeds more tensors, and every node runs once, as soon as its inputs are available."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nbtf._graph.operation import Operation
from nbtf._graph.tensor import GraphTensor
from nbtf._runtime.scopes import SCOPE, set_scope
from nbtf.compat._v1._session.plan import Plan, Step
from nbtf.compat._v1._session.running import Made, Runner, make_copy, on_host, read
from nbtf.errors import InvalidArgumentError

NO_SETUP = "Must run 'setup' before performing partial runs!"


class PartialRun:
    """A prepared run: the plan of `Session.partial_run_setup`, and the nodes that have run so far.

    Args:
      runner: runs the nodes and holds the variables.
      plan: steps that compute all fetches.
      fetches: tensors that may be fetched, each once.
      feeds: tensors that may be fed, each once.
    """

    def __init__(
        self, runner: Runner, plan: Plan, fetches: Sequence[GraphTensor | Operation], feeds: Sequence[GraphTensor]
    ) -> None:
        self._runner = runner
        self._waiting: list[Step] = list(plan.steps)
        self._reads = dict(zip(fetches, plan.fetches, strict=True))
        self._fetches, self._feeds = set(fetches), set(feeds)
        self._open_fetches, self._open_feeds = set(fetches), set(feeds)
        self._values: Made = {}
        self._ran: set[Operation] = set()

    @property
    def is_finished(self) -> bool:
        """Whether everything has been fed and fetched."""
        return not self._open_fetches and not self._open_feeds

    def run(self, elements: Sequence[Any], fed: Mapping[GraphTensor, Any], host: Any) -> list[Any]:
        """Returns the values of some fetches.

        Args:
          elements: tensors to fetch, named in the setup.
          fed: arrays for further tensors.
          host: CPU:0, the device of fed arrays.

        Raises:
          InvalidArgumentError: if a tensor is not part of the setup or has already been fed, or if a fetch needs one
            that has not been fed.
        """
        self._check_feeds(fed)
        self._check_fetches(elements, fed)
        outer = SCOPE()
        try:
            self._values |= {tensor: on_host(array, tensor, host) for tensor, array in fed.items()}
            self._open_feeds -= fed.keys()
            self._take_steps()
            results: list[Any] = []
            for number, element in enumerate(elements):
                fetch = self._reads[element]
                results.append(None if fetch is None else read(*fetch, self._values, number))
        finally:
            set_scope(outer)
        self._open_fetches -= set(elements)
        return results

    def _check_feeds(self, fed: Mapping[GraphTensor, Any]) -> None:
        for tensor in fed:
            if tensor not in self._feeds:
                raise InvalidArgumentError(f"The feed {tensor.name} was not specified in partial_run_setup.")
            if tensor not in self._open_feeds:
                raise InvalidArgumentError(f"The feed {tensor.name} has already been fed.")

    def _check_fetches(self, elements: Sequence[GraphTensor], fed: Mapping[GraphTensor, Any]) -> None:
        for element in elements:
            if element not in self._fetches:
                raise InvalidArgumentError(f"The fetch {element.name} was not specified in partial_run_setup.")
            missing = self._missing(element, self._open_feeds - fed.keys())
            if missing is not None:
                raise InvalidArgumentError(
                    f"Fetch {missing.name} can't be computed from the feeds that have been fed so far."
                )

    def _missing(self, element: GraphTensor, missing: set[GraphTensor]) -> GraphTensor | None:
        """Returns a tensor that a fetch needs and that has not been fed; None if there is none."""
        pending, visited = [element], set[GraphTensor]()
        while pending:
            tensor = pending.pop()
            if tensor in missing:
                return tensor
            if tensor not in visited and tensor not in self._feeds:
                visited.add(tensor)
                pending += [*tensor.op.inputs, *[out for node in tensor.op.control_inputs for out in node.outputs]]
        return None

    def _take_steps(self) -> None:
        """Runs all nodes whose inputs are available."""
        steps = self._waiting
        self._waiting = []
        nodes = {step.node for step in steps}
        for step in steps:
            if self._can_run(step, nodes):
                for copy in step.copies:
                    make_copy(copy, self._values, step.node)
                set_scope(step.scope)
                for tensor, value in zip(step.node.outputs, self._runner.outputs(step, self._values), strict=True):
                    self._values.setdefault(tensor, value)
                self._ran.add(step.node)
            else:
                self._waiting.append(step)

    def _can_run(self, step: Step, nodes: set[Operation]) -> bool:
        if not self._open_feeds.isdisjoint(step.node.outputs):
            return False
        has_inputs = all([tensor in self._values for tensor in step.node.needed_inputs])
        return has_inputs and all([node in self._ran or node not in nodes for node in step.node.control_inputs])
