"""Does each device's heartbeat stand in its row, the newest column at the right end?"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.saved import State
from tests.browser.test_strip import Page, new_page, on_gpus, state, tell
from tests.rings import with_nightly

__all__ = ["new_page", "state"]

COLUMNS = """() => [...document.querySelectorAll('.nbtf-row .nbtf-beats')].map(beats => [beats.clientWidth,
    [...beats.querySelectorAll('[d]')].flatMap(path =>
        [...path.getAttribute('d').matchAll(/M([\\d.]+) [^h]+h([\\d.]+)/g)]
            .map(([, at, wide]) => [+at, +wide + 1]))])"""
"""How wide each heartbeat is, and where its columns begin and how wide they are, in pixels."""
LEGEND = "[...document.querySelectorAll('.nbtf-beats-legend:not([hidden]) > span')].map(entry => entry.textContent)"


@pytest.mark.parametrize(
    ("width", "area"), with_nightly([(340, "right")], [(1000, "down"), (340, "down"), (1000, "right")])
)
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
        ends = [(width, max(at + wide for at, wide in columns), min(columns)[0]) for width, columns in rows]
        assert [] == [row for row in ends if abs(row[0] - row[1]) > 1 or row[2] < 0], count


def test_few_columns_are_wide_and_a_legend_names_their_colours(new_page: Callable[..., Page], state: State) -> None:
    page = new_page(340)
    page.evaluate("set('docked', false)")
    page.evaluate("state => set('state', state)", state)
    page.evaluate("show('cell')")
    page.evaluate("document.querySelector('.nbtf-view').dataset.dock = 'right'")
    tell(page, on_gpus(state, 4))
    tell(page, *[on_gpus(state, 4, work) for work in range(1, 30)])

    rows = page.evaluate(COLUMNS)
    assert 4 == len(rows)
    assert all(min(columns)[0] <= 2 * columns[0][1] and columns[0][1] > 5 for _, columns in rows)
    assert ["forward", "backward"] == page.evaluate(LEGEND)
    assert not page.evaluate("Boolean(document.querySelector('.nbtf-play[data-playing]'))")
