"""The table: each cell is a way, a scope, and the phase of the way in which the scope is open."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from tests.variable_placement.phases import Device, Way
from tests.variable_placement.scopes import OUTERMOST, SCOPES, Opener
from tests.variable_placement.ways import table_of_ways

RECORDED = Path(__file__).parents[1] / "recorded" / "variable_placement.json"

HOST_DTYPES = ("int32", "string")
"""TensorFlow stores variables of these dtypes on the CPU. If CPUs replace GPUs, they are on the requested device."""

CPU_STAND_IN = 4
"""The number of the CPU that counts as the CPU in recordings where TensorFlow's other CPUs replace GPUs."""


MIXING = "mixing"
"""Marks cells in which a program is rejected because it mixes strategies."""


class Cell(NamedTuple):
    """A way, a scope, and the number of the phase in which it is open; None for all phases."""

    way: str
    scope: str
    phase: int | None = None

    @property
    def title(self) -> str:
        """Returns the cell's name in the recorded table."""
        return self.scope if self.phase is None else f"{self.scope} @ {self.phase}"


def gpu_or_cpu(number: int | None) -> str:
    """Returns nbtf's device names."""
    return "/CPU:0" if number is None else f"/GPU:{number}"


def stand_in(number: int | None) -> str:
    """Returns the device names of a TensorFlow without GPUs."""
    return f"/CPU:{CPU_STAND_IN if number is None else number}"


def run(tf: Any, way: Way, device: Device, opener: Opener, phase: int | None) -> tuple[int, list[Any]]:
    """Returns the number of a way's phases, and the variables that it created."""
    tf.keras.utils.clear_session(free_memory=False)
    phases, count = way(tf, device), 0
    while True:
        try:
            with opener() if phase is None or phase == count else nullcontext():
                next(phases)
            count += 1
        except StopIteration as end:
            return count, list(end.value)


def copies(variable: Any) -> Iterable[Any]:
    """Returns the copies of a variable on several devices, or the variable itself if it has no copies."""
    value = getattr(variable, "value", None)
    whole = variable if value is None or callable(value) else value
    return getattr(whole, "values", (whole,))


def described(variables: Iterable[Any], tf: Any, is_graph: bool) -> dict[str, str]:
    """Returns the numbers of the GPUs that store variables, by variable name; `c` means the CPU."""
    codes: dict[str, str] = {}
    for entry in variables:
        name, variable = entry if isinstance(entry, tuple) else (None, entry)
        name = name or str(getattr(variable, "path", variable.name)).removesuffix(":0")
        if "seed_generator" not in name:  # nbtf keeps no variable for seeds
            codes[name] = "".join([_code(copy, tf, is_graph) for copy in copies(variable)])
    return codes


def _code(variable: Any, tf: Any, is_graph: bool) -> str:
    kind, _, number = str(variable.device).rpartition("/")[2].removeprefix("device:").partition(":")
    if not kind:
        return "-"
    if tf.__name__ == "nbtf":
        return "c" if kind == "CPU" else number
    dtype = getattr(variable.dtype, "base_dtype", variable.dtype)
    is_on_host = not is_graph and getattr(dtype, "name", dtype) in HOST_DTYPES
    return "c" if is_on_host or number == str(CPU_STAND_IN) else number


def outcome(tf: Any, cell: Cell, device: Device, opener: Opener) -> tuple[int, dict[str, str]]:
    """Returns the number of a cell's phases, and its variables' devices."""
    count, variables = run(tf, table_of_ways()[cell.way], device, opener, cell.phase)
    return count, described(variables, tf, cell.way.startswith("v1 "))


def recorded() -> dict[str, dict[str, Any]]:
    """Returns TensorFlow's table: each way's variable names, and their devices in each cell."""
    return json.loads(RECORDED.read_text())


def recorded_cells() -> Generator[tuple[Cell, dict[str, str]]]:
    """Yields all cells of TensorFlow and nbtf's additional cells, with their variables' devices."""
    for way, entry in recorded().items():
        for title, codes in entry["cells"].items():
            scope, _, phase = title.partition(" @ ")
            number = int(phase) if phase else None
            expected = unpacked(entry["names"], codes)
            yield Cell(way, scope, number), expected
            for name, (counterpart, _) in OUTERMOST.items():
                if counterpart == scope and not way.startswith("v1 "):
                    yield Cell(way, name, number), expected


def is_mixing(error: BaseException) -> bool:
    """Returns whether an error reports that a program mixes strategies."""
    return isinstance(error, RuntimeError) and ("Mixing different" in str(error) or "Need to be inside" in str(error))


def packed(names: list[str], codes: dict[str, str]) -> str:
    """Returns codes in the order of names, or a single code if all are equal."""
    values = [codes[name] for name in names]
    return values[0] if len(set(values)) == 1 else " ".join(values)


def unpacked(names: list[str], codes: str) -> dict[str, str]:
    """Returns the unpacked codes."""
    values = codes.split(" ")
    return dict(zip(names, values if len(values) > 1 else values * len(names), strict=True))


def opener_of(tf: Any, scope: str, device: Device) -> Opener:
    """Returns a function that opens a scope of the table."""
    make = SCOPES[scope] if scope in SCOPES else OUTERMOST[scope][1]
    return make(tf, device)
