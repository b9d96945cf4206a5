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


def two_trees(count: int, nbytes: int, latency: float, bandwidth: float) -> float:
    """Seconds of a pipeline up and down two trees; between two devices each direction carries half."""
    return 2 * ceil(log2(count)) * latency + (2 if count > 2 else count - 1) * nbytes / bandwidth


@given(counts, sizes)
def test_a_tree_has_the_bandwidth_of_a_ring_and_a_logarithm_of_its_latency(count: int, nbytes: int) -> None:
    expected = two_trees(count, nbytes, LATENCY, BANDWIDTH)

    assert pytest.approx(expected) == plan(TREE, alone(count), nbytes, EQUAL).seconds


@given(st.integers(2, 8), st.integers(3, 12), sizes)
def test_a_tree_of_hosts_sends_every_byte_once_over_each_link_between_them(cards: int, tasks: int, nbytes: int) -> None:
    waits = 2 * (ceil(log2(cards)) * TWO_SPEEDS.cards.latency + ceil(log2(tasks)) * LATENCY)

    names = in_hosts([cards] * tasks)

    assert pytest.approx(waits + 2 * nbytes / BANDWIDTH) == plan(TREE, names, nbytes, TWO_SPEEDS).seconds


@given(hosts)
def test_both_trees_reach_every_device(cards: list[int]) -> None:
    names = in_hosts(cards)
    rounds = plan(TREE, names, 2, EQUAL).rounds
    upwards = rounds[0].messages if rounds else ()
    half = len(upwards) // 2

    for messages in (upwards[:half], upwards[half:]):
        parents = {source: target for source, target, _ in messages}
        assert [1.0] * (len(names) - 1) == [nbytes for _, _, nbytes in messages]
        assert len(names) - 1 == len(parents)
        assert 1 == len({_root(node, parents) for node in range(len(names))})
    assert [(target, source) for source, target, _ in upwards] == [
        (source, target) for each in rounds[1:] for source, target, _ in each.messages
    ]


def _root(node: int, parents: dict[int, int]) -> int:
    return _root(parents[node], parents) if node in parents else node


@given(counts)
def test_no_device_receives_from_two_in_both_trees(count: int) -> None:
    [upwards, _] = plan(TREE, alone(count), 2, EQUAL).rounds

    received = Counter(target for _, target, _ in upwards.messages)

    assert max(received.values()) <= 2


@given(st.integers(1, 5), st.integers(1, 12), sizes)
def test_a_hierarchy_is_a_tree_inside_hosts_and_the_better_algorithm_between_them(
    cards: int, tasks: int, nbytes: int
) -> None:
    inside = 2 * ceil(log2(cards)) * TWO_SPEEDS.cards.seconds(nbytes)
    ring = 2 * (tasks - 1) * LATENCY + 2 * (tasks - 1) / tasks * nbytes / BANDWIDTH
    tree = two_trees(tasks, nbytes, LATENCY, BANDWIDTH)

    assert (
        pytest.approx(inside + min(ring, tree))
        == plan(HIERARCHICAL, in_hosts([cards] * tasks), nbytes, TWO_SPEEDS).seconds
    )


@given(hosts, sizes, st.sampled_from(ALGORITHMS))
def test_every_algorithm_sends_as_much_as_every_other(cards: list[int], nbytes: int, algorithm: str) -> None:
    names = in_hosts(cards)

    assert pytest.approx(2 * (len(names) - 1) * nbytes) == sent(plan(algorithm, names, nbytes, TWO_SPEEDS))


@given(hosts, st.sampled_from([STAR, HIERARCHICAL]))
def test_whole_buffers_reach_everybody_and_nothing_is_added_twice(cards: list[int], algorithm: str) -> None:
    names = in_hosts(cards)
    between = plan(algorithm, names, 1, TWO_SPEEDS)
    if any(each.times > 1 or nbytes != 1 for each in between.rounds for _, _, nbytes in each.messages):
        return  # a ring or two trees between hosts send parts: see their tests
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
