"""Gradients in graphs, computed by nodes that are added to the graph."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, cast

from nbtf._graph.graph import SymbolicGraph
from nbtf._graph.node_gradients import Flow, as_whole
from nbtf._graph.operation import Operation, flat
from nbtf._graph.tensor import GraphTensor
from nbtf._ops.arrays.broadcasting import reshape
from nbtf._ops.arrays.creation import fill, ones_like, zeros_like
from nbtf._ops.arrays.identity import identity
from nbtf._ops.arrays.joining import stack
from nbtf._ops.math.arithmetic import add_n
from nbtf._ops.ragged_and_sparse.indexed_slices import IndexedSlices
from nbtf._runtime.conversion import as_tensor
from nbtf._runtime.tape import CONTINUOUS
from nbtf._types import int32, variant
from nbtf.autodiff import graphs as eager
from nbtf.autodiff.backward import sum_gradients
from nbtf.autodiff.ends import UnconnectedGradients
from nbtf.autodiff.jacobian import jacobian_of
from nbtf.compat._v1._graph.defaults import building
from nbtf.compat._v1._graph.node_gradients import flows_through


def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str | None = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
    stop_gradients: Any = None,
    unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
) -> list[Flow]:
    """Returns tensors for the derivatives of the sum of `ys` with respect to each of `xs`.

    Args:
      ys: a tensor or a list of tensors.
      xs: a tensor or a variable, or a list of them.
      grad_ys: initial gradient of each of `ys`; None for ones.
      name: name scope of the new nodes.
      colocate_gradients_with_ops: whether each gradient is placed on the device of its node; otherwise the open
        `device` blocks decide.
      gate_gradients, aggregation_method: accepted for compatibility and ignored.
      stop_gradients: tensors through which no gradients flow.
      unconnected_gradients: gradient of an `x` that `ys` do not depend on: `"none"` for None or `"zero"` for zeros.

    Returns:
      For each of `xs`, a tensor, `tf.IndexedSlices` if only rows of it were read, or None.

    Raises:
      LookupError: if an op between them has no gradient.
      ValueError: if `grad_ys` and `ys` differ in length, or `unconnected_gradients` is unknown.
      TypeError: if one of `grad_ys` does not match its tensor.
      RuntimeError: if ops run eagerly.

    >>> import nbtf.compat.v1 as tf1
    >>> with tf1.Graph().as_default(), tf1.Session() as sess:
    ...     x = tf1.placeholder(tf1.float32, [None])
    ...     (slope,) = tf1.gradients(x * x, x)
    ...     print(sess.run(slope, {x: [1.0, 2.0]}))
    [2. 4.]
    """
    graph = building()
    if graph is None:
        return eager.gradients(ys, xs)  # raises an error
    try:
        unconnected = UnconnectedGradients(unconnected_gradients)
    except ValueError:
        raise ValueError(f"Unknown value for unconnected_gradients: '{unconnected_gradients}'") from None
    with graph.inside():
        targets = [_tensor(y) for y in _as_list(ys)]
        sources = [_source(x) for x in _as_list(xs)]
        stops = {_tensor(value).op for value in _as_list(stop_gradients or [])}
        owner = next((tensor.graph_here() for tensor in (*targets, *sources)), graph)
        with owner.inside(), owner.name_scope(name or "gradients"):
            walk = Walk(owner, targets, sources, stops, colocate_gradients_with_ops)
            flows = walk.run(_seeds(walk, targets, grad_ys))
        if unconnected is UnconnectedGradients.ZERO:
            return [zeros_like(x) if flow is None else flow for flow, x in zip(flows, sources, strict=True)]
    return flows


def _as_list(values: Any) -> list[Any]:
    return list(cast("list[Any]", values)) if isinstance(values, list | tuple) else [values]


def _tensor(value: Any) -> GraphTensor:
    if isinstance(value, GraphTensor):
        return value
    tensor: Any = as_tensor(value)
    return tensor


def _source(value: Any) -> GraphTensor:
    """Returns the tensor that represents one of `xs`; for a variable, the output that all its readers use."""
    if isinstance(value, GraphTensor):
        return value
    node = getattr(value, "op", None)
    return node.outputs[0] if isinstance(node, Operation) else _tensor(value)


def _seeds(walk: Walk, targets: Sequence[GraphTensor], grad_ys: Any) -> list[GraphTensor]:
    """Returns the initial gradients of the targets."""
    seeds = [None] * len(targets) if grad_ys is None else _as_list(grad_ys)
    if len(seeds) != len(targets):
        raise ValueError(f"Length mismatch. Passed {len(seeds)} grad_ys for {len(targets)} ys")
    starts: list[GraphTensor] = []
    for number, (seed, target) in enumerate(zip(seeds, targets, strict=True)):
        with walk.beside(target.op):
            starts.append(_seed(None if seed is None else _tensor(seed), target, f"grad_ys_{number}"))
    return starts


def _seed(seed: Any, target: GraphTensor, name: str) -> Any:
    if seed is not None:
        _check_seed(seed, target)
        return identity(seed, name=name)
    dtype = target._dtype
    if dtype.is_complex:
        raise TypeError(f"Gradients of complex tensors ({target}) must set grad_ys (y.dtype = {dtype.name})")
    if target._shape.is_fully_defined():
        shape: Any = as_tensor(target._shape.as_list(), int32)
        value: Any = as_tensor(1, dtype)
        return fill(shape.called("Shape"), value.called(f"{name}/Const"), name=name)
    return ones_like(target, name=name)


def _check_seed(seed: Any, target: GraphTensor) -> None:
    kind, wanted = seed._dtype, target._dtype
    if wanted.is_complex and not kind.is_complex:
        said = "complex-valued tensor {} with type {} must be real"
    elif (wanted.is_floating or wanted.is_integer) and not (kind.is_floating or kind.is_integer):
        said = "real or integer-valued tensor {} with type {} must be real or integer"
    else:
        return
    raise TypeError(f"Gradient type {kind.name} generated for {said.format(target, wanted.name)}")


class Walk:
    """One backward pass through a graph, which visits each node between the sources and the targets once.

    Args:
      graph: graph to which the gradient nodes are added.
      targets: tensors at which the pass starts.
      sources: tensors at which the pass ends.
      stops: nodes through which no gradients flow.
      colocate: whether each gradient is placed on the device of its node.
      within: the nodes to consider; None for all.
    """

    def __init__(
        self,
        graph: SymbolicGraph,
        targets: Sequence[GraphTensor],
        sources: Sequence[GraphTensor],
        stops: set[Operation],
        colocate: bool,
        within: set[Operation] | None = None,
    ) -> None:
        self._graph = graph
        self._targets = targets
        self._sources = sources
        self._colocate = colocate
        self._reached = _reached(sources, within)
        self._waiting = self._between()
        self._stops = stops | _ends(sources, self._waiting)
        self._arrived: dict[GraphTensor, list[Flow]] = {}

    def beside(self, node: Operation) -> AbstractContextManager[None]:
        """Returns the block in which nodes that belong to a node are created."""
        return self._graph.colocate_with(node, ignore_existing=True) if self._colocate else nullcontext()

    def _between(self) -> dict[Operation, int]:
        """Returns the nodes between sources and targets, and how many gradients each must wait for."""
        counts: dict[Operation, int] = {}
        todo = deque([target.op for target in self._targets if target.op in self._reached])
        while todo:
            node = todo.popleft()
            if node not in counts:
                counts[node] = 0
                todo.extend([tensor.op for tensor in flat(node.arguments) if tensor.op in self._reached])
        for node in list(counts):
            for tensor in flat(node.arguments):
                if tensor.op in counts:
                    counts[tensor.op] += 1
        return counts

    def run(self, seeds: Sequence[Flow]) -> list[Flow]:
        """Returns the gradients of the sources."""
        for target, seed in zip(self._targets, seeds, strict=True):
            if target._dtype in CONTINUOUS:
                self._arrived.setdefault(target, []).append(seed)
        ready = deque(dict.fromkeys([target.op for target in self._targets if self._waiting.get(target.op) == 0]))
        while ready:
            node = ready.popleft()
            with self.beside(node):
                self._through(node)
            ready.extend(self._done_with(node))
        return [self._sum(source) for source in self._sources]

    def _through(self, node: Operation) -> None:
        """Passes the gradients of a node's outputs on to its inputs."""
        grads = [self._sum(output) for output in node.outputs]
        if node in self._stops or all([grad is None for grad in grads]):
            return
        inputs = flat(node.arguments)
        wanted = [tensor.op in self._waiting for tensor in inputs]
        with self._graph.name_scope(f"{node.name}_grad"):
            flows = flows_through(node, grads, wanted)
        for tensor, flow, is_wanted in zip(inputs, flows, wanted, strict=True):
            if flow is not None and is_wanted:
                self._arrived.setdefault(tensor, []).append(flow)

    def _done_with(self, node: Operation) -> Iterator[Operation]:
        """Yields the nodes that have now received all their gradients."""
        for tensor in flat(node.arguments):
            if tensor.op in self._waiting:
                self._waiting[tensor.op] -= 1
                if not self._waiting[tensor.op]:
                    yield tensor.op

    def _sum(self, tensor: GraphTensor) -> Flow:
        """Returns the sum of a tensor's gradients; it consists of rows if all of them do."""
        grads = self._arrived.get(tensor)
        if grads is None:
            return None
        if len(grads) > 1:
            is_dense = tensor._dtype is not variant and not all([isinstance(grad, IndexedSlices) for grad in grads])
            total = add_n([as_whole(grad, tensor) for grad in grads]) if is_dense else sum_gradients(grads)
            grads[:] = [total]
        return grads[0]


def _reached(sources: Sequence[GraphTensor], within: set[Operation] | None) -> set[Operation]:
    """Returns the nodes, among those to consider, to which the sources are connected by continuous tensors."""
    nodes: set[Operation] = set()
    todo = [source.op for source in sources]
    while todo:
        node = todo.pop()
        if node not in nodes:
            nodes.add(node)
            readers = [
                reader for output in node.outputs if output._dtype in CONTINUOUS for reader in output.consumers()
            ]
            todo += [reader for reader in readers if within is None or reader in within]
    return nodes


def _ends(sources: Sequence[GraphTensor], between: dict[Operation, int]) -> set[Operation]:
    """Returns the source nodes that have no inputs between sources and targets."""
    return {x.op for x in sources if not any([tensor.op in between for tensor in flat(x.op.arguments)])}


def hessians(
    ys: Any,
    xs: Any,
    name: str = "hessians",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
) -> list[Any]:
    """Returns the second derivatives of the sum of `ys` with respect to each of `xs`: `x.shape + x.shape`.

    Args:
      ys: a tensor or a list of tensors.
      xs: a tensor or a variable, or a list of them; if the graph knows the shape, each element gets its own nodes.
      colocate_gradients_with_ops: whether gradients are placed on the devices of the corresponding nodes.
      gate_gradients, aggregation_method: accepted for compatibility and ignored.

    Raises:
      LookupError: if an op between them has no gradient.
      RuntimeError: if ops run eagerly.

    >>> import nbtf.compat.v1 as tf1
    >>> with tf1.Graph().as_default(), tf1.Session() as sess:
    ...     x = tf1.constant([1.0, 2.0])
    ...     print(sess.run(tf1.hessians(tf1.reduce_sum(x * x * x), x)[0]))
    [[ 6.  0.]
     [ 0. 12.]]
    """
    graph = building()
    if graph is None:
        return eager.hessians(ys, xs)  # raises an error
    with graph.inside():
        sources: list[Any] = list(cast("list[Any]", xs)) if isinstance(xs, list | tuple) else [xs]
        slopes = gradients(ys, sources, colocate_gradients_with_ops=colocate_gradients_with_ops)
        return [_rows(slope, x, colocate_gradients_with_ops) for slope, x in zip(slopes, sources, strict=True)]


def _rows(slope: Any, x: Any, colocate: bool) -> Any:
    source = _source(x)
    count = source._shape.num_elements()
    if count is None:
        graph = building()
        assert graph is not None
        return graph.jacobians(partial(gradients, slope, x), slope, [source], jacobian_of)[0]
    flat = reshape(slope, [-1])
    lengths = source._shape.as_list()
    rows = [gradients(flat[position], x, colocate_gradients_with_ops=colocate)[0] for position in range(count)]
    return reshape(stack([zeros_like(flat) if row is None else reshape(row, [-1]) for row in rows]), lengths * 2)
