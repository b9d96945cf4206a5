"""Is every layout of `nvidia-smi` read, and does the report say who holds each card?"""

from __future__ import annotations

from random import Random

import pytest

from nbtf._error_texts.cleaning import Text
from nbtf._error_texts.nvidia_smi import outputs, tables
from nbtf._error_texts.recognition import explain
from nbtf.notebook.error_reports.text import report
from tests.rings import seeds

MIB = 1 << 20

BEFORE_2020 = """\
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 440.64       Driver Version: 440.64       CUDA Version: 10.2     |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|===============================+======================+======================|
|   0  {name:<19}{mode:>4}  | 00000000:3B:00.0 Off |                    0 |
| N/A   36C    P0    27W / 250W | {used:>6}MiB / {total:>5}MiB |    {busy:>3}%      Default |
+-------------------------------+----------------------+----------------------+

+-----------------------------------------------------------------------------+
| Processes:                                                       GPU Memory |
|  GPU       PID   Type   Process name                             Usage      |
|=============================================================================|
|    0  {pid:>8}      C   {process:<37}{held:>8}MiB |
+-----------------------------------------------------------------------------+"""

FROM_450 = """\
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 470.82.01    Driver Version: 470.82.01    CUDA Version: 11.4     |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|                               |                      |               MIG M. |
|===============================+======================+======================|
|   0  {name:<19}{mode:>4}  | 00000000:00:1E.0 Off |                    0 |
| 30%   41C    P2    60W / 300W | {used:>6}MiB / {total:>5}MiB |    {busy:>3}%      Default |
|                               |                      |                  N/A |
+-------------------------------+----------------------+----------------------+

+-----------------------------------------------------------------------------+
| Processes:                                                                  |
|  GPU   GI   CI        PID   Type   Process name                  GPU Memory |
|        ID   ID                                                   Usage      |
|=============================================================================|
|    0   N/A  N/A  {pid:>8}      C   {process:<24}  {held:>8}MiB |
+-----------------------------------------------------------------------------+"""

FROM_530 = """\
+---------------------------------------------------------------------------------------+
| NVIDIA-SMI 535.54.03              Driver Version: 535.54.03    CUDA Version: 12.2     |
|-----------------------------------------+----------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |         Memory-Usage | GPU-Util  Compute M. |
|                                         |                      |               MIG M. |
|=========================================+======================+======================|
|   0  {name:<28}{mode:>5}  | 00000000:65:00.0 Off |                  N/A |
|  0%   38C    P8              12W / 350W | {used:>6}MiB / {total:>5}MiB |    {busy:>3}%      Default |
|                                         |                      |                  N/A |
+-----------------------------------------+----------------------+----------------------+

+---------------------------------------------------------------------------------------+
| Processes:                                                                            |
|  GPU   GI   CI        PID   Type   Process name                            GPU Memory |
|        ID   ID                                                             Usage      |
|=======================================================================================|
|    0   N/A  N/A  {pid:>8}    C+G   {process:<36}{held:>8}MiB |
+---------------------------------------------------------------------------------------+"""

FROM_550 = """\
Mon Jan  6 10:11:12 2025
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 570.86.10              Driver Version: 570.86.10      CUDA Version: 12.8     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  {name:<28}{mode:>5}  |   00000000:0A:00.0 Off |                    0 |
| N/A   33C    P0             68W /  400W |  {used:>7}MiB /  {total:>6}MiB |    {busy:>3}%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+

+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|    0   N/A  N/A        {pid:>8}      C   {process:<32}{held:>8}MiB |
+-----------------------------------------------------------------------------------------+"""

LAYOUTS = {"440": BEFORE_2020, "470": FROM_450, "535": FROM_530, "570": FROM_550}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seed", seeds(60))
def test_figures_that_were_put_in_come_out(layout: str, seed: int) -> None:
    random = Random(seed)
    total = random.choice([11_178, 24_576, 81_559])
    used = random.randrange(total)
    name, pid = random.choice(["Tesla T4", "NVIDIA A100-SXM...", "GeForce GTX 108..."]), random.randrange(2, 4_194_304)
    process, held = random.choice(["python3", "...conda3/bin/python", "/usr/bin/app -x"]), random.randrange(used + 1)
    busy = random.randrange(101)
    values = {"name": name, "used": used, "total": total, "pid": pid, "process": process, "held": held, "busy": busy}
    text = LAYOUTS[layout].format(mode=random.choice(["On", "Off"]), **values)
    (output,) = outputs(Text(text))
    (card,) = output.cards

    assert layout == output.driver.partition(".")[0]
    assert (0, name, used * MIB, total * MIB, busy) == (card.number, card.name, card.used, card.total, card.busy)
    assert card.processes is not None
    assert [(str(pid), process, held * MIB)] == [(each.pid, each.name, each.nbytes) for each in card.processes]


def test_the_report_names_who_holds_the_card_and_what_is_not_listed() -> None:
    text = FROM_550.format(
        name="NVIDIA H200", mode="On", used=90_000, total=143_771, busy=100, pid=77, process="a", held=60_000
    )
    shown = report(explain(text), "en")

    assert "a (77): 58.59 GiB" in shown
    assert "used − listed processes = 87.89 GiB − 58.59 GiB = 29.30 GiB" in shown  # noqa: RUF001
    assert "do not explain 29.30 GiB" in shown
    assert "12.8" in shown


def test_cards_of_one_output_are_told_apart() -> None:
    row = "|   {n}  Tesla V100-SXM2...  On   | 00000000:0{n}:00.0 Off |                    0 |\n"
    row += "| N/A   38C    P0    49W / 300W | {used}MiB / 32478MiB |      {busy}%      Default |\n"
    text = "| NVIDIA-SMI 450.51       Driver Version: 450.51       CUDA Version: 11.0     |\n"
    text += row.format(n=0, used="30000", busy=99) + row.format(n=1, used="    3", busy=0)
    text += row.format(n=2, used="12000", busy=0) + "| Processes:      |\n"
    text += "|    0   N/A  N/A      4242      C   python                          29990MiB |\n"
    text += "|    2   N/A  N/A      4343      C   python                          11990MiB |\n"
    causes = [finding.causes[0].name for finding in explain(text).findings]

    assert ["smiInUse", "smiFree", "smiLeftover"] == causes


@pytest.mark.parametrize(("used", "card"), [([30_000], None), ([30_000, 31_000], None), ([30_000, 9, 3], 2)])
def test_only_a_card_with_more_free_memory_is_suggested(used: list[int], card: int | None) -> None:
    text = "| NVIDIA-SMI 450.51       Driver Version: 450.51       CUDA Version: 11.0     |\n"
    for number, mib in enumerate(used):
        text += f"|   {number}  Tesla V100-SXM2...  On   | 00000000:0{number}:00.0 Off |                    0 |\n"
        text += f"| N/A   38C    P0    49W / 300W | {mib:5}MiB / 32478MiB |      99%      Default |\n"
    text += "| Processes:      |\n"
    text += "|    0   N/A  N/A      4242      C   python                          29990MiB |\n"
    lines = [action.line for action in explain(text).findings[0].actions]

    end = ["ps -o pid,etime,user,args -p 4242", "kill 4242"]
    assert lines == ([] if card is None else [f"CUDA_VISIBLE_DEVICES={card} python program.py"]) + end


def test_on_windows_memory_of_processes_is_not_reported() -> None:
    text = (
        "| NVIDIA-SMI 560.94                 Driver Version: 560.94         CUDA Version: 12.6     |\n"
        "|   0  NVIDIA GeForce RTX 4070      WDDM  |   00000000:01:00.0  On |                  N/A |\n"
        "| 30%   45C    P8             12W /  200W |   6000MiB /  12282MiB |      4%      Default |\n"
        "| Processes:                                                                              |\n"
        "|    0   N/A  N/A            5544    C+G   ...crosoft\\Edge\\msedge.exe      N/A      |\n"
    )
    (finding,) = explain(text).findings

    assert "smiNotReportedCause" == finding.causes[0].name
    assert {"smiNotReported"} == {statement.name for statement in finding.arithmetic}


def test_csv_is_read_with_and_without_units() -> None:
    head = "index, name, driver_version, memory.total [MiB], memory.used [MiB], utilization.gpu [%]"
    text = f"{head}\n0, Tesla T4, 535.1, 15360 MiB, 15000 MiB, 97 %\n1, Tesla T4, 535.1, 15360 MiB, 3 MiB, 0 %\n"
    plain = text.replace(" MiB\n", "\n").replace(" MiB,", ",").replace(" %\n", "\n")
    (output,), (without_units,) = tables(Text(text)), tables(Text(plain))

    assert [(0, 15_000 * MIB, 97), (1, 3 * MIB, 0)] == [(card.number, card.used, card.busy) for card in output.cards]
    assert output.cards == without_units.cards
    assert ["smiNoList", "smiFree"] == [finding.causes[0].name for finding in explain(text).findings]


def test_another_csv_is_not_recognised() -> None:
    assert [] == [*tables(Text("name, memory, price\nT4, 16 GB, 3\n"))]
    assert not explain("name,epoch,loss\na,1,0.5\n").findings
