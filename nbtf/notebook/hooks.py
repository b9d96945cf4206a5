"""How does an interrupt during one of our cell hooks reach the cell? IPython itself only prints it.

After an interrupt in a hook before the cell, the cell fails instead of running. After an interrupt in a hook after the
cell, the cell fails as well, so a front end does not run the cells below.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

Hook = Callable[..., object]


def fail_cell(shell: Any, result: Any, error: BaseException) -> None:
    """Makes a successful cell fail: IPython shows the error, and the front end stops running cells.

    Args:
      shell: the shell in which the cell ran.
      result: IPython's result of the cell, which keeps an error that it already has; None for a cell without one.
      error: the reason for the failure.
    """
    if result is not None and result.error_in_exec is None:
        result.error_in_exec = error
    shell.last_execution_succeeded = False
    shell.showtraceback((type(error), error, None))


class CellHooks:
    """The functions that IPython calls before and after a cell for us."""

    def __init__(self, shell: Any) -> None:
        """Registers nothing yet.

        Args:
          shell: IPython's shell.
        """
        self._shell = shell
        self._interrupted = False

    def add(self, event: str, hook: Hook) -> Callable[[], None]:
        """Registers a hook; returns the function that removes it.

        Args:
          event: `pre_run_cell`, `post_run_cell` or `post_execute`.
          hook: called with the arguments that IPython passes for the event.
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
            fail_cell(self._shell, result, KeyboardInterrupt())
        self._interrupted = event == "post_execute"  # this event has no result; the cell's next hook has one


class _InterruptedCell(ast.NodeTransformer):
    """Replaces the code of the next cell with an interrupt."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell

    def visit(self, node: ast.AST) -> ast.AST:
        """Returns code that raises an interrupt, and removes this transformer, which acts only once."""
        self._shell.ast_transformers.remove(self)
        return ast.parse("raise KeyboardInterrupt")
