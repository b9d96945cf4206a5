"""Which real GPUs are found, and what is said where there are none. The cards are fake."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Iterator
from typing import Any, NoReturn

import pytest

from nbtf._devices.catalog import find_card
from nbtf._devices.cuda import probe as cuda_probe
from nbtf._devices.cuda.probe import Probe, ask, hidden, look, probe
from tests import fake_cupy
from tests.fake_cupy.machine import FakeMachine


@pytest.fixture(autouse=True)
def machine() -> Iterator[FakeMachine]:
    with fake_cupy.installed(2) as made:
        cuda_probe.forget()
        yield made
    cuda_probe.forget()


def a_driver(name: str) -> object:
    return name


def no_driver(name: str) -> NoReturn:
    raise OSError(f"{name}: cannot open shared object file")


def load() -> Any:
    return fake_cupy


def never() -> NoReturn:
    raise AssertionError("CuPy was imported for nothing")


@pytest.mark.parametrize(
    ("environ", "reason"),
    [
        ({"NBTF_GPU": "off"}, "NBTF_GPU is off."),
        ({"NBTF_GPU": " OFF "}, "NBTF_GPU is off."),
        ({"NBTF_GPU": "auto"}, ""),
        ({"CUDA_VISIBLE_DEVICES": ""}, "CUDA_VISIBLE_DEVICES is '', which hides every GPU."),
        ({"CUDA_VISIBLE_DEVICES": "-1"}, "CUDA_VISIBLE_DEVICES is '-1', which hides every GPU."),
        ({"CUDA_VISIBLE_DEVICES": "NoDevFiles"}, "CUDA_VISIBLE_DEVICES is 'NoDevFiles', which hides every GPU."),
        ({"CUDA_VISIBLE_DEVICES": "1,0"}, ""),
        ({}, ""),
    ],
)
def test_settings_may_hide_every_gpu(environ: dict[str, str], reason: str) -> None:
    assert reason == hidden(environ)


def test_without_cupy_nothing_else_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_probe, "find_spec", lambda name: None)

    assert Probe((), "CuPy is not installed.") == look(never, no_driver)


def test_without_a_driver_cupy_is_not_imported() -> None:
    found = look(never, no_driver)

    assert ((), "There is no NVIDIA driver") == (found.cards, found.reason.partition(":")[0])


def test_a_cupy_that_cannot_be_imported_is_told_in_its_own_words() -> None:
    def broken() -> NoReturn:
        raise ImportError("libcudart.so.12: version mismatch")

    assert "CuPy cannot be imported: ImportError: libcudart.so.12: version mismatch" == look(broken, a_driver).reason


def test_what_cupy_warns_of_is_kept_and_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    def loud() -> Any:
        warnings.warn("CuPy may not function correctly because multiple CuPy packages are installed", stacklevel=1)
        return fake_cupy

    found = look(loud, a_driver)

    assert 1 == len(found.warnings)
    assert "multiple CuPy packages" in found.warnings[0]
    assert ("", "") == capsys.readouterr()


def test_a_driver_that_is_too_old_is_told(machine: FakeMachine) -> None:
    machine.available = False

    assert ((), True) == (look(load, a_driver).cards, "cudaErrorInsufficientDriver" in look(load, a_driver).reason)


def test_a_cupy_that_is_too_old_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fake_cupy, "__version__", "13.6.0")

    assert "CuPy 13.6.0 is too old: nbtf needs CuPy 14 or newer." == look(load, a_driver).reason


def test_cards_are_listed_without_a_context(machine: FakeMachine) -> None:
    found = look(load, a_driver)

    assert ["0000:05:00.0", "0000:06:00.0"] == [card.bus_id for card in found.cards]
    assert [0, 1] == [card.ordinal for card in found.cards]
    assert {False} == {card.simulated for card in found.cards}
    assert "GPU-01010101-0101-0101-0101-010101010101" == found.cards[1].uuid
    assert set() == machine.contexts


def test_a_known_card_brings_its_rates_and_the_driver_its_memory(machine: FakeMachine) -> None:
    known = find_card("H200")
    machine.cards[0].name, machine.cards[0].memory = known.name, 140 << 30

    card = ask(fake_cupy).cards[0].card

    assert (known.memory_bandwidth, known.peak_flops, 140 << 30) == (
        card.memory_bandwidth,
        card.peak_flops,
        card.memory_bytes,
    )


def test_cards_have_the_numbers_of_nvidia_smi_whatever_cuda_numbers_first(
    machine: FakeMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuda_probe, "_bus_ids_of_the_machine", lambda: ["0000:02:00.0", "0000:05:00.0", "0000:06:00.0"])
    machine.cards.reverse()

    assert [2, 1] == [card.machine_index for card in ask(fake_cupy).cards]


def test_the_ladder_is_climbed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    climbed: list[int] = []
    monkeypatch.setattr(cuda_probe, "look", lambda: climbed.append(1) or ask(fake_cupy))

    assert 2 == len(probe({}).cards) == len(probe({}).cards)
    assert () == probe({"NBTF_GPU": "off"}).cards
    assert [1] == climbed


def test_a_forked_process_is_told_why_it_has_no_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_probe, "look", lambda: ask(fake_cupy))
    probe({})
    monkeypatch.setattr(cuda_probe._FOUND, "process", -1)

    assert ((), True) == (probe({}).cards, "forked" in probe({}).reason)


def test_looking_prints_nothing_and_leaves_cupy_alone_where_there_is_none() -> None:
    code = "import sys, nbtf; nbtf.config.list_physical_devices(); sys.exit('cupy' in sys.modules and 3)"
    environ = {"NBTF_GPU": "off"}
    ran = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, env=environ)

    assert (0, "", "") == (ran.returncode, ran.stdout, ran.stderr)
