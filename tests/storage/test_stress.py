"""Is nothing lost by kills at random moments and by savers to one path? A share of the command in `stress.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.storage.stress import BY_NAME, SHARED, kill_at_random, save_from_processes, save_from_threads


@pytest.mark.parametrize("name", ["model in a file", "model in a folder", "saved model"])
def test_kills_at_random_moments_lose_nothing(name: str, tmp_path: Path) -> None:
    result = kill_at_random(BY_NAME[name], tmp_path, kills=5)

    assert result.losses == []
    assert result.trials == 5


@pytest.mark.parametrize("name", SHARED)
def test_four_threads_save_to_one_path(name: str, tmp_path: Path) -> None:
    assert save_from_threads(BY_NAME[name], tmp_path, savers=4, saves=4).losses == []


@pytest.mark.parametrize("name", ["model in a file", "model in a folder", "saved model"])
def test_four_processes_save_to_one_path(name: str, tmp_path: Path) -> None:
    assert save_from_processes(BY_NAME[name], tmp_path, savers=4, saves=4).losses == []
