"""Do the live views show a cluster host by host, and does a host open?"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.lab import Lab
from tests.rings import with_nightly

START = """\
import nbtf as tf
_ = tf.runtime.simulate_cluster(hosts={}, gpus=2, model="H100")
%load_ext nbtf"""
RUN = """\
strategy = tf.distribute.MultiWorkerMirroredStrategy()
x = tf.ones([64, 64])
values = strategy.run(lambda: tf.distribute.get_replica_context().all_reduce("sum", x @ x))"""
MAP = ".nbtf-map"


@pytest.mark.nightly
@pytest.mark.parametrize("hosts", with_nightly([20], [5]))
def test_a_host_of_the_live_map_opens(lab: Lab, hosts: int) -> None:
    lab.open(START.format(hosts), "%devices --live --here", RUN)
    lab.run(0, 1, 2)
    host = lab.page.locator(f'{MAP} button[aria-label^="worker/3: 2 GPUs"]')

    host.press("Enter")
    lab.page.locator(f'{MAP} [data-device="/job:worker/task:3/GPU:1"] text', has_text="MatMul").first.wait_for()

    assert "true" == host.get_attribute("aria-expanded")
    assert [] == lab.axe(MAP)
    assert 0 == lab.page.locator(f"{MAP} .nbtf-card-name").count()  # cards of two hosts are not one card


BUSY = """\
strategy = tf.distribute.MultiWorkerMirroredStrategy()
x = tf.ones([64, 64])
while True:
    strategy.run(lambda: tf.distribute.get_replica_context().all_reduce("sum", x @ x, options=None))"""
CUT = """() => [...document.querySelectorAll('.nbtf-row :is(.nbtf-row-share, .nbtf-row-traffic), .nbtf-running')]
    .filter(node => node.scrollWidth > node.clientWidth).map(node => [node.textContent, node.title])"""


def test_what_the_rows_of_two_hosts_say_has_room_and_a_long_line_its_whole_text(new_lab: Callable[..., Lab]) -> None:
    lab = new_lab(viewport={"width": 1440, "height": 900})
    lab.open(START.format(2), "%devices --live", BUSY)
    lab.run(0, 1)
    lab.start(2)
    lab.wait("document.querySelector('.nbtf-running').textContent.includes('all_reduce')")
    lab.wait("[...document.querySelectorAll('.nbtf-row-traffic')].every(node => node.textContent.includes('MiB'))")
    cut = lab.page.evaluate(CUT)
    lab.interrupt()

    assert 1 == len(cut)
    assert [True] == [text == title and title.startswith("cell 3, line 4: ") for text, title in cut]


def test_memory_names_devices_as_the_rows_do_and_leaves_out_hosts_that_have_gpus(lab: Lab) -> None:
    lab.open(START.format(2), "%gpu_memory --live --here", RUN)
    lab.run(0, 1, 2)
    names = lab.page.locator(".nbtf-mem-device:visible .nbtf-mem-name")
    names.first.wait_for()

    assert ["CPU:0", *(f"worker/{host} GPU:{gpu}" for host in range(2) for gpu in range(2))] == names.all_inner_texts()


@pytest.mark.parametrize(("hosts", "tiles", "rows"), with_nightly([(20, 20, 2)], [(5, 10, 0)]))
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
