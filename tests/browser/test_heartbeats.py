"""Does each device's heartbeat stand in its row, the newest column at the right end?"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.saved import State
from tests.browser.test_strip import Page, new_page, on_gpus, state, tell

__all__ = ["new_page", "state"]

COLUMN = 5
COLUMNS = """() => [...document.querySelectorAll('.nbtf-row .nbtf-beats')].map(beats => [beats.clientWidth,
    [...beats.querySelectorAll('[d]')].flatMap(path =>
        path.getAttribute('d').match(/M[^ ]+/g).map(at => +at.slice(1)))])"""
"""How wide each heartbeat is, and where its columns begin, in pixels."""


@pytest.mark.parametrize("area", ["right", "down"])
@pytest.mark.parametrize("width", [340, 1000])
def test_newest_column_of_each_heartbeat_is_at_its_right_end(
    new_page: Callable[..., Page], state: State, width: int, area: str
) -> None:
    page = new_page(width)
    page.evaluate("set('docked', false)")
    page.evaluate("state => set('state', state)", state)
    page.evaluate("show('cell')")
    page.evaluate("area => document.querySelector('.nbtf-view').dataset.dock = area", area)

    for count in (1, 8, 9, 16):
        tell(page, on_gpus(state, count))  # rows are there before their columns
        tell(page, *[on_gpus(state, count, work) for work in range(1, 30)])
        rows = page.evaluate(COLUMNS)
        assert count == len(rows)
        assert [] == [row for row in rows if abs(row[0] - max(row[1]) - COLUMN) > 1 or min(row[1]) < 0], count
