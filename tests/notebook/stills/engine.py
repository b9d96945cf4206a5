"""Runs functions of the pages' program in the engine that draws stills."""

from __future__ import annotations

import json
from typing import Any

from nbtf.notebook.stills import drawing, esm


def evaluated(module: str, expression: str) -> Any:
    """The value of an expression in which the names of a module of `static/` and of its imports are known."""
    run = drawing._engine()
    run(esm.joined(esm.in_order(module, module)))
    return json.loads(run(f"JSON.stringify({expression})"))
