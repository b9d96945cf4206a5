"""How is a cluster drawn: rows of hosts, what went between them, and squares of many hosts?"""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtf.notebook.device_names import in_order
from nbtf.notebook.stills.device_facts import DeviceFacts, Flow, MapFacts, host_of, short_in_cluster
from nbtf.notebook.stills.device_map import device_map
from nbtf.notebook.stills.marks import Group, Path, texts_of
from tests.notebook.stills.longer_texts import longer_texts
from tests.notebook.stills.test_decision import overlaps
from tests.notebook.stills.test_device_map import WIDTHS


def card(host: int, number: int = 0) -> str:
    return f"/job:worker/task:{host}/GPU:{number}"


def facts_of(hosts: int, flows: list[Flow], cards: int = 2) -> MapFacts:
    devices = tuple(DeviceFacts(card(host, number)) for host in range(hosts) for number in range(cards))
    return MapFacts((DeviceFacts("CPU:0"),), devices, tuple(flows), 0, 0, 0)


def brackets(facts: MapFacts) -> list[str]:
    groups = [mark for mark in device_map(facts).marks if isinstance(mark, Group)]
    return [group.title for group in groups if isinstance(group.marks[0], Path)]


def words_of(facts: MapFacts) -> list[str]:
    return [text.words for text in texts_of(device_map(facts).marks)]


def test_a_device_is_told_with_its_host() -> None:
    assert ["worker/12", "worker/12 GPU:3", "", "GPU:3"] == [
        host_of(card(12, 3)),
        short_in_cluster(card(12, 3)),
        host_of("GPU:3"),
        short_in_cluster("GPU:3"),
    ]


def test_devices_are_in_the_order_of_their_tasks() -> None:
    names = ["GPU:0", card(10), "CPU:0", card(2, 11), card(2, 3), "/job:worker/task:2/CPU:0"]

    assert ["CPU:0", "GPU:0", "/job:worker/task:2/CPU:0", card(2, 3), card(2, 11), card(10)] == sorted(
        names, key=in_order
    )


def test_a_row_has_the_name_of_its_host_and_the_sum_of_its_cards() -> None:
    words = words_of(facts_of(2, [Flow(card(0), card(1), 1, 1 << 20), Flow(card(1), card(1, 1), 1, 1 << 20)]))

    assert "1 MiB" == words[words.index("worker/0") + 1]
    assert "3 MiB" == words[words.index("worker/1") + 1]


def test_between_two_hosts_is_one_bracket_for_all_their_cards() -> None:
    flows = [
        Flow(card(0), card(1), 2, 1 << 20),
        Flow(card(0, 1), card(1, 1), 2, 1 << 20),
        Flow(card(1), card(0), 1, 4096),
    ]

    assert ["worker/0 → worker/1: 2 MiB; worker/1 → worker/0: 4 KiB"] == brackets(facts_of(2, flows))


def test_inside_a_host_nothing_goes_between_hosts() -> None:
    facts = facts_of(2, [Flow(card(0), card(0, 1), 1, 1 << 20)])

    assert not brackets(facts)
    assert not [words for words in words_of(facts) if words.startswith("between hosts")]


@given(st.integers(2, 16), st.data())
def test_every_flow_between_hosts_is_drawn_or_counted(hosts: int, data: st.DataObject) -> None:
    ends = st.tuples(st.integers(0, hosts - 1), st.integers(0, hosts - 1))
    pairs = data.draw(st.lists(ends, unique=True, max_size=60))
    facts = facts_of(hosts, [Flow(card(source), card(target, 1), 1, 5000) for source, target in pairs], cards=2)
    hidden = [int(words.split()[0]) for words in words_of(facts) if words.endswith("not drawn")]

    assert len({frozenset(pair) for pair in pairs if pair[0] != pair[1]}) == len(brackets(facts)) + sum(hidden)


def test_many_hosts_are_squares() -> None:
    facts = facts_of(128, [Flow(card(0), card(127), 3, 1 << 20)], cards=8)
    words = words_of(facts)

    assert [f"worker/{host}" for host in range(128)] == [
        name for name in words if name.startswith("worker/") and " " not in name
    ]
    assert "between hosts: 3 copies, 1 MiB" in words


@pytest.mark.parametrize("hosts", [1, 2, 16, 17, 128])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("language", ["en", "ja", "zh_CN"])
def test_texts_of_a_cluster_are_inside_and_apart(
    hosts: int, width: float, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NBTF_LANG", language)
    facts = facts_of(hosts, [Flow(card(0), card(host), 3, 1 << 20) for host in range(1, hosts)], cards=3)
    for texts in (nullcontext(), longer_texts("deviceMap")):
        with texts:
            drawn = texts_of(device_map(facts, width).marks)

        outside = [text.words for text in drawn if text.begin < 0 or text.begin + text.width > width + 0.5]
        assert ([], []) == (outside, overlaps(drawn))


def test_the_alternative_text_of_a_thousand_devices_is_short() -> None:
    assert len(device_map(facts_of(128, [], cards=8)).title) < 10_000
