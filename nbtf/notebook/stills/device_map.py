"""Draws the device map: what ran where, what was copied, and which ops ran elsewhere than requested."""

from __future__ import annotations

from typing import Any

from nbtf import runtime
from nbtf.notebook.session import Session
from nbtf.notebook.stills.device_facts import DeviceFacts, MapFacts, map_facts
from nbtf.notebook.stills.drawing import drawn
from nbtf.notebook.stills.marks import WIDTH, Picture
from nbtf.notebook.stills.memory_pictures import Still
from nbtf.notebook.stills.reasons import is_as_asked, phrases_of
from nbtf.notebook.stills.schedule import snapshot_of

_RECENT = 5_000
"""Number of a session's events that are read for memory over time: the picture is redrawn after each cell."""


def device_map(facts: MapFacts, width: float = WIDTH) -> Picture:
    """Returns a map with a room for each device, or a square if there are many, and the copies between them.

    Args:
      facts: the facts of a recording, from `map_facts`.
      width: in px; at least 288 are used.
    """
    return drawn("deviceMap", map_data(facts), width)


def map_data(facts: MapFacts) -> dict[str, Any]:
    """Returns the input of `static/map_picture.js`.

    Args:
      facts: facts of a recording, from `map_facts`.
    """
    return {
        "hosts": [_device(host) for host in facts.hosts],
        "cards": [_device(card) for card in facts.cards],
        "flows": [flow._asdict() for flow in facts.flows],
        "ops": facts.ops,
        "constants": facts.constants,
        "smallCopies": facts.small_copies,
        "simulated": any(card.is_simulated for card in facts.cards),
        "path": phrases_of(facts.surprise[1].reason.path) if facts.surprise else [],
    }


def _device(device: DeviceFacts) -> dict[str, Any]:
    ops = [
        {
            "op": op.op,
            "times": op.times,
            "why": runtime.in_words(op.op, device.name, op.reason).partition(": ")[2],
            "asked": is_as_asked(op.reason, device.name),
        }
        for op in device.ops
    ]
    facts = {"name": device.name, "ops": ops, "inUse": device.in_use, "limit": device.limit, "levels": device.levels}
    return facts | {"lost": device.is_lost}


# Doors


def device_picture(record: runtime.Recording, width: float = WIDTH) -> Still:
    """Returns a picture of what ran on each device in a recording, why, and what was copied between them.

    Args:
      record: a recording from `tf.runtime.recording()`.
      width: in px; at least 288 are used.

    Raises:
      TypeError: if `record` is not a recording.

    >>> tf.runtime.restart()
    >>> _ = tf.runtime.simulate_gpus(2)
    2 simulated GPUs (Tesla V100-SXM2-16GB, 16 GiB each): NumPy on this computer's CPU. No GPU is used.
    >>> with tf.runtime.recording() as record:
    ...     with tf.device("GPU:1"):
    ...         x = tf.zeros([1024, 1024])
    >>> tf.notebook.device_picture(record)
    Device map. GPU:1: Fill × 1 (asked for by tf.device)
    """
    return Still(device_map(map_facts(snapshot_of(record), runtime.devices()), width))


def map_of_session(session: Session, width: float = WIDTH) -> Still:
    """Returns a picture of what a notebook's session has recorded since the last restart.

    Args:
      session: the session to draw.
      width: in px; at least 288 are used.
    """
    recorder = session.recorder
    complete = recorder.snapshot(_RECENT)
    recent = complete.since(recorder.totals_before_machine())
    snapshot = recent._replace(events=complete.events[max(0, len(complete.events) - recent.heard) :])
    return Still(device_map(map_facts(snapshot, runtime.devices()), width))
