"""References from callbacks and losses to their model that do not keep the model alive."""

from __future__ import annotations

from typing import Any
from weakref import ref


class ModelReference:
    """A weak reference to a model. Copying or pickling the model makes the reference point to the copy."""

    def __init__(self, model: Any) -> None:
        """Stores a reference to the model; None for no model."""
        self._model = None if model is None else ref(model)

    def __call__(self) -> Any:
        """Returns the model, or None if it was deleted."""
        return None if self._model is None else self._model()

    def __reduce__(self) -> Any:
        """Copies or pickles the model together with this reference."""
        return type(self), (self(),)
