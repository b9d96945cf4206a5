"""For which ops does the host wait for the card? The card is fake: no GPU code is executed."""

from __future__ import annotations

from typing import Any

import pytest

from nbtf._devices.cuda.device import CudaGPU
from nbtf._runtime.context import CURRENT
from tests.devices.test_cupy_surface import WAITING
from tests.fake_cupy.devices import fake_context
from tests.fake_cupy.machine import MACHINE
from tests.ops.test_every_op import SAMPLES, run

SHAPES = {
    **dict.fromkeys(
        ("DynamicPartition", "UniqueV2", "UniqueWithCounts", "UniqueWithCountsV2", "Where"),
        "the values decide how much comes out",
    ),
    **dict.fromkeys(("StatelessTruncatedNormalV2", "TruncatedNormal"), "what is beyond the cut is drawn again"),
    "StatelessRandomGammaV3": "what is not accepted is drawn again",
}
FAILURES = {
    "Cholesky": "whether it failed is known when it is done",
    "HistogramFixedWidth": "the range decides whether it fails",
}


def test_the_host_waits_for_these_ops_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: set[str] = set()
    run_of_device = CudaGPU.run

    def looking(self: CudaGPU, op: Any, *args: Any) -> Any:
        before = len(MACHINE.diary)
        made = run_of_device(self, op, *args)
        if any(step[0] == "sync" for step in MACHINE.diary[before:]):
            waited.add(op.type)
        return made

    monkeypatch.setattr(CudaGPU, "run", looking)
    with fake_context():
        for sample in SAMPLES:
            run(sample, CURRENT.context)

    assert {*WAITING, *SHAPES, *FAILURES} == waited
