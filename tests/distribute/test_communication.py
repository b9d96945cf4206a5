"""By which algorithm, and in packs of which size, do hosts of a simulated cluster add up what each has?"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nbtf as tf
from nbtf.distribute.communication import CommunicationOptions, packed_by_size
from tests.machines import cluster

IMPLEMENTATION = tf.distribute.experimental.CommunicationImplementation
KIB = 1 << 10


def grouped_by_size(sizes: list[int], bytes_per_pack: int) -> list[list[int]]:
    """Sizes as TensorFlow groups them: `group_by_size` of cross_device_utils.py, after the list was reversed."""
    packs: list[list[int]] = []
    last_pack_size = 0
    for size in reversed(sizes):
        if not packs or last_pack_size > bytes_per_pack:
            packs.append([])
            last_pack_size = 0
        packs[-1].append(size)
        last_pack_size += size
    return packs


def sent(options: Any, per_call: Any = None) -> tuple[int, float, list[Any]]:
    """How many all-reduces five tensors of 4 KiB take, how long, and what comes out on the first card."""
    with cluster(2, 2):
        strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)

        def add_up() -> Any:
            context: Any = tf.distribute.get_replica_context()
            return context.all_reduce("sum", [tf.fill([KIB], float(i)) for i in range(5)], per_call)

        with tf.runtime.recording() as record:
            sums = strategy.run(add_up)
        results = [strategy.experimental_local_results(total)[0].numpy().tolist() for total in sums]
    copies = [event for event in record.events if isinstance(event, tf.runtime.Copied) and event.modelled]
    ends = [event.start + event.seconds for event in copies if event.start is not None]
    return [op for op, _ in record.ops].count("CollectiveReduceV2") // 4, max(ends), results


@settings(deadline=None)  # the first call loads
@given(st.lists(st.integers(0, 300), max_size=12), st.integers(1, 1000))
def test_packs_are_those_of_tensorflow(lengths: list[int], bytes_per_pack: int) -> None:
    values = [tf.zeros([length]) for length in lengths]

    packs = packed_by_size(range(len(values)), values, bytes_per_pack)

    assert grouped_by_size([4 * length for length in lengths], bytes_per_pack) == [
        [4 * lengths[index] for index in pack] for pack in packs
    ]
    assert sorted(index for pack in packs for index in pack) == list(range(len(values)))


@pytest.mark.parametrize(("size", "packs"), [(0, 1), (1, 5), (4 * KIB, 3), (8 * KIB, 2), (1 << 20, 1)])
def test_each_pack_is_an_all_reduce_of_its_own(size: int, packs: int) -> None:
    count, _, results = sent(CommunicationOptions(bytes_per_pack=size))

    assert (packs, [[4.0 * i] * KIB for i in range(5)]) == (count, results)


def test_more_packs_take_more_modelled_time() -> None:
    together, apart = (sent(CommunicationOptions(bytes_per_pack=size))[1] for size in (0, 1))

    assert together < apart


def test_options_of_a_call_win() -> None:
    assert 5 == sent(CommunicationOptions(bytes_per_pack=1 << 20), CommunicationOptions(bytes_per_pack=1))[0]
    assert 5 == sent(CommunicationOptions(bytes_per_pack=1), CommunicationOptions(implementation="ring"))[0]


def test_options_that_say_nothing_leave_the_others() -> None:
    options = CommunicationOptions(1, 2.0, IMPLEMENTATION.RING)

    assert repr(options) == repr(options.merge(CommunicationOptions())) == repr(options.merge(None))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"bytes_per_pack": -1}, "`bytes_per_pack` must be >=0"),
        ({"timeout_seconds": 0}, "`timeout_seconds` must be None or > 0"),
        ({"implementation": "MPI"}, "is not a valid CommunicationImplementation"),
    ],
)
def test_options_that_there_are_not_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CommunicationOptions(**arguments)


def test_what_is_no_options_is_refused() -> None:
    with pytest.raises(TypeError, match="communication_options"):
        tf.distribute.MultiWorkerMirroredStrategy(communication_options="RING")
