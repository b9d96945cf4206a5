"""Is everything as before after an interrupt at any instruction, once the cell has ended?

All points: `python -m tests.interrupts`; here an evenly spread part of them.
"""

from __future__ import annotations

import pytest

from nbtf._runtime import blocks
from tests.interrupts import harness
from tests.interrupts.harness import survive, survive_apart
from tests.interrupts.presses import press
from tests.interrupts.scenarios import SCENARIOS

SHARE = {"save": 12, "fit on one GPU": 12, "fit on two GPUs": 12, "tape step": 30}
"""Points of the slow ones; each of the others has 40."""


@pytest.mark.parametrize("name", [name for name, scenario in SCENARIOS.items() if not scenario.apart])
def test_an_interrupt_anywhere_leaves_nothing_behind(name: str) -> None:
    points, failures = survive(name, SHARE.get(name, 40))

    assert [] == failures
    assert points > 10


def test_a_namespace_can_be_used_after_its_first_use_was_interrupted() -> None:
    points, failures = survive_apart("first use of tf.nn", 10)

    assert [] == failures
    assert points > 5


def test_the_harness_sees_what_is_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    def leave_open(self: blocks.ScopeStack, message: str) -> None:
        """Forgets to close the block."""

    with harness.SCENARIOS["device scope"].start() as (action, check), monkeypatch.context() as patch:
        patch.setattr(harness, "end_cell", lambda: None)
        patch.setattr(blocks.ScopeStack, "leave", leave_open)
        wrong = harness._after(harness.SCENARIOS["device scope"], action, check, 0, KeyboardInterrupt, (None, []))

        assert any("a scope is open" in one for one in wrong)
    blocks.set_scope(None)


def test_a_kernel_hears_every_press_of_stop() -> None:
    pytest.importorskip("jupyter_client.manager", reason="needs the lab extra")

    assert [] == press(4)
