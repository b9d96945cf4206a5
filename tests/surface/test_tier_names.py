"""Is every name there that the guides of TensorFlow's users need, and can the submodules among them be imported?"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

import nbtf as tf

NAMES = (Path(__file__).parent / "tier_names.txt").read_text(encoding="utf-8").split()
"""Names as guides write them; those that begin without `tf.` are members of objects."""

OBJECTS = {
    "data.Dataset": tf.data.Dataset,
    "distribute.Strategy": tf.distribute.Strategy,
    "distribute.ReplicaContext": tf.distribute.ReplicaContext,
    "keras.Model": tf.keras.Model,
    "GradientTape": tf.GradientTape,
}


def found(name: str) -> Any:
    start, path = next(
        ((one, name.removeprefix(prefix).strip(".")) for prefix, one in OBJECTS.items() if name.startswith(prefix)),
        (tf, name.removeprefix("tf.")),
    )
    for part in filter(None, path.split(".")):
        start = getattr(start, part)
    return start


@pytest.mark.parametrize("name", NAMES)
def test_name_is_there(name: str) -> None:
    found(name)


MODULES = [
    "keras",
    "keras.layers",
    "keras.models",
    "keras.losses",
    "keras.metrics",
    "keras.optimizers",
    "keras.optimizers.schedules",
    "keras.callbacks",
    "keras.datasets",
    "keras.datasets.mnist",
    "keras.utils",
    "keras.preprocessing.image",
    "keras.preprocessing.sequence",
    "keras.mixed_precision",
    "keras.backend",
    "keras.initializers",
    "keras.regularizers",
    "experimental.numpy",
    "data.experimental",
    "distribute.experimental",
    "saved_model",
    "train",
    "summary",
]


@pytest.mark.parametrize("name", MODULES)
def test_submodule_can_be_imported(name: str) -> None:
    assert importlib.import_module(f"nbtf.{name}") is found(f"tf.{name}")


@pytest.mark.parametrize("name", ["initializers", "losses", "metrics", "optimizers"])
def test_namespaces_of_keras_are_reached_without_it(name: str) -> None:
    assert getattr(tf, name) is getattr(tf.keras, name)


@pytest.mark.parametrize(
    "text",
    [
        "from nbtf import keras",
        "from nbtf.keras import layers",
        "from nbtf.keras.layers import Dense",
        "from nbtf.keras.models import Sequential, load_model",
        "import nbtf.keras.layers as layers",
        "import nbtf.experimental.numpy as tnp",
        "from nbtf.keras.utils import to_categorical",
    ],
)
def test_import_works_as_guides_write_it(text: str) -> None:
    exec(text, {})  # the texts above
