"""The sizes, limits, fills and columns of pictures that Python and pages share, as a JavaScript module.

Each is defined and documented once, in the Python module that needs it. The program of the pages imports it from
`measures.js`, which has no file: `FACTS.smallestCopy` is the constant `SMALLEST_COPY` of the module listed for `FACTS`.
A size that only that program needs is defined in `static/`.
"""

from __future__ import annotations

import json
from types import ModuleType

from nbtf.notebook.stills import (
    device_facts,
    lane_groups,
    long_timeline,
    memory_bands,
    memory_data,
    op_colours,
    palette,
    schedule,
    svg,
)

_GROUPS: dict[str, dict[ModuleType, str]] = {
    "TIMELINE": {lane_groups: "MOST_UNGROUPED", long_timeline: "GAP UNDERLINED ROWS_IN_SIGHT"},
    "FACTS": {device_facts: "_POINTS", schedule: "SMALLEST_COPY CONSTANT", op_colours: "WORK_COLUMNS"},
    "FILLS": {memory_bands: "OF_GROUP", palette: "OF_PHASE FILL_NAMES"},
    "LOOK": {svg: "_SANS _HEAD"},
    "ROWS": {memory_data: "PIECE EXTENT"},
}
"""The modules that define the members of each group, and the names of their constants."""


def module() -> str:
    """Returns the groups as a JavaScript module."""
    lines: list[str] = []
    for group, names_of in _GROUPS.items():
        names = ((module, name) for module, names in names_of.items() for name in names.split())
        members = {_in_page(name): getattr(module, name) for module, name in names}
        lines.append(f"export const {group} = {json.dumps(members)};\n")
    return "".join(lines)


def _in_page(name: str) -> str:
    """Returns a name as JavaScript writes it.

    >>> _in_page("SMALLEST_COPY")
    'smallestCopy'
    """
    first, *words = name.strip("_").lower().split("_")
    return first + "".join(map(str.capitalize, words))
