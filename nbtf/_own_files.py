"""The data files that nbtf brings along."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any


def own_text(package: str, file: str) -> str:
    """Returns the text of a file, by its package and its path there."""
    return (files(package) / file).read_text(encoding="utf-8")


@cache
def own_json(package: str, file: str) -> Any:
    """Returns the contents of a JSON file, by its package and its path there. They must not be changed."""
    return json.loads(own_text(package, file))
