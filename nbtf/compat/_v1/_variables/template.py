"""`tf.make_template`: functions that create their variables in the first call and reuse them in later calls."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from nbtf._runtime.changes import changing
from nbtf.compat._v1._graph.defaults import get_default_graph
from nbtf.compat._v1._variables.keys import GraphKeys
from nbtf.compat._v1._variables.scopes import Getter, VariableScope, open_scopes_of, variable_scope


class Template:
    """A function that uses the same variables in every call."""

    def __init__(self, name: str, func: Callable[..., Any], unique_name: str | None, getter: Getter | None) -> None:
        self._name, self._func = name, func
        self._unique_name, self._getter = unique_name, getter
        self._scope: VariableScope | None = None
        self._called = False

    def open_scope(self) -> None:
        """Chooses the scope name of its variables now."""
        graph = get_default_graph()
        name = self._unique_name or open_scopes_of(graph).unique(self._name)
        with changing(lambda: variable_scope(name, custom_getter=self._getter)._pure(graph, name, "")) as scope:
            self._scope = scope

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function.

        Raises:
          ValueError: if a later call creates a trainable variable.
        """
        if self._scope is None:
            with variable_scope(self._unique_name, self._name, custom_getter=self._getter) as scope:
                self._scope = scope
                result = self._func(*args, **kwargs)
        else:
            with variable_scope(self._scope, reuse=self._called):
                count_before = len(self._trainable())
                result = self._func(*args, **kwargs)
                if self._called and len(self._trainable()) > count_before:
                    raise ValueError(
                        "Trainable variable created when calling a template after the first time, perhaps you used "
                        f"tf.Variable when you meant tf.get_variable: {self._trainable()[count_before:]}"
                    )
        self._called = True
        return result

    def _trainable(self) -> list[Any]:
        return get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES)

    @property
    def name(self) -> str:
        """The requested name."""
        return self._name

    @property
    def variable_scope(self) -> VariableScope | None:
        """The scope of its variables; None before the first call."""
        return self._scope

    var_scope = variable_scope

    @property
    def variables(self) -> list[Any]:
        """Its variables."""
        return self.global_variables + self.local_variables

    @property
    def global_variables(self) -> list[Any]:
        """Its global variables."""
        return [] if self._scope is None else self._scope.global_variables()

    @property
    def local_variables(self) -> list[Any]:
        """Its local variables."""
        return [] if self._scope is None else self._scope.local_variables()

    @property
    def trainable_variables(self) -> list[Any]:
        """Its trainable variables."""
        return [] if self._scope is None else self._scope.trainable_variables()


def make_template(
    name_: str,
    func_: Callable[..., Any],
    create_scope_now_: bool = False,
    unique_name_: str | None = None,
    custom_getter_: Getter | None = None,
    **kwargs: Any,
) -> Template:
    """Returns a function that creates its variables in the first call and reuses them in later calls.

    Args:
      name_: scope of the variables; it gets a number if it is taken.
      func_: the function, which calls `tf.get_variable`.
      create_scope_now_: whether to choose the scope now rather than in the first call.
      unique_name_: the exact scope, without a number.
      custom_getter_: function called instead of creating a variable.
      **kwargs: arguments that are passed to the function in every call.
    """
    template = Template(name_, partial(func_, **kwargs) if kwargs else func_, unique_name_, custom_getter_)
    if create_scope_now_:
        template.open_scope()
    return template
