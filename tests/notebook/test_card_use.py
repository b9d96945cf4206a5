"""Are the figures of a real card apart from each other, and do they add up to what nvidia-smi shows?"""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace

import pytest

from nbtf import runtime
from nbtf._devices import nvml
from nbtf._install import pip_install
from nbtf.notebook.session import SESSIONS
from nbtf.notebook.views.feed import Feed
from tests.fake_nvml import GIB, MIB, FakeCard, NVMLError
from tests.notebook.conftest import Shell
from tests.notebook.real_cards import gpu, one_busy_card, started, use_cards

# %gpu_memory


def test_figures_of_a_real_card_stand_apart(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    one_busy_card(shell, monkeypatch)

    [row] = shell.run("%gpu_memory").result.to_dict()["rows"]

    assert [256 * MIB, GIB, 1400 * MIB, 2010 * MIB] == [row[name] for name in ("in_use", "pool", "process", "whole")]


def test_memory_of_a_real_card_adds_up_to_what_nvidia_smi_shows(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    one_busy_card(shell, monkeypatch)

    assert [
        "card 5 (0000:85:00.0): nvidia-smi shows 2,010 of 24,576 MiB = 1,024 MiB pool of nbtf + "
        "376 MiB context and libraries of this process + 600 MiB 2 other processes + "
        "10 MiB not assigned to any process."
    ] == shell.run("%gpu_memory").result.notes


def test_pools_of_other_libraries_are_terms_of_their_own(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    one_busy_card(shell, monkeypatch)
    monkeypatch.setattr("nbtf.notebook.card_use._pools", lambda device: (("PyTorch", 200 * MIB),))

    [note] = shell.run("%gpu_memory").result.notes

    assert "1,024 MiB pool of nbtf + 200 MiB pool of PyTorch + 176 MiB context and libraries" in note


def test_memory_that_others_lent_is_called_external(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    card = FakeCard(0, used=GIB, processes=[(os.getpid(), GIB)])
    use_cards(shell, monkeypatch, [gpu(0, card, cuda=0, external=3 * MIB, **started(MIB, 100 * MIB))], card)

    [note] = shell.run("%gpu_memory").result.notes

    assert note.endswith(". Tensors share 3 MiB with other libraries (external).")


def test_two_gpus_on_a_card_make_one_sum(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    card = FakeCard(0, used=GIB, processes=[(os.getpid(), GIB)])
    both = [gpu(number, card, cuda=0, **started(MIB, 100 * MIB)) for number in (0, 1)]
    use_cards(shell, monkeypatch, both, card)

    [note] = shell.run("%gpu_memory").result.notes

    assert "= 200 MiB pool of nbtf + 824 MiB context and libraries of this process" in note


def test_in_a_container_the_rest_is_one_term_and_says_why(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    one_busy_card(shell, monkeypatch)
    monkeypatch.setattr(nvml, "strange_pids", lambda: "this container has its own process numbers")

    [note] = shell.run("%gpu_memory").result.notes

    assert note.endswith(
        "= 1,024 MiB pool of nbtf + 986 MiB context of this process, and other processes. These cannot be separated: "
        "memory per process is not reported (this container has its own process numbers)."
    )


@pytest.mark.parametrize(
    ("processes", "why"),
    [
        ([(700_001, MIB)], "the driver does not list this process"),
        ([(os.getpid(), None)], "memory per process is not reported"),
        (None, "memory per process is not reported (Not Supported)"),
    ],
)
def test_process_that_the_driver_does_not_tell_is_no_guess(
    processes: object, why: str, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = FakeCard(0, processes=processes)
    use_cards(shell, monkeypatch, [gpu(0, card, **started(MIB, 2 * MIB))], card)

    table = shell.run("%gpu_memory").result

    assert None is table.rows[0]["process"]
    assert table.notes[0].endswith(f"These cannot be separated: {why}.")


def test_figures_of_two_moments_that_do_not_add_up_say_so(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    card = FakeCard(0, used=GIB, processes=[(os.getpid(), 500 * MIB)])
    use_cards(shell, monkeypatch, [gpu(0, card, **started(MIB, 600 * MIB))], card)

    [note] = shell.run("%gpu_memory").result.notes

    assert "shows 1,024 of 24,576 MiB ≈ 600 MiB pool of nbtf + 524 MiB not assigned" in note


def test_without_nvml_the_table_has_nbtfs_figures_and_says_what_to_install(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    device, _ = one_busy_card(shell, monkeypatch)
    monkeypatch.setattr(SESSIONS[shell.ip].monitor, "_load", runtime.CardMonitor()._load)
    monkeypatch.setitem(sys.modules, "pynvml", None)

    table = shell.run("%gpu_memory").result

    assert (device.in_use, None, None) == tuple(table.rows[0][name] for name in ("in_use", "process", "whole"))
    why = f"NVML's Python module is not installed: {pip_install('nvml')}"
    assert table.notes[0].endswith(f"is unknown: the card's memory is not reported ({why}).")


def test_cards_that_nbtf_cannot_use_are_told_all_the_same(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    use_cards(shell, monkeypatch, [], FakeCard(0, processes=None))

    assert [
        "card 0 (0000:80:00.0): nvidia-smi shows 3,072 of 24,576 MiB = 3,072 MiB context of this process, and other "
        "processes. These cannot be separated: memory per process is not reported (Not Supported).",
    ] == shell.run("%gpu_memory").result.notes


def test_table_of_cards_that_nbtf_cannot_use_says_which_are_free(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    busy = FakeCard(0, used=600 * MIB, processes=[(700_001, 500 * MIB)])
    use_cards(shell, monkeypatch, [], busy, FakeCard(1, used=0), FakeCard(2, used=0))

    table = shell.run("%gpu_memory").result

    assert [("card 0", 600 * MIB), ("card 1", 0), ("card 2", 0)] == [
        (row["device"], row["whole"]) for row in table.rows
    ]
    assert "No process uses card 1, card 2." == table.notes[0]
    assert ["CPU:0", "card 0", "card 1", "card 2"] == [
        row["physical"] for row in shell.run("%devices --physical").result.rows
    ]


def test_simulated_cards_are_shown_without_it(shell: Shell) -> None:
    shell.run("x = tf.ones([4])")
    table = shell.run("%gpu_memory").result

    assert ([], False) == (table.notes, {"process", "whole"} <= set(table.rows[0]))


# The view


def test_view_of_a_real_card_is_told_its_figures(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    one_busy_card(shell, monkeypatch)

    [_, told] = Feed(SESSIONS[shell.ip]).state(busy=False)["devices"]

    real = told["real"]
    assert (5, 2010 * MIB, 1400 * MIB, 376 * MIB) == (told["card"], real["used"], real["process"], real["context"])
    assert (600 * MIB, 2, 10 * MIB, 34, 61, 72) == tuple(
        real[name] for name in ("others", "other_processes", "rest", "utilization", "temperature", "watts")
    )


def test_view_hears_of_others_once_a_second_while_nothing_runs(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    _, fake = one_busy_card(shell, monkeypatch)
    feed, session, clock = Feed(SESSIONS[shell.ip]), SESSIONS[shell.ip], SimpleNamespace(now=50.0)
    monkeypatch.setattr("nbtf.notebook.card_use.time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(session.monitor, "_clock", lambda: clock.now)

    feed.state(busy=False)
    fake.cards[1].used = 3 * GIB
    at_once = feed.changed(busy=False)
    clock.now += 1.0

    assert (False, True) == (at_once, feed.changed(busy=False))


def test_nobody_who_looks_means_nobody_who_reads(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    _, fake = one_busy_card(shell, monkeypatch)

    shell.run("1")

    assert {} == fake.calls


# Names


def test_answers_call_a_real_card_by_all_its_names(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    one_busy_card(shell, monkeypatch)

    table = shell.run("%devices").result

    named = "cuda:0 = GPU:0 here = card 5 (0000:85:00.0)"
    assert named in table.notes
    assert (5, 0) == (table.rows[1]["card"], table.rows[1]["cuda"])
    assert f"{named}: automatic, the lowest-numbered GPU" == repr(shell.run("%device").result)
    assert f"default device: GPU:0 (was auto); {named}\n" == shell.run("%device cuda:0").out
    assert f"{named}: the default device of this session" == repr(shell.run("%device").result)


def test_nvml_that_fails_leaves_the_magics_alone(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    card = FakeCard(0)
    use_cards(shell, monkeypatch, [gpu(0, card)], card, broken=NVMLError("Driver Not Loaded"))

    assert "the figure of nvidia-smi is unknown: the card's memory is not reported (Driver Not Loaded)." in repr(
        shell.run("%gpu_memory").result
    )
    assert "cuda:0 = GPU:0 here (0000:80:00.0)" in repr(shell.run("%devices").result)
