"""`tf.make_template`: functions that create their variables in the first call and reuse them in later calls."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from nbtf.compat._v1._surface.removed import without_arguments
from nbtf.compat._v1._variables.initializing import trainable_variables
from nbtf.compat._v1._variables.scopes import VariableScope, variable_scope


class Template:
    """A function that uses the same variables in every call."""

    def __init__(self, name: str, func: Callable[..., Any], unique_name: str | None) -> None:
        self._func = func
        self._new_scope = partial(variable_scope, unique_name, name)
        self._scope: VariableScope | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function.

        Raises:
          ValueError: if a later call creates a trainable variable.
        """
        if self._scope is None:
            with self._new_scope() as scope:
                self._scope = scope
                return self._func(*args, **kwargs)
        with variable_scope(self._scope, reuse=True):
            count = len(trainable_variables())
            result = self._func(*args, **kwargs)
            if len(trainable_variables()) > count:
                raise ValueError(
                    "Trainable variable created when calling a template after the first time, perhaps you used "
                    f"tf.Variable when you meant tf.get_variable: {trainable_variables()[count:]}"
                )
        return result

    @property
    def variable_scope(self) -> VariableScope | None:
        """The scope of its variables; None before the first call."""
        return self._scope

    @property
    def variables(self) -> list[Any]:
        """Its global variables."""
        return [] if self._scope is None else self._scope.global_variables()

    @property
    def trainable_variables(self) -> list[Any]:
        """Its trainable variables."""
        return [] if self._scope is None else self._scope.trainable_variables()


@without_arguments("make_template")
def make_template(
    name_: str,
    func_: Callable[..., Any],
    create_scope_now_: bool = False,
    unique_name_: str | None = None,
    **kwargs: Any,
) -> Template:
    """Returns a function that creates its variables in the first call and reuses them in later calls.

    Args:
      name_: scope of the variables; it gets a number if it is taken.
      func_: the function, which calls `tf.get_variable`.
      create_scope_now_: must be False; the first call chooses the scope.
      unique_name_: the exact scope, without a number.
      **kwargs: arguments that are passed to the function in every call.

    Raises:
      NotImplementedError: if `create_scope_now_` is set.
    """
    if create_scope_now_:
        raise NotImplementedError("A template chooses its scope in the first call. Leave `create_scope_now_` out.")
    return Template(name_, partial(func_, **kwargs) if kwargs else func_, unique_name_)
