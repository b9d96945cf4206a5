"""Do all ops run on a real GPU, with the numbers of the CPU? The card is fake: no GPU code is executed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from nbtf._runtime.context import CURRENT, Context
from tests.fake_cupy.devices import fake_context
from tests.fake_cupy.machine import FakeMachine
from tests.ops.samples import Sample, samples_of_each_op
from tests.ops.test_every_op import run

each_op = pytest.mark.parametrize("sample", samples_of_each_op(), ids=str)


@pytest.fixture
def machine() -> Iterator[FakeMachine]:
    with fake_context() as made:
        yield made


@each_op
def test_a_gpu_gives_the_bits_of_the_cpu(sample: Sample, machine: FakeMachine) -> None:
    on_gpu = run(sample, CURRENT.context)

    assert run(sample, Context(environ={"NBTF_GPU": "off"})) == on_gpu


@each_op
def test_a_gpu_gets_its_memory_back(sample: Sample, machine: FakeMachine) -> None:
    context = CURRENT.context
    run(sample, context)  # the first run leaves what a device makes once
    memory = context.devices.first.memory
    assert memory is not None
    before = memory.level()[0]
    run(sample, context)

    assert before == memory.level()[0]
