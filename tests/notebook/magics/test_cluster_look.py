"""Tables and pictures of a look at a cluster."""

from __future__ import annotations

from typing import Any

import pytest

import nbtf as tf
from nbtf.notebook.magics.cluster_look import cards, holders, picture
from nbtf.notebook.stills.cluster_map import cluster_map
from tests.notebook.conftest import Shell

GIB = 1 << 30


def host(number: int, count: int, **facts: Any) -> tf.runtime.HostReport:
    readings = [tf.runtime.CardReading(number=at, name="L4", used=at * GIB, total=24 * GIB) for at in range(count)]
    name = f"node-{number}"
    worker = tf.runtime.WorkerReport(f"w{number}", f"tls://10.0.0.{number}:1", name, **facts)
    return tf.runtime.HostReport(name, tuple(readings), (worker,))


def test_each_card_has_a_row_beside_its_host() -> None:
    table = cards(tf.runtime.ClusterLook([host(1, 2), host(2, 1)]))

    assert [("node-1", "card 0"), ("node-1", "card 1"), ("node-2", "card 0")] == [
        (row["host"], row["device"]) for row in table.rows
    ]


def test_who_holds_most_stands_first() -> None:
    held = [tf.runtime.CardHolder("key 'a'", "card 0", 5), tf.runtime.CardHolder("key 'b'", "card 0", 7)]

    table = holders(tf.runtime.ClusterLook([host(1, 1)._replace(holders=tuple(held))]))

    assert ["key 'b'", "key 'a'"] == [row["holder"] for row in table.rows]


def test_a_worker_that_is_silent_stands_below_every_table_and_picture() -> None:
    look = tf.runtime.ClusterLook([host(1, 1), host(2, 0, problem="it did not answer")])
    drawn = cluster_map(look)

    assert drawn is not None
    texts = [getattr(mark, "words", "") for mark in drawn.marks]
    assert [text for text in texts if "w2" in text]
    assert [note for note in cards(look).notes if "w2" in note]
    assert [note for note in holders(look).notes if "w2" in note]


@pytest.mark.parametrize("hosts", [1, 16, 17, 130])
@pytest.mark.parametrize("width", [288.0, 960.0])
def test_a_picture_stays_within_its_width(hosts: int, width: float) -> None:
    drawn = cluster_map(tf.runtime.ClusterLook([host(number, 9) for number in range(hosts)]), width)

    assert drawn is not None
    assert width == drawn.width
    assert drawn.title.startswith(f"{hosts} host")


def test_without_cards_there_is_the_table() -> None:
    look = tf.runtime.ClusterLook([host(1, 0)])

    assert repr(cards(look)) == repr(picture(look))


@pytest.mark.parametrize("magic", ["devices", "gpu_memory"])
def test_a_variable_that_is_not_there_is_named(shell: Shell, magic: str) -> None:
    assert "no variable 'nobody'" in shell.run(f"%{magic} --cluster nobody").out


@pytest.mark.parametrize("line", ["%devices --live --cluster c", "%gpu_memory --all --cluster c"])
def test_what_does_not_go_together_is_said(shell: Shell, line: str) -> None:
    assert "combine --cluster only with" in shell.run(line).out
