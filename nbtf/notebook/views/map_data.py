"""The facts of the still device map as plain data, from which a page draws its own map."""

from __future__ import annotations

from typing import Any

from nbtf.notebook.stills.decision import is_as_asked
from nbtf.notebook.stills.device_facts import DeviceFacts, MapFacts
from nbtf.notebook.views.steps import reason_in_words


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
        "path": [tuple(rule) for rule in facts.surprise[1].reason.path] if facts.surprise else [],
    }


def _device(device: DeviceFacts) -> dict[str, Any]:
    ops = [
        {
            "op": op.op,
            "times": op.times,
            "why": reason_in_words(op.op, device.name, op.reason),
            "asked": is_as_asked(op.reason, device.name),
        }
        for op in device.ops
    ]
    facts = {"name": device.name, "ops": ops, "inUse": device.in_use, "limit": device.limit, "levels": device.levels}
    return facts | {"lost": device.is_lost}
