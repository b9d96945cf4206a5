"""Records TensorFlow's table, with logical CPUs instead of GPUs: `python -m tests.variable_placement.record`."""

from __future__ import annotations

import json
import sys
import time
from importlib import import_module
from typing import Any

from tests.variable_placement.scopes import FEW, PHASED, SCOPES
from tests.variable_placement.table import (
    CPU_STAND_IN,
    MIXING,
    RECORDED,
    Cell,
    is_mixing,
    opener_of,
    outcome,
    packed,
    stand_in,
)
from tests.variable_placement.ways import slow_ways, table_of_ways


def main(only: list[str]) -> None:
    tf: Any = import_module("tensorflow")  # only recording needs it

    cpus = tf.config.list_physical_devices("CPU")
    tf.config.set_logical_device_configuration(
        cpus[0], [tf.config.LogicalDeviceConfiguration() for _ in range(CPU_STAND_IN + 1)]
    )
    table: dict[str, Any] = json.loads(RECORDED.read_text()) if only != [""] and RECORDED.exists() else {}
    for way in table_of_ways():
        if any(text in way for text in only):
            begin = time.time()
            table[way] = record_way(tf, way)
            print(f"{way}: {len(table[way]['cells'])} cells, {time.time() - begin:.1f} s", flush=True)
            RECORDED.write_text(_compact(table))


def record_way(tf: Any, way: str) -> dict[str, Any]:
    """Returns the variables' names, and their devices in each cell that TensorFlow accepts."""
    count, codes = outcome(tf, Cell(way, "nothing"), stand_in, SCOPES["nothing"](tf, stand_in))
    names = list(codes)
    cells = {"nothing": packed(names, codes)} if names else {}
    for scope in SCOPES:
        if scope == "nothing" or (scope not in FEW and way in slow_ways()):
            continue
        for phase in (None, *(range(count) if count > 1 and scope in PHASED else ())):
            cell = Cell(way, scope, phase)
            try:
                _, codes = outcome(tf, cell, stand_in, opener_of(tf, scope, stand_in))
                names = names or list(codes)
                cells[cell.title] = packed(names, codes)
            except Exception as error:
                if is_mixing(error):
                    cells[cell.title] = MIXING
                print(f"  {way} | {cell.title}: {type(error).__name__}: {str(error).splitlines()[:1]}", flush=True)
    return {"names": names, "cells": cells}


def _compact(table: dict[str, Any]) -> str:
    lines = [f" {json.dumps(way)}: {json.dumps(entry)}" for way, entry in table.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    main(sys.argv[1:] or [""])
