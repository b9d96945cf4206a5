"""Does the JSON Schema of exported events let through what is recorded, and nothing else?"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest

import nbtf as tf
from nbtf.notebook.magics.export import FIELDS, export_schema, exported
from tests.machines import machine

VALIDATOR = jsonschema.Draft202012Validator(export_schema())


def recorded_file() -> Any:
    """A file with events of every kind."""
    with machine(2, memory="64MiB"), tf.runtime.recording() as record:
        with tf.device("/GPU:1"):
            product = tf.matmul(tf.ones([64, 64]), tf.ones([64, 64]))
        tf.function(lambda x: x + 1.0)(product)
        del product
        with pytest.raises(tf.errors.ResourceExhaustedError):
            tf.zeros([2**26])
        devices = tf.runtime.devices()
    return json.loads(exported(record.snapshot(), "json", devices, str))


@pytest.fixture(scope="module")
def file() -> Any:
    return recorded_file()


def test_schema_is_one() -> None:
    VALIDATOR.check_schema(export_schema())


def test_recorded_events_of_every_kind_are_valid(file: Any) -> None:
    assert set(export_schema()["$defs"]) == {event["kind"] for event in file["events"]}
    assert [] == [error.message for error in VALIDATOR.iter_errors(file)]


def test_recorded_events_have_no_field_that_the_schema_lacks(file: Any) -> None:
    properties = {kind: event["properties"] for kind, event in export_schema()["$defs"].items()}

    assert [] == [name for event in file["events"] for name in event if name not in properties[event["kind"]]]


def test_schema_and_csv_have_the_same_fields() -> None:
    events = export_schema()["$defs"].values()

    assert {"schema"} | {name for event in events for name in event["properties"]} == set(FIELDS)


@pytest.mark.parametrize(
    "damage",
    [
        lambda file: file.pop("schema"),
        lambda file: file.update(schema="nbtf-events/2"),
        lambda file: file["events"][0].pop("device", None) or file["events"][0].pop("kind"),
        lambda file: file["events"][0].update(kind="imagined"),
        lambda file: file["events"][0].update(seq="1"),
        lambda file: next(event for event in file["events"] if "reason" in event).update(reason=7),
        lambda file: next(event for event in file["events"] if "outputs" in event)["outputs"][0].pop("nbytes"),
    ],
    ids=["no schema", "schema of tomorrow", "no kind", "unknown kind", "text for a number", "reason", "output"],
)
def test_damaged_files_are_not_valid(damage: Callable[[Any], object]) -> None:
    file = recorded_file()
    damage(file)

    assert not VALIDATOR.is_valid(file)
