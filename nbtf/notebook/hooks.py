"""How does an interrupt that comes while one of our cell hooks runs reach the cell? IPython itself only prints it.

After an interrupt in a hook before the cell, the cell fails instead of running. After an interrupt in a hook after the
cell, the cell fails as well, so a front end does not run the cells below.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

Hook = Callable[..., object]


class CellHooks:
    """The functions that IPython calls before and after a cell for us."""

    def __init__(self, shell: Any) -> None:
        """Registers nothing yet.

        Args:
          shell: IPython's.
        """
        self._shell = shell
        self._interrupted = False

    def add(self, event: str, hook: Hook) -> Callable[[], None]:
        """Registers a hook; returns the function that removes it.

        Args:
          event: `pre_run_cell`, `post_run_cell` or `post_execute`.
          hook: takes what IPython passes for the event.
        """

        def guarded(*arguments: Any) -> None:
            try:
                hook(*arguments)
            except KeyboardInterrupt:
                self._interrupted = True
            if self._interrupted:
                self._pass_on(event, *arguments)

        self._shell.events.register(event, guarded)
        return lambda: self._shell.events.unregister(event, guarded)

    def _pass_on(self, event: str, result: Any = None) -> None:
        if event == "pre_run_cell":
            self._shell.ast_transformers.append(_InterruptedCell(self._shell))
        if event == "post_run_cell" and result is not None and result.success:
            result.error_in_exec = KeyboardInterrupt()
            self._shell.last_execution_succeeded = False
            self._shell.showtraceback((KeyboardInterrupt, result.error_in_exec, None))
        self._interrupted = event == "post_execute"  # which has no result: the cell's next hook has


class _InterruptedCell(ast.NodeTransformer):
    """Replaces the code of the next cell by an interrupt."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell

    def visit(self, node: ast.AST) -> ast.AST:
        """Returns code that raises, and is used once."""
        self._shell.ast_transformers.remove(self)
        return ast.parse("raise KeyboardInterrupt")
