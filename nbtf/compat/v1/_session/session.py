"""A session: runs the nodes of a graph on the road that eager ops take."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from copy import deepcopy
from typing import Any

from nbtf._devices.names import parse
from nbtf._runtime.context import CURRENT
from nbtf._runtime.conversion import constant_of
from nbtf._runtime.execute import execute
from nbtf._runtime.placement import Machine
from nbtf._runtime.scopes import SCOPE, Request, Scope, set_scope
from nbtf._runtime.tensor import Tensor
from nbtf.compat.v1._config.config_proto import ConfigProto
from nbtf.compat.v1._graph.defaults import get_default_graph
from nbtf.compat.v1._graph.graph import Graph
from nbtf.compat.v1._graph.operation import CONST, NO_OP, PLACEHOLDER, Operation
from nbtf.compat.v1._graph.tensor import GraphTensor
from nbtf.compat.v1._session.defaults import as_default_session
from nbtf.compat.v1._session.devices import requests_of
from nbtf.compat.v1._session.feeds import fed_values
from nbtf.compat.v1._session.fetches import elements_in, values_like
from nbtf.compat.v1._session.plan import Step, plan
from nbtf.compat.v1._variables.running import Values, outputs_on_variables, value_of
from nbtf.errors import InvalidArgumentError

_REMEMBERED = 256
"""Plans kept at most; a graph that grows in a loop must not fill the memory."""


class Session:
    """Runs parts of one graph.

    Args:
      target: empty: this process.
      graph: the graph; by default the default one.
      config: settings, which are copied. Of them `allow_soft_placement` counts.

    Raises:
      TypeError: an argument is of another kind.
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: ConfigProto | None = None) -> None:
        """Takes a graph as it is; nodes that are added later can be run as well."""
        if not isinstance(target, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not checked
            raise TypeError(f'Argument `target` must be a string, but got "{type(target).__name__}"')
        if graph is not None and not isinstance(graph, Graph):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f'Argument `graph` must be a tf.Graph, but got "{type(graph).__name__}"')
        if config is not None and not isinstance(config, ConfigProto):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f'Argument `config` must be a tf.ConfigProto, but got "{type(config).__name__}"')
        self._config = ConfigProto() if config is None else deepcopy(config)
        self._graph = graph or get_default_graph()
        self._closed = False
        self._plans: dict[Any, list[Step]] = {}
        self._requests: dict[Operation, Request | None] = {}
        self._machine: Machine | None = None
        self._open: ExitStack | None = None
        self.values: Values = {}

    @property
    def graph(self) -> Graph:
        """The graph whose nodes it runs."""
        return self._graph

    def run(self, fetches: Any, feed_dict: Mapping[Any, Any] | None = None) -> Any:
        """Returns the values of tensors, and None for nodes, in the structure of the fetches.

        Args:
          fetches: a tensor, a node, the name of one, or lists, tuples and dictionaries of them.
          feed_dict: values for tensors, by tensor or name.

        Raises:
          RuntimeError: the session is closed, or its graph has no nodes.
          InvalidArgumentError: a placeholder was not fed, a device is not there, an op failed.
        """
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        if not self._graph.version:
            raise RuntimeError("The Session graph is empty. Add operations to the graph before calling run().")
        elements = elements_in(fetches, self._graph)
        fed = fed_values(feed_dict, self._graph)
        if not elements:
            return fetches
        made = self._run(self._steps(elements, fed), fed)
        return values_like(fetches, [_value(one, made) for one in elements])

    def _steps(self, elements: list[Any], fed: Mapping[GraphTensor, Any]) -> list[Step]:
        key = tuple(elements), frozenset(fed)
        steps = self._plans.get(key)
        if steps is None:
            if len(self._plans) >= _REMEMBERED:
                self._plans.clear()
            steps = self._plans[key] = plan(elements, fed)
        return steps

    def _run(self, steps: list[Step], fed: Mapping[GraphTensor, Any]) -> dict[GraphTensor, Tensor]:
        """Runs steps in order, each in a scope of its own that says nothing but its device."""
        machine = CURRENT.context.devices
        self._place(machine)
        before = SCOPE()
        try:
            set_scope(Scope(Request(machine.host.name, parse(machine.host.name))))
            made = {tensor: constant_of(array, tensor._dtype) for tensor, array in fed.items()}
            for node, done_with in steps:
                request = self._requests[node]
                set_scope(None if request is None else Scope(request))
                for tensor, value in zip(node.outputs, _outputs(node, made, self.values), strict=True):
                    made.setdefault(tensor, value)  # what is fed stays
                for tensor in done_with:
                    made.pop(tensor, None)
        finally:
            set_scope(before)
        return made

    def _place(self, machine: Machine) -> None:
        """Finds devices for the nodes that came since the last run, whether they are fetched or not.

        A node that cannot be placed makes every run fail, as in TensorFlow.
        """
        if machine is not self._machine:  # another machine since: what was found there does not count
            self._machine, self._requests = machine, {}
        if len(self._requests) < self._graph.version:
            new = self._graph.get_operations()[len(self._requests) :]
            self._requests.update(requests_of(new, machine, self._config.allow_soft_placement))

    def close(self) -> None:
        """Refuses to run from now on and forgets the values of variables; closing twice is fine."""
        self._closed = True
        self.values.clear()
        self._plans.clear()

    def as_default(self) -> AbstractContextManager[Session]:
        """Returns a block in which `eval` and `run` use this session; it is not closed afterwards."""
        return as_default_session(self)

    def __enter__(self) -> Session:
        """Makes the session and its graph the default ones."""
        if self._open is not None:
            raise RuntimeError(
                "Session context managers are not re-entrant. Use `Session.as_default()` if you want to enter a "
                "session multiple times."
            )
        self._open = ExitStack()
        self._open.enter_context(self._graph.as_default())
        self._open.enter_context(self.as_default())
        return self

    def __exit__(self, *error: Any) -> None:
        """Closes the session."""
        if self._open is not None:
            self._open.__exit__(*error)
        self._open = None
        self.close()


def _outputs(node: Operation, made: Mapping[GraphTensor, Tensor], values: Values) -> list[Tensor]:
    """Returns what a node makes of its inputs."""
    record = node.record
    if node.on_variables:
        return outputs_on_variables(node, made, values)
    if record is CONST:
        return [constant_of(node.attrs["value"], node.outputs[0].dtype)]
    if record is NO_OP:
        return []
    if record is PLACEHOLDER:
        if node.outputs[0] in made:
            return [made[node.outputs[0]]]
        raise InvalidArgumentError(None, None, _not_fed(node))
    inputs = [[made[one] for one in value] if value.__class__ is list else made[value] for value in node.arguments]
    result = execute(record, inputs, node.attrs_with(made), node.name)
    return result if record.many else [result]


def _not_fed(node: Operation) -> str:
    (tensor,) = node.outputs
    shape = ""
    if tensor.shape.dims:
        shape = f" and shape [{','.join('?' if one is None else str(one) for one in tensor.shape)}]"
    return (
        f"You must feed a value for placeholder tensor '{node.name}' with dtype {tensor.dtype.c_name}{shape}\n"
        f"\t [[{{{{node {node.name}}}}}]]"
    )


def _value(element: GraphTensor | Operation, made: Mapping[GraphTensor, Tensor]) -> Any:
    return value_of(made[element], element.op.name).numpy() if isinstance(element, GraphTensor) else None
