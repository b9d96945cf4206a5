"""Does the live map show a cluster host by host, and does a host open?"""

from __future__ import annotations

from tests.browser.lab import Lab

START = """\
import nbtf as tf
_ = tf.runtime.simulate_cluster(hosts=20, gpus=2, model="H100")
%load_ext nbtf"""
RUN = """\
strategy = tf.distribute.MultiWorkerMirroredStrategy()
values = strategy.run(lambda: tf.distribute.get_replica_context().all_reduce("sum", tf.ones([64, 64])))"""
MAP = ".nbtf-map"


def test_a_host_of_the_live_map_opens(lab: Lab) -> None:
    lab.open(START, "%devices --live --here", RUN)
    lab.run(0, 1, 2)
    host = lab.page.locator(f'{MAP} button[aria-label^="worker/3: 2 GPUs"]')

    host.press("Enter")
    lab.page.locator(f'{MAP} [data-device="/job:worker/task:3/GPU:1"]').first.wait_for()

    assert "true" == host.get_attribute("aria-expanded")
    assert [] == lab.axe(MAP)
