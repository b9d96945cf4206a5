"""What does the map of devices say first of a PyTorch program?"""

from __future__ import annotations

from typing import Any

import pytest

from nbtf import runtime
from nbtf.notebook.stills.device_facts import map_facts

torch: Any = pytest.importorskip("torch", reason="needs PyTorch; one step of .ci/run has it")


def test_a_room_says_first_what_computes_and_not_what_only_looks() -> None:
    x = torch.ones(4, 4)
    with runtime.recording() as record, runtime.watch("torch"):
        for _ in range(5):
            x = x.t()
        torch.mm(x, x)

    [host] = map_facts(record.snapshot(), runtime.devices()).hosts

    assert ["aten::mm", "aten::t"] == [op.op for op in host.ops]
