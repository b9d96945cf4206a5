"""Notes share what they say of the same op: not beyond a change of the devices."""

from __future__ import annotations

import random
from typing import Any

import pytest

import nbtf as tf

torch = pytest.importorskip("torch")

from nbtf._frameworks.torch.cards import CARDS  # noqa: E402  # after the skip


def _change(choice: random.Random) -> None:
    tf.runtime.restart()
    count = choice.randrange(3)
    tf.runtime.simulate_gpus(count, model=choice.choice(["T4", "A100-40GB"]) if count else None, **_sharing(choice))


def _sharing(choice: random.Random) -> dict[str, Any]:
    return {"frameworks": "torch"} if choice.random() < 0.6 else {}


@pytest.mark.parametrize("seed", range(6))
def test_an_op_is_told_on_the_device_that_there_is_now(seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    choice = random.Random(seed)
    try:
        with tf.runtime.watch("torch"):
            for _ in range(12):
                if choice.random() < 0.5:
                    _change(choice)
                count = torch.cuda.device_count()
                device = torch.device("cuda", choice.randrange(count)) if count else torch.device("cpu")
                with tf.runtime.recording() as record:
                    _ = torch.ones(choice.choice([2, 3]), device=device)

                executed = [event for event in record.events if isinstance(event, tf.runtime.OpExecuted)]
                card = CARDS.of(device)
                assert [(event.device, event.timing) for event in executed] == [(card.name, card.timing)] * len(
                    executed
                )
                assert executed
    finally:
        tf.runtime.restart()
        tf.runtime.simulate_gpus(0)
