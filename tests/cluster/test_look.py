"""What is said of a cluster whose workers have answered, or have not?"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nbtf as tf
from nbtf._cluster import look as look_file
from nbtf._devices.nvml import CardReading

GIB = 1 << 30


def card(number: int, host: str = "a", used: int = GIB, pids: tuple[int, ...] = ()) -> dict[str, Any]:
    reading = CardReading(number=number, name="NVIDIA L4", uuid=f"GPU-{host}-{number}", used=used, total=24 * GIB)
    processes = [(pid, 100) for pid in pids]
    return reading._asdict() | {"missing": {}, "processes": processes, "owners": [f"process {pid}" for pid in pids]}


def told(host: str = "a", pid: int = 1, cards: list[dict[str, Any]] | None = None, **more: Any) -> dict[str, Any]:
    return {"host": host, "pid": pid, "nbtf": "1", "cards": cards or [], "missing": None} | more


def look_with(answers: list[tuple[str, str, dict[str, Any]]]) -> tf.runtime.ClusterLook:
    return tf.runtime.ClusterLook(look_file._hosts([look_file._Answer(*answer) for answer in answers]))


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3)), max_size=8))
def test_a_card_that_several_workers_see_is_there_once(seen: list[tuple[str, int]]) -> None:
    answers = [
        (f"w{at}", f"tcp://10.0.0.{ord(host)}:{at}", told(host, at, [card(number, host)]))
        for at, (host, number) in enumerate(seen)
    ]

    look = look_with(answers)

    assert sorted({*seen}) == [(host.host, each.number) for host in look for each in host.cards]


def test_a_worker_that_does_not_answer_stands_beside_its_neighbours() -> None:
    answers = [
        ("w0", "tls://10.0.0.1:1", told("node-7")),
        ("w1", "tls://10.0.0.1:2", {"problem": "it did not answer within 2 s"}),
    ]

    look = look_with(answers)

    assert ["node-7"] == [host.host for host in look]
    assert "w1 (tls://10.0.0.1:2) did not report: it did not answer within 2 s." in repr(look)


def test_a_host_of_which_nobody_answers_is_there_by_its_address() -> None:
    look = look_with([("w0", "tls://10.0.0.9:1", {"problem": "silence"})])

    assert ["10.0.0.9"] == [host.host for host in look]


def test_a_key_stands_on_the_card_as_nvidia_smi_numbers_it() -> None:
    row = {"holder": "key 'x'", "library": "PyTorch", "device": "cuda:0", "uuid": "GPU-a-3", "nbytes": 7, "tensor": "t"}

    look = look_with([("w0", "tcp://10.0.0.1:1", told(cards=[card(3)], holders=[row]))])

    assert [("w0: key 'x'", "card 3", 7, "t")] == [*look[0].holders]


def test_processes_of_workers_go_by_their_names() -> None:
    look = look_with([("w0", "tcp://10.0.0.1:1", told(pid=41, cards=[card(0, pids=(41, 42))]))])

    assert ["worker w0, all of process 41", "process 42"] == [holder.holder for holder in look[0].holders]


def test_a_search_that_ran_out_of_time_says_so() -> None:
    look = look_with([("w0", "tcp://10.0.0.1:1", told(complete=False))])

    assert "w0: the search stopped after 2 s; there is more" in [holder.holder for holder in look[0].holders]


def test_why_a_host_has_no_cards_is_said() -> None:
    look = look_with([("w0", "tcp://10.0.0.1:1", told(missing="no driver"))])

    assert "a: cards unknown: no driver." in repr(look)


def test_without_dask_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    for module in ("dask_engine", "dask_workers"):
        monkeypatch.delitem(sys.modules, f"nbtf._cluster.{module}", raising=False)

    with pytest.raises(ImportError, match=r"distributed.*not installed.*\[cluster\]"):
        tf.runtime.look_at_cluster("tls://127.0.0.1:1")


@pytest.mark.skipif(not os.environ.get("CI"), reason="only continuous integration must have it")
def test_continuous_integration_skips_no_real_process() -> None:
    assert [] == [name for name in ("distributed", "cryptography") if find_spec(name) is None]
