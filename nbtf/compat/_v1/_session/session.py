"""Sessions, which run graph nodes on the same road as eager ops, and interactive sessions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from copy import deepcopy
from typing import Any, NoReturn

from nbtf._graph.operation import Operation
from nbtf._graph.tensor import GraphTensor
from nbtf._locks import new_lock
from nbtf._runtime.attributes import reads
from nbtf._runtime.blocks import current_scope, leaving
from nbtf._runtime.changes import ChangingBlock, both
from nbtf._runtime.context import CURRENT, Context
from nbtf._runtime.logger import get_logger
from nbtf._runtime.placement import Machine
from nbtf._runtime.scopes import EMPTY
from nbtf.compat._v1._config.config_proto import ConfigProto
from nbtf.compat._v1._graph.defaults import get_default_graph
from nbtf.compat._v1._graph.graph import Graph
from nbtf.compat._v1._graph.process import process
from nbtf.compat._v1._session.colocation import is_generator
from nbtf.compat._v1._session.defaults import add_default_session, as_default_session, drop_default_session
from nbtf.compat._v1._session.feeds import fed_values
from nbtf.compat._v1._session.fetches import elements_in, empty, values_like
from nbtf.compat._v1._session.log import Placed, SessionLog
from nbtf.compat._v1._session.machine import DeviceAttributes, config_of, devices_of, machine_of
from nbtf.compat._v1._session.placer import Placement, place_nodes
from nbtf.compat._v1._session.plan import Plan, needed, plan
from nbtf.compat._v1._session.running import Runner
from nbtf.compat._v1._surface.everywhere import graphs_everywhere
from nbtf.compat._v1._surface.removed import without_attributes
from nbtf.compat._v1._variables.running import Values
from nbtf.errors import CancelledError, UnimplementedError

_REMEMBERED = 256
"""The maximum number of cached plans, so that a graph that grows in a loop does not fill the memory."""


@without_attributes("Session")
class Session(ChangingBlock):
    """Runs parts of one graph.

    Args:
      target: must be empty, because a session runs only in this process.
      graph: the graph; None for the default graph.
      config: configuration, which is copied; None for the settings of `tf.config`.

    Raises:
      TypeError: if an argument has the wrong type.
      UnimplementedError: if the target names another process.
    """

    def __init__(
        self, target: str | bytes | None = "", graph: Graph | None = None, config: ConfigProto | None = None
    ) -> None:
        if not isinstance(target, str | bytes | None):  # pyright: ignore[reportUnnecessaryIsInstance]
            hint = '. Did you do "Session(config)" instead of "Session(config=config)"?'
            raise TypeError(
                f'Argument `target` must be a string, but got "{type(target).__name__}"'
                + (hint if isinstance(target, ConfigProto) else "")
            )
        if target:
            raise UnimplementedError(
                f"A session runs only in this process. Got the target {target!r}: leave `target` (or `master`) empty. "
                "To simulate other hosts in eager programs, call tf.runtime.simulate_cluster(hosts=2, gpus=8)."
            )
        if graph is not None and not isinstance(graph, Graph):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f'Argument `graph` must be a tf.Graph, but got "{type(graph).__name__}"')
        if config is not None and not isinstance(config, ConfigProto):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f'Argument `config` must be a tf.ConfigProto, but got "{type(config).__name__}"')
        super().__init__()
        self._config = config_of(CURRENT.context) if config is None else deepcopy(config)
        self._graph = graph or get_default_graph()
        self._closed = False
        self._plans: dict[Any, Plan] = {}
        self._placed: dict[Operation, Placement] = {}
        self._version = 0
        """The number of nodes in the graph when they were last placed."""
        self._lock = new_lock()
        self._runner = Runner()
        self._context: Context = CURRENT.context
        self._machine: Machine = machine_of(self._config, self._context)
        self._log = SessionLog() if self._config.log_device_placement else None
        if self._log is not None:
            self._log.mapping(self._machine)

    graph: Graph = reads("_graph", "The graph of the session.")

    values: Values = reads("_runner.values", "The values of variables, by the nodes that represent them.")

    def run(
        self,
        fetches: Any,
        feed_dict: Mapping[Any, Any] | None = None,
        options: Any = None,
        run_metadata: Any = None,
    ) -> Any:
        """Runs nodes, and returns the values of tensors and None for nodes, in the structure of the fetches.

        Args:
          fetches: a tensor, a node, a name, or lists, tuples and dictionaries of them.
          feed_dict: dictionary of tensors or their names, and values.
          options: accepted and ignored; `tf.runtime.recording()` measures each node.
          run_metadata: `RunMetadata`, which is emptied.

        Raises:
          RuntimeError: if the session is closed, or its graph has no nodes.
          InvalidArgumentError: if a placeholder was not fed, a device is not available, or an op failed.
        """
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        if not self._graph.version:
            raise empty(fetches)
        elements = elements_in(fetches, self._graph)
        fed = fed_values(feed_dict, self._graph)
        if not elements:
            return fetches
        run_plan = self._plan(elements, fed)  # comes first: after a restart, it updates devices and drops all values
        values = self._runner.run(run_plan, fed, self._machine.host)
        if run_metadata is not None:
            run_metadata.Clear()
        return values_like(fetches, iter(_as_fed(elements, values, fed)))

    def make_callable(
        self, fetches: Any, feed_list: Sequence[Any] | None = None, accept_options: bool = False
    ) -> Callable[..., Any]:
        """Returns a function that runs the fetches.

        Args:
          fetches: fetches in the same form as for `run`.
          feed_list: tensors to feed; the function takes a value for each, in this order.
          accept_options: whether the function also accepts `options` and `run_metadata`, which it ignores.
        """
        tensors = list(feed_list or ())

        def call(*values: Any, options: Any = None, run_metadata: Any = None) -> Any:
            if len(values) != len(tensors):
                raise ValueError(f"`feed_list` has {len(tensors)} tensors, but {len(values)} values were given.")
            return self.run(fetches, dict(zip(tensors, values, strict=True)), options, run_metadata)

        return call if accept_options else lambda *values: call(*values)

    def _plan(self, elements: list[Any], fed: Collection[GraphTensor]) -> Plan:
        """Returns the plan for some fetches; may be called from several threads."""
        with self._lock:
            return self._planned(elements, fed)

    def _planned(self, elements: list[Any], fed: Collection[GraphTensor]) -> Plan:
        if self._context is not CURRENT.context:
            self._move_on()
        pruned = self._config.graph_options.place_pruned_graph
        if not pruned and self._version != self._graph.version:
            self._place_graph(self._graph.get_operations())
        key = tuple(elements), frozenset(fed)
        run_plan = self._plans.get(key)
        if run_plan is None:
            if len(self._plans) >= _REMEMBERED:
                self._plans.clear()
            if pruned:
                self._place_graph(needed(elements, fed))
            run_plan = self._plans[key] = plan(elements, fed, self._placed, self._machine.host)
        return run_plan

    def _place_graph(self, nodes: list[Operation]) -> None:
        """Places the whole graph whenever it has grown, including nodes that are not fetched, as TensorFlow does.

        Therefore a node that cannot be placed makes every run fail.
        """
        self._version = 0
        placed: dict[Operation, Placement] = {}
        fixed = {node: variable._device for node, variable in self.values.items()}
        try:
            place_nodes(nodes, self._machine, placed, fixed)
        finally:
            if self._log is not None:
                self._log.placed([_line(node, placed[node]) for node in nodes if node in placed], self._machine)
        if not self._config.graph_options.place_pruned_graph:
            self._plans.clear()
            self._version = len(nodes)
        self._placed = placed

    def _move_on(self) -> None:
        """Switches to the new devices after a restart; values on the old ones are lost."""
        self._context = CURRENT.context
        self._machine = machine_of(self._config, self._context)
        self._runner = Runner()
        self._plans.clear()
        self._version = 0

    def list_devices(self) -> list[DeviceAttributes]:
        """Returns the session's devices: `name`, `device_type`, `memory_limit_bytes`, and a random `incarnation`.

        Raises:
          CancelledError: if the session is closed.
        """
        if self._closed:
            raise CancelledError("Session has been closed.")
        if self._context is not CURRENT.context:
            self._move_on()
        return devices_of(self._machine)

    def close(self) -> None:
        """Closes the session and releases the values of its variables; further calls do nothing."""
        self._closed = True
        self._runner.forget()
        self._plans.clear()
        self._placed = {}

    def as_default(self) -> AbstractContextManager[Session]:
        """Returns a block in which `eval` and `run` use this session; it stays open afterwards."""
        return as_default_session(self)

    def __enter__(self) -> Session:
        if self.is_open:
            raise RuntimeError(
                "Session context managers are not re-entrant. Use `Session.as_default()` if you want to enter a "
                "session multiple times."
            )
        change = both(graphs_everywhere(), as_default_session(self).plan())
        return self.begin(change, (current_scope() or EMPTY).with_(graph=self._graph))

    @leaving
    def __exit__(self, *error: Any) -> None:
        try:
            if self.is_open:
                self._graph.settle()
                self.end()
        finally:
            self.close()


def _as_fed(elements: Sequence[Any], values: Sequence[Any], fed: Mapping[GraphTensor, Any]) -> list[Any]:
    """Returns the values of fetches; a fed tensor is returned as the array that was fed."""
    return [fed.get(element, value) for element, value in zip(elements, values, strict=True)]


def _line(node: Operation, placement: Placement) -> Placed:
    """Returns the log entry of a node."""
    sources = [tensor.op.name for tensor in node.inputs] + [control_input.name for control_input in node.control_inputs]
    return Placed(node.name, node.type, placement.device.name, is_generator(node), tuple(sources))


_ANOTHER_IS_ACTIVE = (
    "An interactive session is already active. This can cause out-of-memory errors or some other unexpected errors "
    "(due to the unpredictable timing of garbage collection) in some cases. You must explicitly call "
    "`InteractiveSession.close()` to release resources held by the other session(s). Please use `tf.Session()` if you "
    "intend to productionize."
)


class InteractiveSession(Session):
    """A session that is the default session from its creation until it is closed.

    It places only the nodes that a run needs. Without `config`, GPU memory grows as needed.

    Args:
      target: must be empty, because a session runs only in this process.
      graph: the graph; None for the default graph. A given graph is the default graph until the session closes.
      config: configuration; `graph_options.place_pruned_graph` is set in it.

    >>> import nbtf.compat.v1 as tf1
    >>> session = tf1.InteractiveSession(graph=tf1.Graph())
    >>> tf1.constant(5.0).eval()
    np.float32(5.0)
    >>> session.close()
    """

    def __init__(
        self, target: str | bytes | None = "", graph: Graph | None = None, config: ConfigProto | None = None
    ) -> None:
        """Creates a session and makes it the default."""
        if config is None:
            config = ConfigProto(gpu_options={"allow_growth": True})
        if isinstance(config, ConfigProto):  # pyright: ignore[reportUnnecessaryIsInstance]  # `Session` rejects others
            config.graph_options.place_pruned_graph = True
        super().__init__(target, graph, config)
        if process().sessions:
            get_logger().error(_ANOTHER_IS_ACTIVE)
        self._before = process().graph
        self._own_graph = graph
        add_default_session(self)
        if graph is not None:
            process().graph = graph

    def close(self) -> None:
        """Closes the session, which is no longer the default one; further calls do nothing."""
        super().close()
        drop_default_session(self)
        if self._own_graph is not None and process().graph is self._own_graph:
            process().graph = self._before

    def __enter__(self) -> NoReturn:
        raise TypeError("An InteractiveSession is already the default session. Close it instead of using it in a with.")
