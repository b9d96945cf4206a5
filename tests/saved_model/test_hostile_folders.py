"""Does a folder name classes and functions of the program, and nothing else, whatever stands in it?"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nbtf as tf
from nbtf._storage import folders
from nbtf.errors import DataLossError
from nbtf.saved_model.writing import OBJECTS, VALUES

keras = tf.keras
Document = dict[str, Any]


class Line(tf.Module):
    """Has a variable, functions, and names that no file may use."""

    limits: Any = tf  # a way to everything
    calls = 0

    def __init__(self) -> None:
        super().__init__()
        self.slope = tf.Variable(2.0)
        self.activation = tf.nn.relu

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def __call__(self, x: Any) -> Any:
        return self.activation(self.slope * x)

    def plain(self, x: Any) -> Any:
        return x

    @property
    def counted(self) -> Any:
        type(self).calls += 1
        return tf.nn.relu


def _documents(folder: Path, value: Any) -> Document:
    tf.saved_model.save(value, folder)
    return json.loads(folders.read(folder, [OBJECTS])[OBJECTS])


def _load(folder: Path, document: Document) -> Any:
    """Loads a folder whose document is another."""
    folders.write(folder, {OBJECTS: json.dumps(document).encode(), VALUES: folders.read(folder, [VALUES])[VALUES]})
    return tf.saved_model.load(folder)


def _keras_node(module: str, class_name: str, /, **config: Any) -> Document:
    return {
        "kind": "keras",
        "classes": {class_name: [module, class_name]},
        "config": {"class_name": class_name, "module": module, "registered_name": class_name, "config": config},
        "build": None,
        "compile": None,
        "seeds": [],
        "values": {},
    }


PLACES = [
    ["os", "system"],
    ["subprocess", "Popen"],
    ["builtins", "eval"],
    ["builtins", "dict"],
    ["antigravity", "x"],
    ["nbtf", "constant"],
    ["nbtf.cli", "main"],
    ["nbtf.keras.registry", "deserialized"],
    ["nbtf.keras.saving.models", "save_model"],
    ["nbtf.saved_model.writing", "save"],
    ["nbtf.saved_model.reading", "Reader"],
    ["nbtf.keras.activations", "deserialize"],
    ["nbtf.keras.callbacks.history", "CSVLogger"],
    ["nbtf._storage.files", "write"],
    [__name__, "tf.io.write_file"],
    [__name__, "Line.__init__.__globals__"],
    [__name__, "Line.limits"],
    [__name__, "json"],
    [__name__, "subprocess.run"],
    ["numpy", "save"],
    ["", ""],
]


@pytest.mark.parametrize("place", PLACES, ids=".".join)
@pytest.mark.parametrize("way", ["keras", "object", "place", "class", "function", "signature"])
def test_no_place_leads_to_anything_else(place: list[str], way: str, tmp_path: Path) -> None:
    document = _documents(tmp_path, Line())
    root = document["nodes"][document["root"]["node"]]
    change: dict[str, Callable[[], Any]] = {
        "keras": lambda: document["nodes"].append(_keras_node(*place, command="touch x", name="x")),
        "object": lambda: document["nodes"].append({"kind": "object", "class": place, "attributes": []}),
        "place": lambda: root["attributes"].append(["extra", {"place": place}]),
        "class": lambda: root.update({"class": place}),
        "function": lambda: root["attributes"].append(["extra", {"function": {"place": place}, "signature": None}]),
        "signature": lambda: document["signatures"].update(x={"place": place}),
    }
    change[way]()
    if way in ("keras", "object"):
        root["attributes"].append(["extra", {"node": len(document["nodes"]) - 1}])
    before = set(sys.modules)

    with pytest.raises(DataLossError, match="cannot be loaded: "):
        _load(tmp_path, document)
    assert "antigravity" not in set(sys.modules) - before


@pytest.mark.parametrize(
    "described",
    [
        {"attribute": "slope.assign"},
        {"attribute": "limits"},
        {"attribute": "counted"},
        {"attribute": "plain"},
        {"attribute": "_flatten"},
        {"attribute": "__class__"},
        {"attribute": "__init__"},
        {"attribute": "slope"},
        {"attribute": ["__call__"]},
        {"method": [{"node": 0}, "plain"]},
        {"method": [{"node": 0}, "with_name_scope"]},
        {"method": [{"node": 0}, "__init__"]},
        {"method": [{"node": 0}, "counted"]},
        {"method": [{"node": 1}, "assign"]},
        {"method": [{"node": 0}, "limits"]},
        {"node": 1},
        {},
    ],
    ids=str,
)
def test_a_signature_is_a_function_of_the_class(described: Document, tmp_path: Path) -> None:
    document = _documents(tmp_path, Line())
    document["signatures"]["x"] = described
    Line.calls = 0

    with pytest.raises(DataLossError):
        _load(tmp_path, document)
    assert Line.calls == 0


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"root": {"node": 0}', '"root": {"node": 1}'),
        ('"root": {"node": 0}', '"root": {"node": -1}'),
        ('"root": {"node": 0}', '"root": {"node": 99}'),
        ('"root": {"node": 0}', '"root": {"node": true}'),
        ('"kind": "variable"', '"kind": "keras_variable", "of": {"node": 1}'),
        ('"kind": "variable"', '"kind": "module"'),
        ('"value": "0"', '"value": "7"'),
        ('"dtype": "float32"', '"dtype": "string"'),
        ('"dtype": "float32"', '"dtype": "number"'),
        ('"shape": []', '"shape": [3, null]'),
        ('"trainable": true', '"trainable": "yes"'),
        ('"slope"', "3"),
        ('"nodes": [', '"nodes": [7, '),
        ('"format": "nbtf-saved-model/1"', '"format": "nbtf-saved-model/9"'),
    ],
)
def test_a_damaged_document_is_refused_in_one_class(before: str, after: str, tmp_path: Path) -> None:
    text = json.dumps(_documents(tmp_path, Line()))
    assert before in text

    with pytest.raises(DataLossError, match=r"is damaged|cannot be loaded|has the format"):
        _load(tmp_path, json.loads(text.replace(before, after)))


def test_a_tuple_that_holds_itself_is_refused(tmp_path: Path) -> None:
    document = _documents(tmp_path, Line())
    document["nodes"].append({"kind": "function", "tuple": [{"node": len(document["nodes"])}]})
    document["nodes"][0]["attributes"].append(["extra", {"node": len(document["nodes"]) - 1}])

    with pytest.raises(DataLossError, match="contains itself"):
        _load(tmp_path, document)


def test_weights_that_the_folder_has_no_values_for_are_not_made(tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    text = json.dumps(_documents(tmp_path, model)).replace('"units": 2', '"units": 2000000000')

    with pytest.raises(DataLossError, match=r"a weight of shape \(3, 2000000000\) needs 24000000000 bytes"):
        _load(tmp_path, json.loads(text))


PROGRAM = """
import sys
import nbtf as tf

class Line(tf.Module):
    def __init__(self):
        super().__init__()
        self.slope, self.activation, self.made = tf.Variable(2.0), tf.nn.relu, False

    @tf.function(input_signature=[tf.TensorSpec([None])])
    def __call__(self, x):
        return self.activation(self.slope * x)

class Other(Line):
    pass

def save(folder):
    tf.saved_model.save(Line(), folder)
    tf.saved_model.save(tf.train.Checkpoint(v=tf.Variable(3.0)), folder + "/checkpoint")

def load(folder):
    line = tf.saved_model.load(folder)
    assert type(line) is Line
    assert line.signatures["serving_default"]([1.0, -1.0])["output_0"].numpy().tolist() == [2.0, 0.0]
    assert float(tf.saved_model.load(folder + "/checkpoint").v) == 3.0

globals()[sys.argv[1]](sys.argv[2])
"""


def test_another_process_with_the_same_classes_loads_it(tmp_path: Path) -> None:
    for step in ("save", "load"):
        subprocess.run([sys.executable, "-c", PROGRAM, step, str(tmp_path)], check=True, timeout=120)


class Plain:
    """Derives from no class of nbtf."""

    def __init__(self, number: int) -> None:
        self.number = number


def test_a_class_of_ones_own_is_registered(tmp_path: Path) -> None:
    module: Any = tf.Module()
    module.plain = Plain(3)
    text = json.dumps(_documents(tmp_path, module)).replace('"Plain"', '"Moved"')

    with pytest.raises(DataLossError, match=r"Moved cannot be found.*custom_object_scope\({'Moved': \.\.\.}\)"):
        _load(tmp_path, json.loads(text))
    with keras.utils.custom_object_scope({"Moved": Plain}):
        assert tf.saved_model.load(tmp_path).plain.number == 3


def test_an_object_without_a_form_in_the_folder_is_refused_when_it_is_saved() -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.raises(ValueError, match="format cannot store"):
        tf.saved_model.save(tf.saved_model.SaveOptions(), folder)
