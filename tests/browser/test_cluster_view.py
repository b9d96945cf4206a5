"""Do the live views show a cluster host by host, and does a host open?"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.lab import Lab

START = """\
import nbtf as tf
_ = tf.runtime.simulate_cluster(hosts={}, gpus=2, model="H100")
%load_ext nbtf"""
RUN = """\
strategy = tf.distribute.MultiWorkerMirroredStrategy()
x = tf.ones([64, 64])
values = strategy.run(lambda: tf.distribute.get_replica_context().all_reduce("sum", x @ x))"""
MAP = ".nbtf-map"


@pytest.mark.parametrize("hosts", [5, 20], ids=["in its row", "below the squares"])
def test_a_host_of_the_live_map_opens(lab: Lab, hosts: int) -> None:
    lab.open(START.format(hosts), "%devices --live --here", RUN)
    lab.run(0, 1, 2)
    host = lab.page.locator(f'{MAP} button[aria-label^="worker/3: 2 GPUs"]')

    host.press("Enter")
    lab.page.locator(f'{MAP} [data-device="/job:worker/task:3/GPU:1"] text', has_text="MatMul").first.wait_for()

    assert "true" == host.get_attribute("aria-expanded")
    assert [] == lab.axe(MAP)
    assert 0 == lab.page.locator(f"{MAP} .nbtf-card-name").count()  # cards of two hosts are not one card


@pytest.mark.parametrize(("hosts", "tiles", "rows"), [(5, 10, 0), (20, 20, 2)])
def test_the_rows_of_a_cluster_are_tiles_by_host(
    new_lab: Callable[..., Lab], hosts: int, tiles: int, rows: int
) -> None:
    lab = new_lab(viewport={"width": 1440, "height": 900})
    lab.open(START.format(hosts), "%devices --live", RUN)
    lab.run(0, 1, 2)
    chosen = lab.page.locator(f'{MAP} .nbtf-tile[aria-label^="worker/3"]').first
    chosen.click()
    lab.page.locator(f"{MAP} .nbtf-chosen .nbtf-name", has_text="worker/3 GPU:0").wait_for()

    assert tiles == lab.page.locator(f"{MAP} .nbtf-tile").count()
    assert rows == lab.page.locator(f"{MAP} .nbtf-row").count()
    assert "true" == chosen.get_attribute("aria-selected")
    assert [] == lab.unreadable(MAP)
    assert [] == lab.axe(MAP)
