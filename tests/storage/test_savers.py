"""After a failure, an interrupt or a kill at any call to the system: is there the copy from before, or the new one?"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from nbtf._storage import drafts
from nbtf.errors import OpError
from tests.rings import with_nightly
from tests.storage.disk_faults import DiskFault, Fault, survives_in_child
from tests.storage.savers import SAVERS, CommandFailedError, Saver, remains

MOST_CALLS = 200
"""More than any saver makes."""

USUAL = ("model in a file", "model in a folder", "saved model")
"""Savers that every run tries: a file, a folder, and a folder of folders."""

every_saver = pytest.mark.parametrize(
    "saver",
    with_nightly(
        [saver for saver in SAVERS if saver.name in USUAL], [saver for saver in SAVERS if saver.name not in USUAL]
    ),
    ids=lambda saver: saver.name,
)


class Trials:
    """A saver's folder as it was before, again and again."""

    def __init__(self, saver: Saver, folder: Path) -> None:
        self.saver, self._prepared, self._trial = saver, folder / "prepared", folder / "trial"
        self._prepared.mkdir()
        saver.prepare(self._prepared)
        trial = self.fresh()
        self.old = saver.load(trial)
        saver.save(trial)
        self.new = saver.load(trial)

    def fresh(self) -> Path:
        """Returns a copy of the folder; which folders were swept is forgotten, as in a new process."""
        drafts.sweep.cache_clear()
        shutil.rmtree(self._trial, ignore_errors=True)
        return Path(shutil.copytree(self._prepared, self._trial))


@pytest.fixture
def trials(saver: Saver, tmp_path: Path) -> Trials:
    trials = Trials(saver, tmp_path)
    assert trials.old != trials.new
    return trials


def failure_of(save: Callable[[Path], object], folder: Path, fault: DiskFault) -> BaseException | None:
    with fault.installed():
        try:
            save(folder)
        except (OSError, OpError, KeyboardInterrupt, CommandFailedError) as error:
            return error
    return None


def generations_in(folder: Path) -> list[str]:
    """The generations of a saved folder that should not be there any more."""
    return [name for name in remains(folder) if name.startswith("generation-")]


def save_again(trials: Trials, folder: Path) -> None:
    """Saves once more, as a new process would: what an earlier save has left is swept away then."""
    drafts.sweep.cache_clear()
    trials.saver.save(folder)
    assert trials.saver.load(folder) == trials.new
    assert not remains(folder)


@pytest.mark.parametrize("fault", ["error", "interrupt", "short write"])
@every_saver
def test_after_a_failure_at_any_call_the_old_copy_or_the_new_one_is_there(trials: Trials, fault: Fault) -> None:
    nth = 0
    for nth in range(1, MOST_CALLS):
        folder, disk = trials.fresh(), DiskFault(fault, nth)
        error = failure_of(trials.saver.save, folder, disk)
        if not disk.happened:
            break
        value = trials.saver.load(folder)

        assert value in (trials.old, trials.new) if error is not None else value == trials.new
        assert error is None or fault != "short write"
        if isinstance(error, CommandFailedError) and fault != "interrupt":
            assert error.status == 2
            assert str(error).count("\n") == 1
        assert not remains(folder) or value == trials.new
        if generations_in(folder):
            assert fault != "interrupt"
            save_again(trials, folder)
    assert 1 < nth < MOST_CALLS - 1


@every_saver
def test_after_a_kill_at_any_call_the_old_copy_or_the_new_one_is_there(trials: Trials) -> None:
    nth = 0
    for nth in range(1, MOST_CALLS):
        folder = trials.fresh()
        if survives_in_child(lambda folder=folder: trials.saver.save(folder), DiskFault("kill", nth)):
            break
        value = trials.saver.load(folder)
        assert value in (trials.old, trials.new)

        if value == trials.old or generations_in(folder):
            save_again(trials, folder)
    assert 1 < nth < MOST_CALLS - 1
