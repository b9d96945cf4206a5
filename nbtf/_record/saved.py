"""How is a recording saved to a file, and read again? As an archive of JSON and columns, without pickles.

The archive (zip) has a manifest with sizes and SHA-256, `recording.json` with what occurs once, and `columns.npz` with
the table. The schema has a number; other numbers are rejected.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from nbtf._devices.base import Label
from nbtf._devices.bfc.report import ChunkView, RegionView
from nbtf._record import columns
from nbtf._record.density import Densities, Density
from nbtf._record.descriptions import REASON, SITE, read_event, write_event
from nbtf._record.events import Traced
from nbtf._record.opened import OpenedRecording, RecordedDevice
from nbtf._record.recorder import Recorder, Scene, State
from nbtf._record.totals import Snapshot, Totals
from nbtf._storage import packing
from nbtf._storage.archives import read_arrays, write_arrays
from nbtf._storage.documents import Schema, as_document, parse_document
from nbtf._storage.limits import saving
from nbtf._storage.reading import path_text
from nbtf._storage.refusal import RefusedFileError, refusing

SCHEMA = "nbtf-recording/1"
DOCUMENT, COLUMNS = "recording.json", "columns.npz"

_OPS = "ops", "nbytes", "modelled", "unsized"
_ROUTES = (
    "copies copied_bytes moves moved_bytes small_moves small_moved_bytes small_copies small_copied_bytes"
).split()
_LABEL: Schema = ([str, str, [int], SITE.schema], None)
_DENSITY: Schema = {"origin": float, "exponent": int, "lanes": [[str, str, [float]]]}
_DOCUMENT: Schema = {
    "schema": str,
    "devices": [[str, int, bool, str]],
    "maps": {str: [int, [[int, int, [[int, int, bool, int, _LABEL, (int, None), str]]]]]},
    "memory": ([[str, bool, int, int, int, str, str]], None),
    "unrecorded": {str: [str]},
    "unmeasured": {str: [str]},
    "capacity": int,
    "scenes": [[int, int, str, int, (int, None)]],
    "totals": {
        "heard": int,
        "executed": int,
        "ops": [[str, str, [str, str, [[str, str, str]]], int, (int, None), (float, None), (int, None)]],
        "routes": [[str, str, [(int, None)]]],
        "allocations": {str: int},
        "peaks": {str: int},
        "library_peaks": [[str, str, int]],
        "traces": [[object]],
    },
    "densities": [_DENSITY, _DENSITY],
    "facts": columns.SCHEMA,
}

Maps = Mapping[str, tuple[int, Sequence[RegionView]]]


class Surroundings(NamedTuple):
    """The machine of a recording, and the work that was not recorded.

    Attributes:
      devices: devices of the machine.
      maps: for each device by full name, the number of the last event before its memory map, and the map.
      memory: the fields of each `MemoryUse`; None if the recording has no measured beginning.
      unrecorded: sentences about work that was not recorded, by the library's module name.
      unmeasured: sentences about memory that was not measured, by the library's module name.
    """

    devices: Sequence[RecordedDevice]
    maps: Maps
    memory: Sequence[tuple[Any, ...]] | None
    unrecorded: Mapping[str, Sequence[str]]
    unmeasured: Mapping[str, Sequence[str]]


def recorded_devices(devices: Iterable[Any]) -> list[RecordedDevice]:
    """Returns devices in the form of files, given their `DeviceInfo`."""
    return [
        RecordedDevice(each.name, each.memory_limit or each.memory or 0, each.simulated, each.model or "")
        for each in devices
    ]


def save_recording(path: str | os.PathLike[str], recorder: Recorder, surroundings: Surroundings) -> int:
    """Saves a recorder's events and totals; an existing file is replaced in one step.

    Returns:
      The number of events that were saved.

    Raises:
      UnsavableError: if a limit of saved files is exceeded.
      OSError: if the file cannot be written.
    """
    state = recorder.state()
    table, facts = columns.written(state.blocks)
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "devices": [[each.name, int(each.limit), each.simulated, each.model] for each in surroundings.devices],
        "maps": {name: [number, _write_map(regions)] for name, (number, regions) in surroundings.maps.items()},
        "memory": None if surroundings.memory is None else [list(use) for use in surroundings.memory],
        "unrecorded": {name: list(texts) for name, texts in surroundings.unrecorded.items()},
        "unmeasured": {name: list(texts) for name, texts in surroundings.unmeasured.items()},
        "capacity": state.capacity,
        "scenes": [list(scene) for scene in state.scenes],
        "totals": _write_totals(state.totals.snapshot()),
        "densities": [_write_density(each) for each in state.densities],
        "facts": facts,
    }
    with saving(path_text(path)):
        file = io.BytesIO()
        write_arrays(file, table)
        contents = {DOCUMENT: as_document(document, _DOCUMENT), COLUMNS: file.getvalue()}
    packing.write(path, contents)
    return len(recorder.snapshot().events)


class SavedRecording(OpenedRecording):
    """A recording that nbtf saved, with its machine and the work that was not recorded.

    Attributes:
      surroundings: the machine, and what was not recorded.
    """

    def __init__(self, source: str, recorder: Recorder, surroundings: Surroundings) -> None:
        """Stores a recorder that was read from a file."""
        maps = {name: regions for name, (_, regions) in surroundings.maps.items()}
        super().__init__(source, recorder, surroundings.devices, maps)
        self.surroundings: Surroundings = surroundings


def read_recording(path: str | os.PathLike[str]) -> SavedRecording:
    """Returns the recording in a file that `save_recording` wrote.

    Raises:
      OSError: if the file cannot be read.
      RefusedFileError: if it is not a recording, is damaged, or was written by a later nbtf.
    """
    source = path_text(path)
    contents = packing.read(path, (DOCUMENT, COLUMNS))
    _check_schema(contents[DOCUMENT], source)
    document: dict[str, Any] = parse_document(contents[DOCUMENT], source, _DOCUMENT)
    with refusing(source):
        table = read_arrays(io.BytesIO(contents[COLUMNS]), source)
        blocks = columns.read(table, document["facts"], source)
        totals = _read_totals(document["totals"], source)
        densities = Densities(*[_read_density(each) for each in document["densities"]])
        scenes = tuple([Scene(*fields) for fields in document["scenes"]])
        event_count = min(sum([block.events for block in blocks]), document["capacity"])
        if totals.snapshot().heard < event_count:
            raise ValueError(f"it has {event_count:,} events, but fewer were counted.")
        recorder = Recorder.of(State(document["capacity"], blocks, totals, densities, scenes))
        devices = [RecordedDevice(*fields) for fields in document["devices"]]
        maps = {name: (number, _read_map(regions)) for name, (number, regions) in document["maps"].items()}
        memory = None if document["memory"] is None else [tuple(use) for use in document["memory"]]
        beside = Surroundings(devices, maps, memory, document["unrecorded"], document["unmeasured"])
        return SavedRecording(source, recorder, beside)


def _check_schema(content: bytes, source: str) -> None:
    with refusing(source, "is not a recording"):
        document: Any = json.loads(content)
        schema = cast("Any", document).get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA:
        is_later = isinstance(schema, str) and schema.startswith("nbtf-recording/")
        advice = "Update nbtf to read it." if is_later else "Expected a file that `record.save(FILE)` wrote."
        raise RefusedFileError(f"{source} has the schema {schema!r:.60}; this nbtf reads {SCHEMA!r}. {advice}")


# Memory maps


def _write_map(regions: Sequence[RegionView]) -> list[Any]:
    return [[each.region, each.size, [_write_chunk(chunk) for chunk in each.chunks]] for each in regions]


def _write_chunk(chunk: ChunkView) -> list[Any]:
    label = chunk.label
    own_label = None
    if hasattr(label, "op"):
        own_label = [str(label.op), str(label.dtype), [int(size) for size in label.shape], SITE.write(label.site)]
    return [chunk.offset, chunk.size, chunk.in_use, chunk.requested, own_label, chunk.bin, chunk.holder]


def _read_map(regions: Sequence[Any]) -> tuple[RegionView, ...]:
    views: list[RegionView] = []
    for number, size, chunks in regions:
        read: list[ChunkView] = []
        for offset, nbytes, in_use, requested, label, bin_number, holder in chunks:
            own_label = None if label is None else Label(label[0], label[1], tuple(label[2]), SITE.read(label[3]))
            read.append(ChunkView(offset, nbytes, in_use, requested, own_label, bin_number, holder))
        views.append(RegionView(number, size, tuple(read)))
    return tuple(views)


# Totals


def _write_totals(totals: Snapshot) -> dict[str, Any]:
    ops: list[list[Any]] = []
    for key, count in totals.ops.items():
        op, device, reason = key
        seconds = totals.modelled.get(key)
        modelled = None if seconds is None else float(seconds)
        figures = count, totals.nbytes.get(key), modelled, totals.unsized.get(key)
        ops.append([op, device, REASON.write(reason), *figures])
    routes = [[*route, [getattr(totals, name).get(route) for name in _ROUTES]] for route in totals.copies]
    return {
        "heard": totals.heard,
        "executed": totals.executed,
        "ops": ops,
        "routes": routes,
        "allocations": totals.allocations,
        "peaks": totals.peaks,
        "library_peaks": [[*key, peak] for key, peak in totals.library_peaks.items()],
        "traces": [write_event(trace) for trace in totals.traces],
    }


def _read_totals(document: Mapping[str, Any], source: str) -> Totals:
    fields: dict[str, Any] = {"heard": document["heard"], "executed": document["executed"]}
    figures: dict[str, dict[Any, Any]] = {name: {} for name in (*_OPS, *_ROUTES)}
    for op, device, reason, *numbers in document["ops"]:
        key = op, device, REASON.read(reason)
        for name, number in zip(_OPS, numbers, strict=True):
            if number is not None:
                figures[name][key] = number
    for start, end, numbers in document["routes"]:
        for name, number in zip(_ROUTES, numbers, strict=True):
            if number is not None:
                figures[name][start, end] = number
    traces = tuple([read_event(trace, source) for trace in document["traces"]])
    if not all(isinstance(trace, Traced) for trace in traces):
        raise ValueError("an event that is not a trace is listed as one.")
    fields |= figures | {name: document[name] for name in ("allocations", "peaks")}
    peaks = {(library, device): peak for library, device, peak in document["library_peaks"]}
    return Totals(Totals().snapshot()._asdict() | fields | {"traces": traces, "library_peaks": peaks})


def _write_density(density: Density) -> dict[str, Any]:
    lanes = [[*lane, bins.tolist()] for lane, bins in density.bins.items()]
    return {"origin": float(density.origin), "exponent": density.exponent, "lanes": lanes}


def _read_density(document: Mapping[str, Any]) -> Density:
    if not -200 <= document["exponent"] <= 200:
        raise ValueError(f"{document['exponent']} is not the exponent of a bin's width.")
    bins = {(device, phase): np.array(values, np.float64) for device, phase, values in document["lanes"]}
    return Density(document["origin"], document["exponent"], bins)
