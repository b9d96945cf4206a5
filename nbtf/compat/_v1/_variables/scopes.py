"""`tf.variable_scope` and `tf.get_variable`: variables that can be found again by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nbtf._graph.tensor import GraphTensor
from nbtf._ops.variables.creation import VariableAggregation, VariableSynchronization
from nbtf._runtime.blocks import current_scope, leaving
from nbtf._runtime.changes import Change, ChangingBlock, both
from nbtf._runtime.scopes import EMPTY
from nbtf._types import DTypeLike
from nbtf.compat._v1._graph.defaults import get_default_graph
from nbtf.compat._v1._graph.session_graph import Graph
from nbtf.compat._v1._variables.keys import GraphKeys
from nbtf.compat._v1._variables.scope import VariableScope as VariableScope
from nbtf.compat._v1._variables.scope import open_scopes
from nbtf.compat._v1._variables.store import AUTO_REUSE, check_supported, store_of


def get_variable_scope() -> VariableScope:
    """Returns the open variable scope of the default graph."""
    return open_scopes(get_default_graph()).current


def get_variable(
    name: str,
    shape: Any = None,
    dtype: DTypeLike | None = None,
    initializer: Any = None,
    regularizer: Callable[[Any], Any] | None = None,
    trainable: bool | None = None,
    collections: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Any = None,
    constraint: Callable[[Any], Any] | None = None,
    synchronization: VariableSynchronization = VariableSynchronization.AUTO,
    aggregation: VariableAggregation = VariableAggregation.NONE,
) -> Any:
    """Returns the variable with a name in the open variable scope: a new one, or with `reuse` the existing one.

    Args:
      name: name inside the scope; it never gets a number.
      shape: shape of the variable.
      dtype: dtype of the variable; by default the scope's.
      initializer: a function of shape and dtype, a class of such functions, a function without arguments, or a value.
      regularizer: function of the variable; its result is added to the graph's losses.
      trainable: whether optimizers change the variable; None means yes.
      collections: names of the collections to which it is added.
      caching_device: device, or function of a node, for a copy of the value that nodes read; by default the scope's.
      partitioner: not supported.
      validate_shape: False allows a value of unknown shape.
      use_resource: whether to create a resource variable; None for the default.
      custom_getter: not supported.
      constraint: function that optimizers apply to the value.
      synchronization: how a strategy would synchronize copies.
      aggregation: how a strategy would combine values from several replicas.

    Raises:
      ValueError: if the variable exists without `reuse`, does not exist with `reuse`, or has another shape or dtype.
    """
    arguments = dict(locals())
    return get_variable_scope().get_variable(store_of(get_default_graph()), arguments.pop("name"), **arguments)


def get_local_variable(name: str, *args: Any, **kwargs: Any) -> Any:
    """Returns a local variable: not trainable, and initialized by `local_variables_initializer`.

    Args:
      name: name inside the scope.
      *args: arguments of `get_variable`.
      **kwargs: arguments of `get_variable`.
    """
    kwargs["trainable"] = False
    kwargs["collections"] = [GraphKeys.LOCAL_VARIABLES, *(kwargs.get("collections") or ())]
    return get_variable(name, *args, **kwargs)


class variable_scope(ChangingBlock):  # noqa: N801  # TensorFlow's name
    """A block that gives its variables a name prefix and default arguments.

    Args:
      name_or_scope: a name, or an existing scope.
      default_name: name to use if none is given; it gets a number if it is taken.
      values: tensors that determine the graph.
      initializer: default initializer.
      regularizer: default regularizer, which computes a loss from a variable.
      caching_device: default caching device of variables.
      partitioner: not supported.
      custom_getter: not supported.
      reuse: True to find variables, `tf.AUTO_REUSE` to find or create them; None inherits from the outer block.
      dtype: default dtype of variables.
      use_resource: whether variables are resources.
      constraint: function that optimizers apply to values.
      auxiliary_name_scope: whether to open a name scope as well.

    Raises:
      TypeError: if both names are missing.
      ValueError: if `reuse` is invalid.
    """

    def __init__(
        self,
        name_or_scope: Any,
        default_name: str | None = None,
        values: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: Any = None,
        reuse: Any = None,
        dtype: DTypeLike | None = None,
        use_resource: bool | None = None,
        constraint: Any = None,
        auxiliary_name_scope: bool = True,
    ) -> None:
        if default_name is None and name_or_scope is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        if reuse not in (True, False, None, AUTO_REUSE):
            raise ValueError("The reuse parameter must be True or False or None.")
        self._name_or_scope, self._default_name = name_or_scope, default_name
        self._values, self._auxiliary = values, auxiliary_name_scope
        self._reuse = reuse or None
        check_supported(partitioner, custom_getter)
        self._own = {
            "initializer": initializer,
            "regularizer": regularizer,
            "caching_device": caching_device,
            "dtype": dtype,
            "use_resource": use_resource,
            "constraint": constraint,
        }
        super().__init__()

    def __enter__(self) -> VariableScope:
        owner: Any = next((value.graph for value in self._values or () if isinstance(value, GraphTensor)), None)
        change = self._change(owner or get_default_graph())
        return self.begin(change, None if owner is None else (current_scope() or EMPTY).with_(graph=owner))

    @leaving
    def __exit__(self, *error: Any) -> None:
        self.end()

    def _change(self, graph: Graph) -> Change[VariableScope]:
        scope = self._name_or_scope
        if scope is None:
            if self._reuse:
                raise ValueError("reuse=True cannot be used without a name_or_scope")
            assert self._default_name is not None
            names = self._name_scope(graph, self._default_name)
            return both(names, self._pure(graph, open_scopes(graph).unique(self._default_name), names.result))
        if not isinstance(scope, str | VariableScope):
            raise TypeError("VariableScope: name_or_scope must be a string or VariableScope.")
        name = scope if isinstance(scope, str) else scope.name.split("/")[-1]
        names = self._name_scope(graph, name) if name or not self._auxiliary else None
        inside = scope.original_name_scope if isinstance(scope, VariableScope) else names.result if names else ""
        pure = self._pure(graph, scope, inside)
        return pure if names is None else both(names, pure)

    def _name_scope(self, graph: Graph, name: str) -> Change[str]:
        if self._auxiliary:
            return graph.name_scope(name).plan()
        name_scope = graph.get_name_scope()
        return graph.name_scope(f"{name_scope}/" if name_scope else None).plan()

    def _pure(self, graph: Graph, scope: str | VariableScope, name_scope: str) -> Change[VariableScope]:
        """Makes a scope the graph's current one, without a name scope."""
        scopes = open_scopes(graph)
        outer = scopes.current
        reopens = isinstance(scope, VariableScope)
        base = scope if isinstance(scope, VariableScope) else outer
        name = base.name if reopens else f"{outer.name}/{scope}" if outer.name else str(scope)
        defaults: dict[str, Any] = {
            key: getattr(base, key) if setting is None else setting for key, setting in self._own.items()
        }
        inner = VariableScope(self._reuse or base.reuse, name, name_scope=name_scope, **defaults)
        scopes.opened(name)
        counts = dict(scopes.counts)

        def write(current: VariableScope) -> None:
            if current is outer:
                scopes.close_below(name)
                if reopens:
                    scopes.counts = dict(counts)
            scopes.current = current

        return Change("tf.variable_scope", write, outer, inner, inner)


def no_regularizer(_: Any) -> None:
    """Returns None; as `regularizer`, it overrides that of the outer scope."""
