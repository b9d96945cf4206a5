"""Does looking at real cards find what is there, and leave them alone? A context costs some hundred MiB."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest

import nbtf as tf
from nbtf._devices import discovery, nvml
from nbtf._devices.cuda import probe as cuda_probe
from nbtf._runtime.context import Context, use_context
from nbtf.notebook.session import SESSIONS
from tests import fake_cupy
from tests.fake_cupy import FakeMachine
from tests.fake_nvml import FakeCard, FakeNVML
from tests.notebook.conftest import ENOUGH, Shell

LOOKS = (
    "%load_ext nbtf",
    "%devices",
    "%devices --physical",
    "%devices --live",
    "%gpu_memory",
    "%gpu_memory --live",
    "%gpu_memory --who",
    "%device",
    "%device cuda:1",
    "tf.runtime.devices()",
    "tf.notebook.MemoryView()",
)


@pytest.fixture
def cards(bare: Shell, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeMachine]:
    """Two cards that CuPy and NVML tell of, neither of them opened."""
    monkeypatch.setenv("NBTF_LIVE", "inline")
    monkeypatch.setattr(nvml, "strange_pids", lambda: "")
    described = [
        FakeCard(number, bus_id=f"00000000:0{5 + number}:00.0", processes=[(os.getpid(), None)]) for number in (0, 1)
    ]
    monkeypatch.setitem(sys.modules, "pynvml", FakeNVML(*described))  # type: ignore[arg-type]  # it stands for one
    with fake_cupy.installed(2) as machine:
        found = cuda_probe.look(lambda: sys.modules["cupy"], lambda library: None)
        monkeypatch.setattr(discovery, "real_cards", lambda environ: found.cards)
        with use_context(Context(environ={})):
            yield machine


def test_looking_opens_no_card(bare: Shell, cards: FakeMachine) -> None:
    opened = {line: set(cards.contexts) for line in LOOKS if (bare.run(line), cards.contexts)[1]}

    assert {} == opened
    assert ["GPU:0", "GPU:1"] == [one.name for one in tf.runtime.devices() if one.device_type == "GPU"]


def test_every_look_answers(bare: Shell, cards: FakeMachine) -> None:
    assert {} == {line: ran.error for line in LOOKS for ran in [bare.run(line)] if ran.error is not None}


def test_views_that_are_told_something_open_no_card(bare: Shell, cards: FakeMachine) -> None:
    bare.run("%load_ext nbtf")
    bare.run("view = tf.notebook.MemoryView()", "view")
    pump = SESSIONS[bare.ip].pump
    assert pump is not None

    pump.tick(wait=True, holders=True)

    assert (None, set()) == (pump.failure, cards.contexts)


def test_op_does_open_one(bare: Shell, cards: FakeMachine) -> None:
    bare.run("%load_ext nbtf", "")
    bare.run("with tf.device('GPU:1'):", "    x = tf.ones([2])")

    assert {1} <= cards.contexts


def test_tensors_on_a_card_are_found_by_name(bare: Shell, cards: FakeMachine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "nbtf.notebook.holders.table.SECONDS", ENOUGH
    )  # a busy computer searches for longer than people wait
    bare.run("%load_ext nbtf", "")
    bare.run("x = tf.ones([1000])")

    rows = bare.run("%gpu_memory --who").result.rows

    assert [("GPU:0", "[1000] float32", 4096, ["%xdel x"])] == [
        (row["device"], row["tensor"], row["nbytes"], row["frees"]) for row in rows if row["holder"] == "x"
    ]
    assert [] == [row for row in rows if row.get("library")]
