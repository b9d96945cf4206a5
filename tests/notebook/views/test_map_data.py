"""Does the page draw the device map as the still does, in the words of its own language?"""

from __future__ import annotations

import dataclasses
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import nbtf as tf
from nbtf.notebook import catalogue
from nbtf.notebook.stills import esm
from nbtf.notebook.stills.decision import phrases_of, steps_of
from nbtf.notebook.stills.device_facts import DeviceFacts, Flow, MapFacts, OpCount, map_facts
from nbtf.notebook.stills.device_map import device_map
from nbtf.notebook.views.page_data import map_data
from tests.machines import cluster, machine
from tests.notebook.stills.test_decision import WAYS
from tests.notebook.stills.test_device_map import DEVICES, WIDTHS, recorded
from tests.notebook.stills.test_timeline import RECORDED
from tests.notebook.views.test_page import assert_same
from tests.rings import paired

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="needs node; the browser tests draw the map too")

CLUSTERS = [1, 2, 11, 16, 17, 128]
LOST = ("2 hosts", "17 hosts", "2 cards", "4 cards")
LANGUAGES = (catalogue.ENGLISH, *catalogue.LANGUAGES)


@pytest.fixture(scope="module")
def scenes() -> dict[str, MapFacts]:
    """Facts of all recorded scenes, and of a program on machines of every size."""
    facts: dict[str, MapFacts] = {"hosts": of_hosts()} | {f"{hosts} hosts": of_cluster(hosts) for hosts in CLUSTERS}
    for count in DEVICES:
        with machine(count, model="Tesla K20m"):
            facts[f"{count} cards"] = map_facts(recorded(count), tf.runtime.devices())
    for name in LOST:
        facts[f"{name}, lost"] = losing(facts[name])
    with machine(4, model="Tesla K20m"):
        facts["large"] = map_facts(recorded(4, size=4096), tf.runtime.devices())
        for name, record in RECORDED.items():
            facts[name] = map_facts(record().snapshot(), tf.runtime.devices())
    return facts


def of_hosts() -> MapFacts:
    """Two computers of four cards, of which one sends more than the others together."""
    reason = tf.runtime.Reason("explicit scope")
    names = [f"host{host}/GPU:{card}" for host in range(2) for card in range(5)]
    cards = [
        DeviceFacts(
            name, ops=[OpCount("MatMul", 3 + 40 * (name == names[0]), reason, 1e-3)], in_use=9 << 17, limit=1 << 30
        )
        for name in names
    ]
    flows = [Flow(names[0], name, 2, 9437184 + 1179648 * number) for number, name in enumerate(names[1:])]
    return MapFacts((DeviceFacts("CPU:0"),), tuple(cards), tuple(flows), 70, 3, 2)


def losing(facts: MapFacts) -> MapFacts:
    """The same devices, of which the first cards of each four are lost."""
    cards = [
        dataclasses.replace(card, is_lost=True, in_use=None, levels=[]) if at % 4 < 3 else card
        for at, card in enumerate(facts.cards)
    ]
    return dataclasses.replace(facts, cards=tuple(cards))


def of_cluster(hosts: int) -> MapFacts:
    """Hosts of a simulated cluster that all send to the first one, and each to its neighbour."""
    with cluster(hosts, 3):
        names = [info.name for info in tf.runtime.devices() if info.device_type == "GPU"]
        firsts = names[::3]
        flows = [Flow(name, firsts[0], 2, 1 << (20 + at % 3)) for at, name in enumerate(firsts) if at]
        flows += [Flow(name, names[(at + 1) % len(names)], 1, 5000 * at + 4096) for at, name in enumerate(names)]
        facts = map_facts(tf.runtime.Recorder().snapshot(), tf.runtime.devices())
    return dataclasses.replace(facts, flows=tuple(flows), ops=7, constants=2, small_copies=1)


def evaluated(module: str, value: str, tmp_path: Path, language: str) -> Any:
    """The value of an expression in the page's program, in a language."""
    program = esm.joined(esm.in_order(module, "picture"))
    words = catalogue.translation(language, catalogue.sections_in(program))
    file = tmp_path / "map.mjs"
    text = f"{program}\nuseWords({json.dumps(words)});\nconsole.log(JSON.stringify({value}));\n"
    file.write_text(text, encoding="utf-8")
    ran = subprocess.run(["node", str(file)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def drawn(facts: MapFacts, tmp_path: Path, language: str) -> list[dict[str, Any]]:
    """The pictures of the page's program, one for each width."""
    pictures = f"{json.dumps(WIDTHS)}.map((width) => mapPicture({json.dumps(map_data(facts))}, width))"
    return evaluated("map_picture", pictures, tmp_path, language)


def flat(picture: dict[str, Any]) -> dict[str, Any]:
    """The picture without the groups that only say whose room their marks are."""
    inside = [mark["marks"] if mark["mark"] == "group" and "title" not in mark else [mark] for mark in picture["marks"]]
    return picture | {"marks": [mark for marks in inside for mark in marks]}


SCENES = [
    "hosts",
    "large",
    *(f"{name}, lost" for name in LOST),
    *(f"{hosts} hosts" for hosts in CLUSTERS),
    *(f"{count} cards" for count in DEVICES),
    *RECORDED,
]


@pytest.mark.parametrize(("scene", "language"), paired(SCENES, LANGUAGES))
def test_page_draws_the_marks_of_the_still(
    scenes: dict[str, MapFacts], scene: str, language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(catalogue.VARIABLE, language)
    facts = scenes[scene]

    for width, picture in zip(WIDTHS, drawn(facts, tmp_path, language), strict=True):
        assert_same(device_map(facts, width), flat(picture))
        assert len(picture["marks"]) > 3


@pytest.mark.parametrize("language", LANGUAGES)
def test_page_words_each_rule_as_the_still_does(language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(catalogue.VARIABLE, language)
    unknown = [
        tf.runtime.Rule("a new rule", "From here to there?", answer) for answer in ("no: none", "no: 1 to 2", "")
    ]
    paths = [reason.path for _, reason in WAYS] + [unknown]

    worded = evaluated("decision", f"{json.dumps(list(map(phrases_of, paths)))}.map(stepsOf)", tmp_path, language)

    assert [[step._asdict() for step in steps_of(path)] for path in paths] == worded
