"""Does nbtf store each variable on TensorFlow's device, and does it show the right reason?"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import contextmanager
from typing import Any, NamedTuple

import nbtf as tf
from tests.machines import machine
from tests.variable_placement.scopes import REASONS, Opener
from tests.variable_placement.table import MIXING, Cell, gpu_or_cpu, is_mixing, opener_of, outcome

GPUS = 4

_EVERYWHERE = {"no kernel on GPU", "host-memory dtype", "follows variable"}
"""The reasons for variables that TensorFlow stores only on the CPU, and for optimizers' variables."""


class Difference(NamedTuple):
    """A variable with a wrong device or a wrong reason."""

    cell: Cell
    variable: str
    expected: str
    actual: str

    def __str__(self) -> str:
        return f"{self.cell.way} | {self.cell.title} | {self.variable}: {self.actual} instead of {self.expected}"


def differences(cell: Cell, expected: dict[str, str]) -> list[Difference]:
    """Returns the differences in a cell of the table."""
    with machine(GPUS):
        reasons: set[str] = set()
        opener = opener_of(tf, cell.scope, gpu_or_cpu)
        try:
            _, codes = outcome(tf, cell, gpu_or_cpu, _noting(opener, reasons))
        except Exception as error:
            if MIXING in expected.values() and is_mixing(error):
                return []
            return [Difference(cell, "error", "none", f"{type(error).__name__}: {error}")]
    elsewhere = [
        Difference(cell, name, code, codes.get(name, "missing"))
        for name, code in expected.items()
        if codes.get(name) != code
    ]
    wrong = reasons - _EVERYWHERE - {REASONS.get(cell.scope, "")} if _decides_alone(cell) else set[str]()
    return elsewhere + [Difference(cell, "reason", REASONS[cell.scope], reason) for reason in sorted(wrong)]


def _decides_alone(cell: Cell) -> bool:
    """Returns whether only the cell's scope places variables; some programs open device scopes themselves."""
    own = ("creator scope", "function: plain", "function: nested", "on 1", "on_1", "elsewhere", "v1 ")
    return cell.scope in REASONS and not any(text in cell.way for text in own)


def _noting(opener: Opener, reasons: set[str]) -> Opener:
    """Returns a function that opens a scope and records the reasons for variables' devices while it is open."""

    def note(event: Any) -> None:
        if isinstance(event, tf.runtime.OpPlaced) and event.op == "VarHandleOp":
            reasons.add(event.reason.kind)

    @contextmanager
    def observed() -> Any:
        undo = tf.runtime.observe(note)
        try:
            with opener():
                yield
        finally:
            undo()

    return observed


def all_differences(
    cells: Iterable[tuple[Cell, dict[str, str]]], tell: Callable[[Cell], None] = lambda cell: None
) -> list[Difference]:
    """Returns the differences in several cells."""
    found: list[Difference] = []
    for cell, expected in cells:
        tell(cell)
        found += differences(cell, expected)
    return found
