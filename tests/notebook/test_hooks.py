"""Does an interrupt reach the cell wherever it comes while our cell hooks run?"""

from __future__ import annotations

from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from nbtf.notebook import hooks
from tests.interrupts.tracing import Interrupter, _watched
from tests.notebook.conftest import Ran, Shell
from tests.rings import with_nightly

CELL = "x = 1 + 1"
OWN = Path(hooks.__file__).name
"""What passes interrupts on; in its own few lines IPython would still only print one."""


class Lines(Interrupter):
    """Notes before which lines the points are."""

    def __init__(self) -> None:
        super().__init__(0, KeyboardInterrupt)
        self.lines: list[tuple[CodeType, int]] = []

    def pass_point(self, code: CodeType, line: int) -> None:
        super().pass_point(code, line)
        self.lines.append((code, line))


def run(shell: Shell, interrupter: Interrupter) -> Any:
    """Runs a cell that uses nothing of the package, with an interrupt before a line of our hooks."""
    with _watched(interrupter, by_line=True):
        try:
            return shell.run(CELL)
        except KeyboardInterrupt as interrupt:  # it came while IPython read the cell
            return Ran(None, "KeyboardInterrupt", interrupt)


@pytest.mark.parametrize("magic", with_nightly([""], ["%devices --live", "%placement_log watch torch"]))
def test_interrupt_before_any_line_of_the_hooks_fails_the_cell(shell: Shell, magic: str) -> None:
    shell.run(magic)
    shell.run(CELL)
    run(shell, usual := Lines())
    swallowed = []

    for line in dict.fromkeys(usual.lines):  # the first time that it runs
        interrupter = Interrupter(usual.lines.index(line) + 1, KeyboardInterrupt)
        ran = run(shell, interrupter)
        if interrupter.place and not interrupter.place.startswith(OWN):
            if not isinstance(ran.error, KeyboardInterrupt) or "KeyboardInterrupt" not in ran.out:
                swallowed.append(interrupter.place)
        after = shell.run(CELL)
        assert after.error is None, interrupter.place
        assert shell.ip.last_execution_succeeded

    assert len(set(usual.lines)) > 50
    assert [] == swallowed
    assert [] == [each for each in shell.ip.ast_transformers if isinstance(each, hooks._InterruptedCell)]


def test_interrupt_before_a_cell_keeps_it_from_running(shell: Shell) -> None:
    shell.ip.events.register("pre_run_cell", other := lambda info: None)
    remove = _session(shell).hooks.add("pre_run_cell", _interrupt)

    ran = shell.run("y = 3")
    remove()
    shell.ip.events.unregister("pre_run_cell", other)

    assert isinstance(ran.error, KeyboardInterrupt)
    assert "y" not in shell.ip.user_ns
    assert shell.run("y = 4").error is None


@pytest.mark.parametrize("event", ["post_execute", "post_run_cell"])
def test_interrupt_after_a_cell_fails_it_and_keeps_an_error_of_its_own(shell: Shell, event: str) -> None:
    remove = _session(shell).hooks.add(event, _interrupt)

    errors = [type(shell.run(cell).error) for cell in ("y = 3", "1 / 0", "1 +", "z = 1")]
    remove()

    assert [KeyboardInterrupt, ZeroDivisionError, SyntaxError, KeyboardInterrupt] == errors
    assert shell.ip.user_ns["y"] == 3
    assert shell.run("y = 4").error is None


def _session(shell: Shell) -> Any:
    from nbtf.notebook.session import SESSIONS

    return SESSIONS[shell.ip]


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
