"""How callbacks and losses refer to their model without keeping it alive."""

from __future__ import annotations

from typing import Any
from weakref import ref


class ModelReference:
    """A weak reference to a model. A copy or a pickle of the model has a reference to the copy."""

    def __init__(self, model: Any) -> None:
        """Takes the model; None for no model."""
        self._model = None if model is None else ref(model)

    def __call__(self) -> Any:
        """Returns the model; None if it does not exist any more."""
        return None if self._model is None else self._model()

    def __reduce__(self) -> Any:
        """Copies or pickles the model together with this reference."""
        return type(self), (self(),)
