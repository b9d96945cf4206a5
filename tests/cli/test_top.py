"""Does `nbtf top` say what the cards do, whose they are and which are free, in a terminal and elsewhere?"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtf import runtime
from nbtf.cli import main
from nbtf.cli import top as command
from nbtf.cli.cards import Card, Holding, cards
from nbtf.cli.top import page
from nbtf.runtime import CardMonitor, ProcessOwner
from tests.fake_nvml import GIB, MIB, FakeCard, FakeNVML, NVMLError
from tests.machines import machine

OWNERS = {
    7: ProcessOwner(7, "ada", True, "python3", "~/lessons/06.ipynb", True, 3 * 3600.0),
    8: ProcessOwner(8, "bob"),
    9: ProcessOwner(9, "ada", True, "python3", None, True, 4.0),
    10: ProcessOwner(10, "ada", True, "train\x1b[2J", None),
}


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeNVML]:
    """A machine of three cards: one with four processes, two without any."""
    processes = [(7, 2 * GIB), (8, GIB), (9, 512 * MIB), (10, None)]
    fake = FakeNVML(FakeCard(0, processes=processes), FakeCard(1, used=MIB), FakeCard(2, used=MIB, utilization=0))
    monitor = CardMonitor(lambda: fake)
    monkeypatch.setattr(runtime, "CardMonitor", lambda: monitor)
    monkeypatch.setattr(runtime, "process_owner", OWNERS.__getitem__)
    monkeypatch.setattr("nbtf._devices.nvml.strange_pids", lambda: "")
    with machine(0):
        yield fake


def printed(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert 0 == main(["top", *options])
    return capsys.readouterr().out


def test_each_process_has_a_line_below_its_card(nvml: FakeNVML, capsys: pytest.CaptureFixture[str]) -> None:
    assert [
        "card  name       memory           busy  °C  W   whose",
        "0     NVIDIA L4  3 GiB of 24 GiB  34 %  61  72  "
        "your kernel of ~/lessons/06.ipynb (process 7), idle for 3 h: 2 GiB",
        f"{' ' * 48}process 8 of bob: 1 GiB",
        f"{' ' * 48}your kernel (process 9): 512 MiB",
        f"{' ' * 48}your process 10 (train\\x1b[2J)",
        "1     NVIDIA L4  1 MiB of 24 GiB  34 %  61  72  free",
        "2     NVIDIA L4  1 MiB of 24 GiB  0 %   61  72  free",
        "",
        "idle notebooks hold 2 GiB: ~/lessons/06.ipynb",
        "free: 1, 2",
    ] == printed(capsys).splitlines()


def test_nothing_steers_what_is_no_terminal(nvml: FakeNVML, capsys: pytest.CaptureFixture[str]) -> None:
    assert "\x1b" not in printed(capsys)


def test_processes_that_are_not_told_leave_memory_to_judge_by(
    nvml: FakeNVML, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("nbtf._devices.nvml.strange_pids", lambda: "a container")

    text = printed(capsys)

    assert 3 == text.count("unknown: a container")
    assert ["free, judging by memory only because processes are unknown: 0, 1, 2", "free: 2"] == text.splitlines()[-2:]


def test_figures_that_a_card_does_not_tell_are_dashes() -> None:
    bare = Card("0", "NVIDIA Thor", used=None, total=8 * GIB, utilization=3, holdings=())

    assert ["card  name         busy  whose", "0     NVIDIA Thor  3 %   free"] == page([bare]).splitlines()[:2]


def test_sixteen_cards_and_a_narrow_terminal() -> None:
    shown = [Card(str(number), "NVIDIA H100 80GB HBM3", used=0, total=80 * GIB) for number in range(16)]

    lines = page(shown, width=40).splitlines()

    assert 19 == len(lines)
    assert 40 >= max(map(len, lines))
    assert lines[-1].startswith("free: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10,")
    assert lines[-1].endswith("…")


def test_json_has_every_figure_as_a_plain_value(nvml: FakeNVML, capsys: pytest.CaptureFixture[str]) -> None:
    first, second, _ = json.loads(printed(capsys, "--json"))

    assert (3 * GIB, 24 * GIB, 34, False) == tuple(first[name] for name in ("used", "total", "utilization", "is_free"))
    assert [(7, 2 * GIB, True), (8, GIB, False), (9, 512 * MIB, False), (10, None, False)] == [
        (process["pid"], process["nbytes"], process["is_idle"]) for process in first["processes"]
    ]
    assert (True, []) == (second["is_free"], second["processes"])


def test_simulated_cards_are_said_to_be(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "CardMonitor", lambda: CardMonitor(lambda: FakeNVML(broken=NVMLError("no driver"))))
    with machine(2, model="Tesla K20m"):
        lines = printed(capsys).splitlines()

    assert ["GPU:0", "GPU:1"] == [line.split()[0] for line in lines[1:3]]
    assert all("Tesla K20m (simulated)" in line for line in lines[1:3])
    assert lines[-1].startswith("Simulated GPUs belong to this process")
    assert not any(line.startswith("free") for line in lines)


@pytest.mark.parametrize(
    ("fake", "reason"),
    [
        (FakeNVML(broken=NVMLError("Driver Not Loaded")), "Driver Not Loaded"),
        (FakeNVML(), "NVML lists none"),
    ],
    ids=["no driver", "no card"],
)
@pytest.mark.parametrize("name", ["top", "metrics"])
def test_machine_without_cards_says_why(
    name: str, fake: FakeNVML, reason: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(runtime, "CardMonitor", lambda: CardMonitor(lambda: fake))
    with machine(0):
        assert 2 == main([name])

    assert f"no GPU found: {reason}. Set NBTF_SIMULATED_GPUS=4" in capsys.readouterr().err


def test_card_that_is_lost_takes_no_other_along(nvml: FakeNVML, monkeypatch: pytest.MonkeyPatch) -> None:
    handle_of = nvml.nvmlDeviceGetHandleByIndex

    def lose_the_second(index: int) -> Any:
        if index == 1:
            raise NVMLError("GPU is lost")
        return handle_of(index)

    monkeypatch.setattr(nvml, "nvmlDeviceGetHandleByIndex", lose_the_second)

    assert ["0", "2"] == [card.label for card in cards(runtime.CardMonitor())]


def test_page_that_is_too_long_says_how_many_lines_are_missing(
    nvml: FakeNVML, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("shutil.get_terminal_size", lambda: os.terminal_size((60, 6)))

    command._draw(cards(runtime.CardMonitor()))

    lines = capsys.readouterr().out.split("\n")
    assert 6 == len(lines)
    assert "… 7 more lines: enlarge the terminal" in lines[-1]


def ended_by(end: Callable[[subprocess.Popen[bytes], int], object]) -> tuple[int, bytes, bool]:
    """Runs `nbtf top` in a terminal and ends it once it has drawn; whether the terminal is as before comes last."""
    pty = pytest.importorskip("pty", reason="Windows has no such terminals")
    import termios

    mine, its = pty.openpty()
    before = termios.tcgetattr(mine)
    environment = {**os.environ, "NBTF_SIMULATED_GPUS": "2", "TERM": "xterm", "CUDA_VISIBLE_DEVICES": "0,1"}
    words, root = [sys.executable, "-m", "nbtf", "top"], Path(__file__).parents[2]
    with subprocess.Popen(words, stdin=its, stdout=its, stderr=its, cwd=root, env=environment) as process:
        os.close(its)  # the next read fails where the program has ended
        written = b""
        while b"Simulated GPUs" not in written:
            written += os.read(mine, 4096)
        end(process, mine)
        while b"\x1b[?1049l" not in written:
            written += os.read(mine, 4096)
        same = termios.tcgetattr(mine) == before
    os.close(mine)
    return process.returncode, written, same


@pytest.mark.parametrize(
    "end",
    [lambda _, terminal: os.write(terminal, b"q"), lambda process, _: process.send_signal(signal.SIGINT)],
    ids=["q", "Ctrl-C"],
)
def test_terminal_is_left_as_it_was(end: Callable[[subprocess.Popen[bytes], int], object]) -> None:
    status, written, same = ended_by(end)

    assert (0, True) == (status, same)
    assert written.index(b"\x1b[?1049h") < written.index(b"Tesla V100-SXM2-16GB (simulated)")
    assert b"Traceback" not in written


def test_holding_is_idle_after_ten_minutes_alone() -> None:
    kernel = ProcessOwner(7, "ada", True, "python3", "a.ipynb", True)

    assert [False, False, True] == [Holding(kernel._replace(idle=idle), 1).is_idle for idle in (None, 599.0, 600.0)]
    assert not Holding(OWNERS[10]._replace(idle=4000.0), 1).is_idle
