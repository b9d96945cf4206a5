"""`tf.gradients` in a traced function: records the function's steps so far on a tape afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from nbtf._graph.function_graph import FunctionGraph
from nbtf._graph.operation import flat as flat_inputs
from nbtf._graph.steps import CompositeStep, GivenValue, OpStep, Step
from nbtf._graph.tensor import GraphTensor
from nbtf._runtime.tape import Tape
from nbtf.autodiff.ends import UnconnectedGradients
from nbtf.autodiff.sources import flat
from nbtf.autodiff.tape import GradientTape


def function_gradients(
    graph: FunctionGraph,
    ys: Any,
    xs: Any,
    grad_ys: Any,
    stop_gradients: Any,
    unconnected: UnconnectedGradients | str,
) -> list[Any]:
    """Returns the derivatives of the sum of `ys` with respect to each of `xs`, see `tf.gradients`.

    Args:
      graph: the function's graph.
      ys: a tensor or a list of tensors.
      xs: a tensor or a variable, or a list of them.
      grad_ys: initial gradients of `ys`; None means ones.
      stop_gradients: tensors through which no gradient flows.
      unconnected: result for any of `xs` that `ys` do not depend on.

    Raises:
      LookupError: if an op between `ys` and `xs` has no gradient.
      ValueError: if `grad_ys` and `ys` differ in number, or `unconnected` is unknown.
    """
    targets, sources, stops = (_as_flat(values) for values in (ys, xs, stop_gradients))
    seeds = None if grad_ys is None else _as_list(grad_ys)
    if seeds is not None and len(seeds) != len(targets):
        raise ValueError(f"Length mismatch. Passed {len(seeds)} grad_ys for {len(targets)} ys")
    block = GradientTape()
    block._tape = _Hearing(graph, sources, targets, stops).tape
    gradients: list[Any] = block.gradient(targets, sources, seeds, unconnected)
    return gradients


def _as_flat(values: Any) -> list[Any]:
    if values is None:
        return []
    return [*flat(_as_list(values))]


def _as_list(values: Any) -> list[Any]:
    items: Any = values
    return [*items] if isinstance(values, list | tuple) else [values]


class _Hearing:
    """Records the steps between sources and targets on a tape, in order."""

    def __init__(
        self, graph: FunctionGraph, sources: Sequence[Any], targets: Sequence[Any], stops: Sequence[Any]
    ) -> None:
        self._graph = graph
        self._handles = {_key(value): value for value in (*stops, *targets, *sources)}
        """Tensors as the program holds them."""
        self.tape = Tape(watches_variables=False)
        self.tape.hearing = self.tape.token
        source_keys = {_key(source) for source in sources}
        for source in sources:
            self._watch(source)
        for step in self._steps(targets, {_key(stop) for stop in stops}):
            self._tell(step)
            for output in step.outputs:
                if _key(output) in source_keys:
                    self._watch(self._handle(output))
        self.tape.hearing = None

    def _watch(self, source: Any) -> None:
        if hasattr(source, "assign_add"):
            self.tape.watch_variable(source)
        else:
            self.tape.watch(source)

    def _steps(self, targets: Iterable[Any], stops: set[int]) -> list[Step]:
        """Returns the steps that targets depend on, without those before tensors at which gradients stop."""
        needed, chosen = {_key(target) for target in targets}, list[Step]()
        graph: FunctionGraph | None = self._graph
        while graph is not None:
            for step in reversed(graph.steps):
                keys = {_key(output) for output in step.outputs}
                if isinstance(step, OpStep | CompositeStep) and needed & keys and not stops & keys:
                    chosen.append(step)
                    needed |= {_key(value) for value in flat_inputs(step.inputs)}
            needed |= {_key(outer) for outer, inner in graph.captures.values() if _key(inner) in needed}
            graph = graph.outer
        return chosen[::-1]

    def _tell(self, step: Step) -> None:
        inputs = [
            [self._handle(item) for item in value] if value.__class__ is list else self._handle(value)
            for value in step.inputs
        ]
        watches = self.tape.watches
        if any([watches(value) or id(value) in self.tape.variables for value in flat_inputs(inputs)]):
            is_composite = isinstance(step, CompositeStep)
            outputs = [self._handle(output) for output in (step.outputs[:-1] if is_composite else step.outputs)]
            is_list = is_composite or step.record.many
            self._graph.tell(self.tape, step.record, inputs, step.attrs, outputs if is_list else outputs[0])

    def _handle(self, value: Any) -> Any:
        """Returns a tensor as the program holds it; if the program dropped it, it is kept from now on."""
        value = value.tensor if isinstance(value, GivenValue) else value
        if value.__class__ is not GraphTensor:
            return value
        key = _key(value)
        if key not in self._handles:
            self._handles[key] = value._graph.handle_of(value)
        return self._handles[key]


def _key(value: Any) -> int:
    """Returns a key that is the same for all objects that stand for a tensor."""
    if isinstance(value, GivenValue):
        value = value.tensor
    original = value._original if value.__class__ is GraphTensor else None
    return id(value if original is None else original)
