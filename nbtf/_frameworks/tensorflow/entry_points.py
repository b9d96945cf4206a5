"""Replaces the functions through which TensorFlow runs ops, while ops are observed, and restores them afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class EntryPoint:
    """A function of a TensorFlow module and its replacement, which may be in use or not."""

    def __init__(self, module: Any, name: str, around: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        """Stores where the function is, and what makes its replacement from it."""
        self._module, self._name, self._around = module, name, around
        self._original: Callable[..., Any] | None = None
        self._replacement: Callable[..., Any] | None = None
        self._is_on = False

    def replace(self) -> None:
        """Puts the replacement in place, unless a wrapper that another library put around it still calls it."""
        self._is_on = True
        current = getattr(self._module, self._name)
        if self._replacement is not None and current is not self._original:
            return
        self._original = current
        self._replacement = self._switched(current, self._around(current))
        setattr(self._module, self._name, self._replacement)

    def restore(self) -> None:
        """Restores the function; the replacement passes calls on if another library still calls it."""
        self._is_on = False
        if getattr(self._module, self._name) is self._replacement:
            setattr(self._module, self._name, self._original)
            self._replacement = None

    def _switched(self, original: Callable[..., Any], observed: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            return observed(*args, **kwargs) if self._is_on else original(*args, **kwargs)

        return run
