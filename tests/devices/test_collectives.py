"""What do all-reduce algorithms send, and do their times follow the closed formulas?"""

from collections import Counter
from math import ceil, log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtf._devices.collectives import ALGORITHMS, AUTO, HIERARCHICAL, RING, STAR, TREE, Plan, plan
from nbtf._devices.links import Link, Network
from tests.machines import worker

LATENCY, BANDWIDTH = 14e-6, 12.5e9
EQUAL = Network(*[Link("", LATENCY, BANDWIDTH, "")] * 3)
TWO_SPEEDS = Network(Link("", 3e-6, 450e9, ""), Link("", 5e-6, 450e9, ""), Link("", LATENCY, BANDWIDTH, ""))

counts = st.integers(2, 40)
sizes = st.integers(1, 10**9)
hosts = st.lists(st.integers(1, 5), min_size=1, max_size=6)


def alone(count: int) -> list[str]:
    """Cards that are each in a host of its own."""
    return [worker(task, "GPU:0") for task in range(count)]


def in_hosts(cards: list[int]) -> list[str]:
    return [worker(task, f"GPU:{number}") for task, count in enumerate(cards) for number in range(count)]


def sent(reduction: Plan) -> float:
    return sum(each.times * nbytes for each in reduction.rounds for _, _, nbytes in each.messages)


@given(counts, sizes)
def test_a_star_sends_everything_to_one_device_and_back(count: int, nbytes: int) -> None:
    expected = 2 * (count - 1) * (LATENCY + nbytes / BANDWIDTH)

    assert pytest.approx(expected) == plan(STAR, alone(count), nbytes, EQUAL).seconds


@given(counts, sizes)
def test_a_ring_sends_parts_around_twice(count: int, nbytes: int) -> None:
    expected = 2 * (count - 1) * LATENCY + 2 * (count - 1) / count * nbytes / BANDWIDTH

    assert pytest.approx(expected) == plan(RING, alone(count), nbytes, EQUAL).seconds


@given(counts, sizes)
def test_a_tree_halves_who_has_something(count: int, nbytes: int) -> None:
    expected = 2 * ceil(log2(count)) * (LATENCY + nbytes / BANDWIDTH)

    assert pytest.approx(expected) == plan(TREE, alone(count), nbytes, EQUAL).seconds


@given(st.integers(1, 5), st.integers(1, 12), sizes)
def test_a_hierarchy_is_a_tree_inside_hosts_and_the_better_algorithm_between_them(
    cards: int, tasks: int, nbytes: int
) -> None:
    inside = 2 * ceil(log2(cards)) * TWO_SPEEDS.cards.seconds(nbytes)
    ring = 2 * (tasks - 1) * LATENCY + 2 * (tasks - 1) / tasks * nbytes / BANDWIDTH
    tree = 2 * ceil(log2(tasks)) * (LATENCY + nbytes / BANDWIDTH)

    assert (
        pytest.approx(inside + min(ring, tree))
        == plan(HIERARCHICAL, in_hosts([cards] * tasks), nbytes, TWO_SPEEDS).seconds
    )


@given(hosts, sizes, st.sampled_from(ALGORITHMS))
def test_every_algorithm_sends_as_much_as_every_other(cards: list[int], nbytes: int, algorithm: str) -> None:
    names = in_hosts(cards)

    assert pytest.approx(2 * (len(names) - 1) * nbytes) == sent(plan(algorithm, names, nbytes, TWO_SPEEDS))


@given(hosts, st.sampled_from([STAR, TREE, HIERARCHICAL]))
def test_whole_buffers_reach_everybody_and_nothing_is_added_twice(cards: list[int], algorithm: str) -> None:
    names = in_hosts(cards)
    between = plan(algorithm, names, 1, TWO_SPEEDS)
    if any(each.times > 1 or nbytes != 1 for each in between.rounds for _, _, nbytes in each.messages):
        return  # a ring between hosts sends parts: see the next test
    has: list[Counter[int]] = [Counter([number]) for number in range(len(names))]
    total = Counter(range(len(names)))
    for each in between.rounds:
        before = [held.copy() for held in has]
        for source, target, _ in each.messages:
            has[target] = total if before[source] == total else before[target] + before[source]

    assert [total] * len(names) == has


@given(counts)
def test_in_a_ring_every_device_sends_to_the_next_one(count: int) -> None:
    [turn] = plan(RING, alone(count), 100, EQUAL).rounds

    assert 2 * (count - 1) == turn.times
    assert [(at, (at + 1) % count) for at in range(count)] == [(source, target) for source, target, _ in turn.messages]


def test_messages_that_leave_a_host_at_once_share_its_link() -> None:
    names = [worker(0, "GPU:0"), worker(0, "GPU:1"), worker(1, "GPU:0"), worker(1, "GPU:1")]
    crossed = [names[0], names[2], names[1], names[3]]  # a ring that leaves a host at every step

    slow, fast = (plan(RING, order, 4_000, TWO_SPEEDS).seconds for order in (crossed, names))

    assert pytest.approx(6 * (LATENCY + 2 * 1_000 / BANDWIDTH)) == slow
    assert pytest.approx(6 * (LATENCY + 1_000 / BANDWIDTH)) == fast


@given(hosts, sizes)
def test_the_choice_is_the_fastest_but_the_star(cards: list[int], nbytes: int) -> None:
    names = in_hosts(cards)
    times = {name: plan(name, names, nbytes, TWO_SPEEDS).seconds for name in (RING, TREE, HIERARCHICAL)}
    choice = plan(AUTO, names, nbytes, TWO_SPEEDS)

    assert min(times.values()) == choice.seconds == times[choice.algorithm]


def test_a_single_device_sends_nothing() -> None:
    assert [0.0] * 4 == [plan(name, alone(1), 100, EQUAL).seconds for name in ALGORITHMS]
