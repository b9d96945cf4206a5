"""Is each card read by what it is, once a second at most, and is a figure that is missing only missing?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from nbtf._devices import nvml
from nbtf._devices.nvml import CardMonitor, CardProcess
from nbtf._install import pip_install
from tests.fake_nvml import GIB, MIB, FakeCard, FakeNVML, NVMLError

STRANGE_PIDS = nvml.strange_pids


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def monitor(*cards: FakeCard, **more: Any) -> tuple[CardMonitor, FakeNVML, Clock]:
    fake, clock = FakeNVML(*cards, **more), Clock()
    return CardMonitor(lambda: fake, clock), fake, clock


@pytest.fixture(autouse=True)
def own_pids(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvml, "strange_pids", lambda: "")


def test_all_facts_of_a_card_are_told() -> None:
    watch, _, _ = monitor(FakeCard(0, processes=[(17, 2 * GIB), (4, None)]))

    card = watch.card("GPU-00000000-aaaa-bbbb-cccc-dddddddddddd", None)

    assert (
        nvml.CardReading(
            number=0,
            name="NVIDIA L4",
            uuid="GPU-00000000-aaaa-bbbb-cccc-dddddddddddd",
            bus_id="0000:80:00.0",
            driver="580.65.06",
            total=24 * GIB,
            used=3 * GIB,
            free=21 * GIB - 512 * MIB,
            reserved=512 * MIB,
            utilization=34,
            temperature=61,
            power=72.3,
            processes=(CardProcess(17, 2 * GIB), CardProcess(4, None)),
            missing={},
        )
        == card
    )


def test_card_is_found_by_uuid_whatever_its_number() -> None:
    watch, _, _ = monitor(FakeCard(0), FakeCard(1))

    assert 1 == watch.card(FakeCard(1).uuid, "0000:80:00.0").number


def test_card_without_a_known_uuid_is_found_by_its_address() -> None:
    watch, _, _ = monitor(FakeCard(0), FakeCard(1))

    assert [1, 1] == [watch.card(uuid, "0000:81:00.0").number for uuid in (None, "GPU-of-somebody-else")]


def test_card_that_is_not_there_has_a_reason_for_every_figure() -> None:
    watch, _, _ = monitor(FakeCard(0))

    card = watch.card("GPU-gone", "0000:ff:00.0")

    assert (None, None, "Not Found") == (card.used, card.processes, card.missing["temperature"])


def test_part_of_a_card_is_found_by_its_16_bytes() -> None:
    part = FakeCard(0, uuid="MIG-12345678-aaaa", total=5 * GIB, used=GIB, reserved=0, utilization=None)
    watch, _, _ = monitor(FakeCard(0, parts=[part]))

    card = watch.card("GPU-12345678-aaaa", None)

    assert (5 * GIB, GIB, None, "Not Supported") == (
        card.total,
        card.used,
        card.utilization,
        card.missing["utilization"],
    )


def test_part_that_this_process_was_given_stands_for_its_card(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [FakeCard(0, uuid=f"MIG-{number}", total=(5 + number) * GIB) for number in (0, 1)]
    watch, _, _ = monitor(FakeCard(0, parts=parts))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "MIG-1")

    assert 6 * GIB == watch.card(None, "0000:80:00.0").total


def test_used_is_what_nvidia_smi_shows_whether_or_not_the_call_counts_the_reserve() -> None:
    watch, fake, _ = monitor(FakeCard(0))
    real = fake.nvmlDeviceGetMemoryInfo

    def counting(card: FakeCard, version: int | None = None) -> Any:
        found = real(card, version)
        found.used += card.reserved
        return found

    fake.nvmlDeviceGetMemoryInfo = counting

    assert 3 * GIB == watch.card(None, "0000:80:00.0").used


def test_old_release_tells_used_and_reserve_together() -> None:
    watch, fake, _ = monitor(FakeCard(0))
    fake.nvmlMemory_v2 = None  # type: ignore[assignment]  # an old release does not have it

    card = watch.card(None, "0000:80:00.0")

    assert (3 * GIB + 512 * MIB, None) == (card.used, card.reserved)
    assert {"reserved"} == set(card.missing)


@pytest.mark.parametrize(
    ("figure", "field"),
    [
        ("name", "name"),
        ("uuid", "uuid"),
        ("bus_id", "bus_id"),
        ("used", "used"),
        ("utilization", "utilization"),
        ("temperature", "temperature"),
        ("milliwatts", "power"),
        ("processes", "processes"),
    ],
)
def test_figure_that_is_missing_leaves_the_others(figure: str, field: str) -> None:
    watch, _, _ = monitor(FakeCard(0, **{figure: None}))

    [card] = watch.cards()

    assert (None, "Not Supported") == (getattr(card, field), card.missing[field])
    assert "580.65.06" == card.driver


def test_card_is_read_once_a_second_and_its_processes_every_five() -> None:
    watch, fake, clock = monitor(FakeCard(0))

    for _ in range(30):
        watch.card(None, "0000:80:00.0")
        clock.now += 0.25

    assert (8, 2) == (fake.calls["nvmlDeviceGetMemoryInfo"], fake.calls["nvmlDeviceGetComputeRunningProcesses"])
    assert (1, 1) == (fake.calls["nvmlInit"], fake.calls["nvmlDeviceGetHandleByPciBusId"])


def test_reading_on_demand_is_new() -> None:
    watch, fake, _ = monitor(FakeCard(0))

    watch.card(None, "0000:80:00.0")
    fake.cards[0].used = 5 * GIB

    assert 5 * GIB == watch.card(None, "0000:80:00.0", age=0).used


def test_library_that_does_not_start_says_why_and_is_asked_again_after_a_second() -> None:
    watch, fake, clock = monitor(broken=NVMLError("Driver Not Loaded"))

    said = [watch.missing, watch.cards(), watch.card("GPU-1", None).missing["used"], watch.driver()]
    fake.broken = None
    soon, clock.now = watch.missing, 101.0

    assert ["Driver Not Loaded", [], "Driver Not Loaded", None] == said
    assert ("Driver Not Loaded", None) == (soon, watch.missing)


def test_module_that_is_not_installed_says_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)

    assert f"NVML's Python module is not installed: {pip_install('nvml')}" == CardMonitor().missing


def test_process_in_a_container_is_not_taken_for_another_with_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvml, "strange_pids", lambda: "this is a container")
    watch, fake, _ = monitor(FakeCard(0, processes=[(1, GIB)]))

    [card] = watch.cards()

    assert (None, "this is a container") == (card.processes, card.missing["processes"])
    assert "nvmlDeviceGetComputeRunningProcesses" not in fake.calls


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has namespaces of process numbers")
def test_namespace_of_process_numbers_is_told_by_its_name(tmp_path: Path) -> None:
    for name in ("pid:[4026531836]", "pid:[4026532999]"):
        (tmp_path / name).symlink_to(name)

    told = [bool(STRANGE_PIDS(str(tmp_path / name))) for name in ("pid:[4026531836]", "pid:[4026532999]", "no")]

    assert [False, True, True] == told


def test_closed_monitor_lets_go_and_starts_again() -> None:
    watch, fake, _ = monitor(FakeCard(0))
    watch.cards()
    watch.close()

    assert (1, [0]) == (fake.calls["nvmlShutdown"], [card.number for card in watch.cards()])
