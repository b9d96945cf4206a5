"""Are the answers of line magics displayed where the magics are called, and once?"""

from __future__ import annotations

import pytest

from tests.notebook.conftest import Shell

QUERIES = ("%gpu_memory", "%gpu_memory --who", "%devices", "%gpu_memory --all")
NOWHERE = {
    "last": ("LINE",),
    "after another statement": ("x = 1", "LINE"),
    "assigned": ("answer = LINE", "answer = None"),
}
ONCE = {
    "middle": ("LINE", "x = 1"),
    "branch": ("if True:", "    LINE"),
    "error handler": ("try:", "    1 / 0", "except ZeroDivisionError:", "    LINE"),
    "function": ("def ask():", "    LINE", "ask()"),
    "with": ("import contextlib", "with contextlib.nullcontext():", "    LINE", "x = 1"),
}


def displayed(shell: Shell, monkeypatch: pytest.MonkeyPatch, cell: tuple[str, ...], line: str) -> tuple[int, object]:
    """Runs a cell with a magic; returns how often something was displayed, and the cell's result."""
    shown: list[object] = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    ran = shell.run(*[part.replace("LINE", line) for part in cell])
    assert ran.error is None
    return len(shown), ran.result


@pytest.mark.parametrize("line", QUERIES)
@pytest.mark.parametrize("place", ONCE)
def test_a_magic_inside_a_cell_is_displayed_once(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, place: str, line: str
) -> None:
    assert (1, None) == displayed(shell, monkeypatch, ONCE[place], line)


@pytest.mark.parametrize("line", QUERIES)
def test_a_magic_in_a_loop_is_displayed_in_every_round(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    assert (3, None) == displayed(shell, monkeypatch, ("for _ in range(3):", "    LINE"), line)


@pytest.mark.parametrize("place", NOWHERE)
def test_a_magic_whose_value_is_used_is_not_displayed_again(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    count, result = displayed(shell, monkeypatch, NOWHERE[place], "%gpu_memory")

    assert 0 == count
    assert (result is None) == (place == "assigned")


@pytest.mark.parametrize("cell", [("get_ipython().run_line_magic('gpu_memory', '--who')", "x = 1")])
def test_the_function_form_is_displayed_too(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, cell: tuple[str, ...]
) -> None:
    assert (1, None) == displayed(shell, monkeypatch, cell, "")
