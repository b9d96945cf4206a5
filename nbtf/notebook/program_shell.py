"""Which shell does a program have that has not loaded the extension? One without cells and magics, as in a script."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any


class ProgramShell:
    """Has the parts of IPython's shell that a session reads; nothing in it ever changes or is called."""

    last_execution_result: Any = None

    def __init__(self) -> None:
        """Has no cells, outputs or errors."""
        self.events = _NoEvents()
        self.compile, self.displayhook = SimpleNamespace(), SimpleNamespace()
        self.InteractiveTB, self.SyntaxTB = SimpleNamespace(), SimpleNamespace()
        self.history_manager = SimpleNamespace(input_hist_raw=[])
        self.input_transformers_cleanup: list[Any] = []
        self.magics_manager = _NoMagics()
        self.user_ns_hidden: dict[str, Any] = {}
        self._main_mod_cache: dict[str, Any] = {}

    @property
    def user_ns(self) -> dict[str, Any]:
        """The variables of the program, or of a notebook in marimo."""
        return vars(sys.modules["__main__"])

    user_global_ns = user_ns


class _NoEvents:
    def register(self, event: str, hook: Callable[..., object]) -> None:
        """Ignores a hook, because a program has no cells."""

    def unregister(self, event: str, hook: Callable[..., object]) -> None:
        """Does nothing."""


class _NoMagics:
    def __init__(self) -> None:
        self.magics: dict[str, dict[str, Any]] = {"line": {}, "cell": {}}

    def register_function(self, magic: Callable[..., object], magic_kind: str, magic_name: str) -> None:
        """Ignores a magic, whose function form the session has."""
