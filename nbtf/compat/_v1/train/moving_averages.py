"""Moving averages of variables and tensors, which often perform better than the last values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nbtf._graph.operation import Operation
from nbtf._graph.tensor import GraphTensor
from nbtf._ops.arrays.creation import zeros
from nbtf._ops.math.arithmetic import add, cast, multiply, subtract
from nbtf._ops.math.division import divide
from nbtf._ops.math.magnitude import minimum
from nbtf._runtime.conversion import as_tensor
from nbtf._types import float16, float32, float64
from nbtf.compat._v1._graph.defaults import building, get_default_graph
from nbtf.compat._v1._graph.grouping import group
from nbtf.compat._v1._graph.session_graph import Graph
from nbtf.compat._v1._training.slots import beside, slot_of
from nbtf.compat._v1._variables.initializing import global_variables, moving_average_variables, trainable_variables
from nbtf.compat._v1._variables.keys import GraphKeys
from nbtf.compat._v1._variables.scopes import get_variable, variable_scope
from nbtf.compat._v1._variables.variable_classes import Variable


class ExponentialMovingAverage:
    """Keeps `average = decay * average + (1 - decay) * value` for variables and tensors of a graph.

    Args:
      decay: decay of the averages, usually close to 1.
      num_updates: number of steps; if given, early averages adapt faster.
      zero_debias: must be False.
      name: name scope of the nodes, and suffix of the averages' names.

    >>> import nbtf.compat.v1 as tf1
    >>> with tf1.Graph().as_default(), tf1.Session() as sess:
    ...     v = tf1.Variable(1.0)
    ...     averages = tf1.train.ExponentialMovingAverage(0.5)
    ...     update = averages.apply([v])
    ...     sess.run(tf1.global_variables_initializer())
    ...     _ = sess.run(v.assign(3.0))
    ...     _ = sess.run(update)
    ...     print(sess.run(averages.average(v)))
    2.0
    """

    def __init__(
        self,
        decay: Any,
        num_updates: Any = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ) -> None:
        if zero_debias:
            raise NotImplementedError("nbtf does not correct moving averages for their start. Leave `zero_debias` out.")
        self._decay, self._num_updates, self._name = decay, num_updates, name
        self._averages: dict[Any, Any] = {}

    @property
    def name(self) -> str:
        """The name scope of the nodes."""
        return self._name

    def apply(self, var_list: Iterable[Any] | None = None) -> Operation | None:
        """Creates missing averages and returns the node that updates the averages of all given values.

        Args:
          var_list: float variables and tensors; by default the trainable variables.

        Raises:
          TypeError: if a value has another dtype.
          RuntimeError: if ops run eagerly.
        """
        graph = building()
        if graph is None:
            raise RuntimeError("Moving averages are graph nodes, but ops run eagerly here. Build a graph instead.")
        with graph.inside():
            values = trainable_variables() if var_list is None else list(var_list)
            for value in values:
                self._make(value, graph)
            with graph.name_scope(self._name) as scope:
                rate = subtract(_constant(1.0), self._rate())
                updates = [self._update(value, rate, graph) for value in values]
                return group(*updates, name=scope)

    def _make(self, value: Any, graph: Graph) -> None:
        if value.dtype.base_dtype not in (float16, float32, float64):
            raise TypeError(f"The variables must be half, float, or double: {value.name}")
        if _key(value) in self._averages:
            return
        with graph.control_dependencies(None):
            if isinstance(value, Variable):
                average = slot_of(value, value.initialized_value(), self._name)
                graph.add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, value)
            else:
                start: Any = zeros(value.shape.as_list(), value.dtype.base_dtype)
                with variable_scope(None, f"{value.op.name}/{self._name}"):
                    average = get_variable("", initializer=start, trainable=False)
        self._averages[_key(value)] = average

    def _rate(self) -> Any:
        """Returns the decay for one step."""
        decay = as_tensor(self._decay)
        if isinstance(decay, GraphTensor):
            decay = decay.called("decay")
        if self._num_updates is None:
            return decay
        count = cast(self._num_updates, float32, name="num_updates")
        return minimum(decay, divide(add(_constant(1.0), count), add(_constant(10.0), count)))

    def _update(self, value: Any, rate: Any, graph: Graph) -> Any:
        average = self._averages[_key(value)]
        with graph.name_scope("AssignMovingAvg") as scope, beside(average):
            rate = cast(rate, average.dtype.base_dtype)
            change = multiply(subtract(average.value(), value), rate)
            return average.assign_sub(change, name=scope)

    def average(self, var: Any) -> Any:
        """Returns the variable with the average of a value; None if there is none."""
        return self._averages.get(_key(var))

    def average_name(self, var: Any) -> str:
        """Returns the name of a value's average, whether or not it exists."""
        average = self._averages.get(_key(var))
        if average is not None:
            return average.op.name
        return get_default_graph().unique_name(f"{var.op.name}/{self._name}", mark_as_used=False)

    def variables_to_restore(self, moving_avg_variables: Iterable[Any] | None = None) -> dict[str, Any]:
        """Returns a dictionary of names and variables for `tf.train.Saver`, to restore variables from saved averages.

        Args:
          moving_avg_variables: variables to restore from averages; by default all that are trainable or averaged. All
            other variables are restored from their own values.
        """
        if moving_avg_variables is None:
            moving_avg_variables = [*trainable_variables(), *moving_average_variables()]
        by_name = {self.average_name(variable): variable for variable in dict.fromkeys(moving_avg_variables)}
        averaged_names = {variable.op.name for variable in by_name.values()}
        for variable in global_variables():
            if variable.op.name not in averaged_names:
                by_name.setdefault(variable.op.name, variable)
        return by_name


def _key(value: Any) -> Any:
    return (value.op, 0) if isinstance(value, Variable) else (value.op, value.value_index)


def _constant(value: float) -> Any:
    return as_tensor(value, float32)
