"""Does a replay with the recorded settings repeat every decision, and does it notice when it does not?"""

from collections import Counter

import numpy as np
import pytest

from nbtf._snapshots.account import DeviceAccount
from nbtf._snapshots.history import History
from nbtf._snapshots.history_replay import HistoryReplay
from nbtf._snapshots.replay import compared_with_card
from nbtf._snapshots.snapshot import ALLOC, SEGMENT_ALLOC, SEGMENT_MAP
from tests.rings import seeds
from tests.snapshots.recorded_programs import TEXTS, run, without_beginning


@pytest.mark.parametrize("seed", seeds(200))
def test_a_replay_with_its_own_settings_changes_nothing(seed: int) -> None:
    for text in TEXTS:
        program = run(seed, text)
        account = DeviceAccount(program.snapshot, 0)

        comparison = compared_with_card(account, program.total)

        assert comparison.described == ()
        action = account.trace.action
        assert comparison.addresses == np.count_nonzero(action == ALLOC) > 0
        assert comparison.segments == np.count_nonzero((action == SEGMENT_ALLOC) | (action == SEGMENT_MAP))
        outcome = comparison.outcome
        assert outcome.peak_allocated == account.peak.allocated
        assert outcome.peak_reserved == account.peak_reserved.reserved
        if outcome.peak_event >= 0:
            level = account.level(outcome.peak_event + 1)
            assert outcome.unallocated == level.reserved - level.active
            assert outcome.largest_free == account.holes(outcome.peak_event + 1).largest


@pytest.mark.parametrize("seed", seeds(200))
def test_a_history_whose_beginning_was_lost_differs_only_if_its_start_is_ambiguous(seed: int) -> None:
    seen: Counter[str] = Counter()
    for text in TEXTS:
        program = run(seed, text)
        cut = program.steps[len(program.steps) // 3][0]
        account = DeviceAccount(without_beginning(program.snapshot, cut), 0)

        comparison = compared_with_card(account, program.total)

        assert comparison.described == () or comparison.ambiguous
        seen["exact"] += not comparison.differences

    assert seen["exact"] >= 3


@pytest.mark.parametrize("seed", seeds(200))
def test_the_allocator_decides_about_segments_and_retries_as_it_did(seed: int) -> None:
    for text in TEXTS:
        program = run(seed, text, empties=False)
        history = History.of(DeviceAccount(program.snapshot, 0))._replace(card=program.total)

        outcome = HistoryReplay(history, history.settings, program.total, keeps_layout=True).run()

        stats = program.allocator.stats()
        assert not outcome.stopped
        assert outcome.peak_allocated == stats["allocated_bytes.all.peak"]
        assert outcome.peak_reserved == stats["reserved_bytes.all.peak"]
        assert outcome.retries == stats["num_alloc_retries"]
        assert outcome.refused == stats["num_ooms"]
        assert outcome.released == stats["num_device_free"]
        assert outcome.granted_later == 0


def test_a_cache_that_the_program_released_is_released_again() -> None:
    program = run(3, total=1 << 40)
    history = History.of(DeviceAccount(program.snapshot, 0))

    outcome = HistoryReplay(history, history.settings, 1 << 40).run()

    assert outcome.released == program.allocator.stats()["num_device_free"] > 0
    assert outcome.retries == 0
