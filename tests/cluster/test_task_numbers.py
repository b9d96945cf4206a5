"""Which worker is which task?"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nbtf._cluster.task_numbers import number_tasks

PREFIXES, NUMBERS = st.sampled_from(["", "a", "a-", "b-", "worker-"]), st.sampled_from(["", "0", "1", "2", "12"])
NAMES = st.lists(st.tuples(PREFIXES, NUMBERS).map("".join), max_size=9)


def by_address(names: list[str]) -> dict[str, str]:
    return {f"tls://{at}": name for at, name in enumerate(names)}


@given(NAMES)
def test_every_worker_is_a_task_and_no_two_are_the_same(names: list[str]) -> None:
    tasks = number_tasks(by_address(names), {})

    assert by_address(names).keys() == tasks.keys()
    assert len(names) == len({*tasks.values()})


@given(NAMES, NAMES)
def test_who_stays_keeps_its_number(names: list[str], more: list[str]) -> None:
    earlier = number_tasks(by_address(names), {})

    later = number_tasks(by_address(names + more), earlier)

    assert earlier.items() <= later.items()


@given(st.permutations(range(12)))
def test_numbers_in_names_are_numbers_of_tasks(order: list[int]) -> None:
    tasks = number_tasks({f"tls://{at}": f"worker-{number}" for at, number in enumerate(order)}, {})

    assert {f"tls://{at}": ("worker", number) for at, number in enumerate(order)} == tasks


def test_a_new_process_of_a_task_has_its_number_again() -> None:
    earlier = number_tasks({"tls://a": "worker-0", "tls://b": "worker-1"}, {})

    tasks = number_tasks({"tls://a": "worker-0", "tls://c": "worker-1"}, earlier)

    assert {"tls://a": ("worker", 0), "tls://c": ("worker", 1)} == tasks


def test_numbers_count_as_numbers() -> None:
    tasks = number_tasks(
        {f"tls://{n}": f"w{n}x" for n in ("a", "b")} | {"tls://9": "node-9", "tls://10": "node-10"}, {}
    )

    assert ("worker", 9) == tasks["tls://9"]
    assert ("worker", 10) == tasks["tls://10"]
    assert {("worker", 0), ("worker", 1)} == {tasks["tls://a"], tasks["tls://b"]}
