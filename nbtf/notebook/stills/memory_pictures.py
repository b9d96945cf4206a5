"""Pictures of the memory in a recording, or in what a notebook's session has recorded."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import takewhile
from typing import Any

from nbtf import runtime
from nbtf._counts import counted
from nbtf._devices.lent import FIRST_LENT_REGION
from nbtf._devices.sites import file_and_line
from nbtf._displayed import Displayed
from nbtf._own_name import own_name
from nbtf._runtime.fitting import Maps, fit_of_device
from nbtf.notebook.device_names import full_name
from nbtf.notebook.holders.holders import holder_names
from nbtf.notebook.session import SESSIONS, Session
from nbtf.notebook.stills.device_memory import memory_chunks, memory_plane, memory_stack, treemap
from nbtf.notebook.stills.marks import Picture
from nbtf.notebook.stills.memory_data import memory_data
from nbtf.notebook.stills.memory_history import Addresses, CodeLine, MemoryHistory
from nbtf.notebook.stills.memory_refusal import NO_PIECES, Fits
from nbtf.notebook.stills.out_of_memory import OutOfMemory, out_of_memory
from nbtf.notebook.stills.schedule import no_recording
from nbtf.notebook.stills.svg import to_html, to_svg

VIEWS = "plane", "stacked", "treemap"
MOST_EVENTS = 1_000_000
"""Number of a session's events that are replayed to find the state before a cell: two seconds of work."""

MOST_LIVE_EVENTS = 50_000
"""Number of a session's events that are replayed while a reader waits for the picture of a failed request."""

MOST_LIVE_STEPS = 200
"""Last memory steps of a device in that picture."""

_SECONDS = 1.0
"""Maximum duration of a search for names."""

_FAILURE_SECONDS = 0.5
"""Maximum duration of a search for names, and of replays, before a failure is shown."""

_FAILURE_STEPS = 60
"""Last memory steps of a device in the picture below an error, which the notebook stores."""

_REPLAYED, _RECENT = 30_000, 2000
"""Maximum number of a session's events that are replayed before a failure is shown, and events searched for it."""


class Still(Displayed):
    """A picture for a notebook's output. As text, it prints a sentence that describes the picture."""

    def __init__(self, picture: Picture) -> None:
        """Stores the picture."""
        self.picture = picture

    def __repr__(self) -> str:
        """Returns the description."""
        return self.picture.title

    def _repr_svg_(self) -> str:
        """Returns the picture as SVG."""
        return to_svg(self.picture)

    def _repr_html_(self) -> str:
        """Returns the picture as an image, which shrinks to its cell and is shown even in untrusted notebooks."""
        return to_html(self.picture)


def memory_picture(
    record: runtime.Recording,
    device: str = "GPU:0",
    view: str = "plane",
    step: int | None = None,
) -> Still:
    """Returns a picture of a simulated GPU's memory in a recording.

    Args:
      record: a recording from `tf.runtime.recording()`.
      device: name of the GPU, such as `"GPU:0"`.
      view: `"plane"` draws addresses over steps; `"stacked"`, the memory of each kind of holder over time; `"treemap"`,
        the memory of each holder at one step.
      step: number of the step, from 0; each event that allocated or freed memory, or failed to, is a step. Selects the
        chunks beside the plane (default: the last step) or the pieces of the treemap (default: the peak).

    Raises:
      TypeError: if `record` is not a recording.
      ValueError: if the view or the step does not exist, the recording has lost its first events, or no event is about
        the memory of the device.

    >>> tf.runtime.restart()
    >>> _ = tf.runtime.simulate_gpus(1, memory="64MiB")
    1 simulated GPU (Tesla V100-SXM2-16GB, 64 MiB): NumPy on this computer's CPU. No GPU is used.
    >>> with tf.runtime.recording() as record:
    ...     x = tf.zeros([2**22])
    >>> tf.notebook.memory_picture(record)
    Memory of GPU:0: 16 of 64 MiB in use.
    """
    if view not in VIEWS:
        raise ValueError(f"Unknown view {view!r}. Expected one of {', '.join(map(repr, VIEWS))}.")
    if not isinstance(record, runtime.Recording):  # pyright: ignore[reportUnnecessaryIsInstance]  # from a user
        raise no_recording(record)
    snapshot, name = record.snapshot(), runtime.without_cuda(device)
    full = _checked(snapshot, name)
    changes, at_start = snapshot.memory()[full], record.regions_before(name)
    gpu = _devices_now().get(runtime.short_name(full))
    history = MemoryHistory(full, _limit(changes, gpu), changes, at_start, lines=snapshot.lines())
    if step is not None and not 0 <= step < history.steps:
        raise ValueError(f"Step {step} does not exist. Expected 0 to {history.steps - 1}.")
    return _picture(view, history, step, _fits(record, full, gpu), _code_line())


def _code_line() -> CodeLine:
    """Returns the function that formats code lines: in a notebook, by the number of the cell."""
    return next((session.code_line for session in SESSIONS.values()), file_and_line)


def memory_scenes(
    record: runtime.Recording,
    code_line: CodeLine,
    snapshot: runtime.Snapshot | None = None,
    most: int | None = None,
) -> list[dict[str, Any]]:
    """Returns the data from which a page draws the memory of each device, the busiest first.

    If the first events are no longer kept, returns nothing, because the layout of memory is unknown.

    Args:
      record: a recording from `tf.runtime.recording()`.
      code_line: formats a line of the program as text.
      snapshot: a snapshot of the recording, if the caller already has one.
      most: number of steps per device, counted from the last; None returns all.
    """
    snapshot = snapshot or record.snapshot()
    if snapshot.cut:
        return []
    lines, names_at_end, devices = snapshot.lines(), _names_at_end(snapshot), _devices_now()
    scenes: list[dict[str, Any]] = []
    for name, changes in _busiest_first(snapshot.memory()):
        regions, last_changes = _last_steps(changes, name, record.regions_before(name), most)
        short = runtime.short_name(name)
        limit = _limit(changes, devices.get(short))
        history = MemoryHistory(name, limit, last_changes, regions, names_at_end.get(short), lines=lines)
        fits = _fits(record, name, devices.get(short)) if last_changes is changes else None
        scenes.append(memory_data(history, fits, code_line=code_line))
    return scenes


def _names_at_end(snapshot: runtime.Snapshot) -> dict[str, dict[tuple[int, int], str]]:
    """Returns the holders of each device's pieces at the end of a recording: current names if nothing came after it."""
    session = next(iter(SESSIONS.values()), None)
    if session is None or session.recorder.snapshot(0).heard > MOST_EVENTS:
        return {}
    newest = {name: changes[-1].seq for name, changes in session.recorder.snapshot().memory().items()}
    unchanged = [
        runtime.short_name(name) for name, changes in snapshot.memory().items() if newest.get(name) == changes[-1].seq
    ]
    names, _ = holder_names(session, _SECONDS) if unchanged else ({}, True)
    return {device: {piece[1:]: text for piece, text in names.items() if piece[0] == device} for device in unchanged}


def _busiest_first(changes: dict[str, list[runtime.Event]]) -> list[tuple[str, list[runtime.Event]]]:
    """Returns devices and the events of their memory, the device with the most events first."""
    return sorted(changes.items(), key=lambda entry: -len(entry[1]))


def _last_steps(
    changes: Sequence[runtime.Event], device: str, regions: Any, limit: int | None
) -> tuple[Any, Sequence[runtime.Event]]:
    """Returns the regions before the last steps of a device's memory, and these steps."""
    if limit is None or len(changes) <= limit:
        return regions, changes
    replay = runtime.MemoryReplay(device, regions)
    for event in changes[:-limit]:
        replay.take(event)
    return replay.regions(), changes[-limit:]


def _checked(snapshot: runtime.Snapshot, name: str) -> str:
    """Returns the full name of a device, if the events describe all of its memory."""
    if snapshot.cut:
        raise ValueError(
            f"The first {counted(snapshot.cut, 'event is', 'events are')} no longer kept. "
            "Record with recording(capacity=...) to keep more."
        )
    short = runtime.short_name(name)
    full = [device for device in snapshot.memory() if runtime.short_name(device) == short]
    if not full:
        raise ValueError(f"No memory of '{name}' was allocated in this recording. Only simulated GPUs have addresses.")
    return full[0]


def _devices_now() -> dict[str, runtime.DeviceInfo]:
    """Returns the devices of this process by short name. A caller asks once, because there may be 1,024."""
    return {each.name: each for each in runtime.devices()}


def _limit(changes: Sequence[runtime.Event], gpu: runtime.DeviceInfo | None) -> int:
    """Returns the memory limit of a device, as it was at a failed request if there was one; `gpu` is the device now."""
    limits = [event.limit for event in changes if isinstance(event, runtime.Refused)]
    is_lent = any(getattr(event, "region", -1) >= FIRST_LENT_REGION for event in changes)
    limit_now = None if gpu is None else gpu.memory if is_lent else gpu.memory_limit
    limits += [limit_now] if limit_now else []
    return limits[0] if limits else max((getattr(event, "pool", 0) for event in changes), default=0)


def _fits(record: runtime.Recording, device: str, gpu: runtime.DeviceInfo | None) -> Fits | None:
    """Returns a function that retries a recording's requests on a device; None if the device no longer exists."""
    fits = partial(record.fits, device=device)
    return None if gpu is None or not gpu.simulated else fits if gpu.cuda is None else _if_possible(fits)


def _if_possible(fits: Fits) -> Fits | None:
    """Returns the function if it can be called: several libraries may use the card, or the first events be lost."""
    try:
        fits(None)
    except (NotImplementedError, ValueError):
        return None
    return fits


def _picture(
    view: str,
    history: MemoryHistory,
    step: int | None,
    fits: Fits | None,
    code_line: CodeLine,
) -> Still:
    if view == "plane":
        return Still(memory_plane(history, step=step, fits=fits, code_line=code_line))
    if view == "stacked":
        return Still(memory_stack(history, code_line=code_line))
    return Still(treemap(history, step=step))

    # What a session has recorded


def steps_by_device(session: Session) -> Counter[str]:
    """Returns the number of events about the memory of each device, by short name, since the last restart."""
    changes = _today(session)[0].memory()
    return Counter({runtime.short_name(name): len(of_device) for name, of_device in changes.items()})


def picture_of_session(session: Session, name: str, view: str) -> Still:
    """Returns a picture of a device's memory; the plane shows the chunks at the last failed request, if there was one.

    Args:
      session: the session to draw; events before the last restart are ignored.
      name: short name of the device.
      view: one of `VIEWS`.

    Raises:
      ValueError: if the first events are no longer kept.
    """
    cut = session.recorder.snapshot().cut
    if cut:
        raise ValueError(
            f"The first {counted(cut, 'event of the session is', 'events of the session are')} no longer kept. "
            f"To record one cell: with {own_name()}.runtime.recording() as record; then "
            f"{own_name()}.notebook.memory_picture(record)."
        )
    history, fits = _history_of(session, name)
    step = history.refusals[-1].step if history.refusals else None
    return _picture(view, history, step if view == "plane" else None, fits, session.code_line)


def picture_of_failure(session: Session, name: str) -> OutOfMemory | None:
    """Returns a picture of the last request that a device rejected; None if none is known.

    The picture must appear at once: the search for names and the replays take half a second each at most. After many
    events, it shows only the memory at the failure.

    Args:
      session: the session that recorded the failure.
      name: short name of the device.
    """
    recent, full = session.recorder.snapshot(_RECENT), str(full_name(name))
    refused = [event for event in recent.memory().get(full, []) if isinstance(event, runtime.Refused)]
    if not refused:
        return None
    if recent.heard <= _REPLAYED:
        history, fits = _history_of(session, name, _FAILURE_SECONDS, _FAILURE_STEPS)
    else:
        regions, names = runtime.memory_map(name), _names_on(session, name, _FAILURE_SECONDS)
        history, fits = MemoryHistory(full, refused[-1].limit, refused[-1:], regions, names, lines=recent.lines()), None
        if history.in_use[-1] != refused[-1].in_use:
            return None  # memory was freed after the failure
    deadline = time.monotonic() + _FAILURE_SECONDS
    return out_of_memory(history, fits, lambda: time.monotonic() > deadline, code_line=session.code_line)


def memory_scenes_of_session(session: Session) -> list[dict[str, Any]]:
    """Returns the data from which a page draws each device's memory since the last restart; see `memory_scenes`."""
    if session.recorder.snapshot().cut:
        return []
    histories = [_history_of(session, name) for name, _ in steps_by_device(session).most_common()]
    return [memory_data(history, fits, code_line=session.code_line) for history, fits in histories]


def memory_scenes_of_run(session: Session, run: runtime.Scene, most: int | None = None) -> list[dict[str, Any]]:
    """Returns the data from which a page draws the memory of each device in one run of a cell; see `memory_scenes`.

    If the first events of the session are no longer kept, returns nothing, because the layout of memory is unknown.

    Args:
      session: the session that recorded it.
      run: a run since the last restart.
      most: number of steps per device, counted from the last; None returns all.
    """
    if session.recorder.snapshot(0).heard > MOST_EVENTS:
        return []
    snapshot, is_first = _today(session)
    lines, by_device, devices = snapshot.lines(), snapshot.memory(), _devices_now()
    in_run = {name: [event for event in changes if run.has(event)] for name, changes in by_device.items()}
    scenes: list[dict[str, Any]] = []
    for name, changes in _busiest_first({name: changes for name, changes in in_run.items() if changes}):
        short = runtime.short_name(name)
        replay = runtime.MemoryReplay(name, session.recording.regions_before(short) if is_first else ())
        for event in takewhile(lambda event: event.seq < run.first, by_device[name]):
            replay.take(event)
        regions, last_changes = _last_steps(changes, name, replay.regions(), most)
        names = _names_on(session, short) if run == session.recorder.scenes[-1] else None
        limit = _limit(by_device[name], devices.get(short))
        history = MemoryHistory(name, limit, last_changes, regions, names, lines=lines)
        scenes.append(memory_data(history, code_line=session.code_line))
    return scenes


def memory_scene_at(
    session: Session, refused: runtime.Refused, names: Callable[[Sequence[Any]], Addresses]
) -> dict[str, Any] | None:
    """Returns the data from which a page draws a device's memory up to a failed request; see `memory_data`.

    After very many events, only the layout at the request is drawn; None if the memory has changed since.

    Args:
      session: the session that recorded it.
      refused: the failed request.
      names: returns the names of what is in use, given the regions at the request.
    """
    short, recorder = runtime.short_name(refused.device), session.recorder
    if recorder.snapshot(0).heard > MOST_LIVE_EVENTS:
        regions: Any = runtime.memory_map(short)
        used = sum([chunk.size for region in regions for chunk in region.chunks if chunk.in_use])
        if used != refused.in_use:
            return None
        steps, lines, at_request = [refused], None, regions
    else:
        snapshot, is_first = _today(session)
        changes = [event for event in snapshot.memory().get(refused.device, ()) if event.seq <= refused.seq]
        at_start = session.recording.regions_before(short) if is_first else ()
        regions, steps = _last_steps(changes, refused.device, at_start, MOST_LIVE_STEPS)
        replay = runtime.MemoryReplay(refused.device, regions)
        for event in steps:
            replay.take(event)
        lines, at_request = snapshot.lines(), replay.regions()
    history = MemoryHistory(refused.device, refused.limit, steps, regions, names(at_request), lines=lines)
    return memory_data(history, code_line=session.code_line)


def _history_of(
    session: Session, name: str, seconds: float | None = None, most: int | None = None
) -> tuple[MemoryHistory, Fits | None]:
    """Returns a device's memory history since the last restart, and a function that retries its requests.

    Args:
      session: the session that recorded it.
      name: short name of the device.
      seconds: maximum duration of the search for names; None is a second.
      most: number of steps, counted from the last; None returns all.
    """
    snapshot, is_first = _today(session)
    full, record = str(full_name(name)), session.recording
    changes, at_start = snapshot.memory().get(full, []), record.regions_before(name) if is_first else ()
    regions, steps = _last_steps(changes, full, at_start, most)
    scenes, names = [scene.first for scene in session.recorder.scenes], _names_on(session, name, seconds)
    gpu = _devices_now().get(runtime.short_name(full))
    history = MemoryHistory(full, _limit(changes, gpu), steps, regions, names, scenes, snapshot.lines())
    return history, _fits(record, full, gpu) if is_first else _fits_since_restart(session, full)


def _fits_since_restart(session: Session, full: str) -> Fits | None:
    """Returns a function that retries a device's requests since the last restart; None if that is not possible."""
    scenes = session.recorder.scenes
    first = next(scene.first for scene in scenes if scene.machine == scenes[-1].machine)
    snapshot = session.recorder.snapshot()
    maps: Maps = {full: (first - 1, ())}
    return _if_possible(lambda limit, without=NO_PIECES: fit_of_device(snapshot, maps, full, limit, without))


def picture_of_map(regions: runtime.MemoryMap, session: Session | None) -> Still:
    """Returns a picture of a device's chunks; it shows current names if nothing has changed since.

    Args:
      regions: a map from `tf.runtime.memory_map`.
      session: the session whose variables are searched for names; None searches for none.
    """
    short = runtime.short_name(regions.device)
    is_here = any(each.name == short and each.simulated for each in runtime.devices())
    is_current = is_here and runtime.memory_map(short) == regions
    names: Addresses = _names_on(session, short) if session is not None and is_current else {}
    return Still(memory_chunks(MemoryHistory(regions.device, regions.limit, (), regions, names)))


def _names_on(session: Session, name: str, seconds: float | None = None) -> Addresses:
    """Returns the holders of a device's pieces, by region and offset, found in at most so many seconds."""
    names, _ = holder_names(session, _SECONDS if seconds is None else seconds)
    return {piece[1:]: text for piece, text in names.items() if piece[0] == name}


def _today(session: Session) -> tuple[runtime.Snapshot, bool]:
    """Returns the events since the last restart, and whether the runtime has never been restarted."""
    recorder = session.recorder
    snapshot, scenes = recorder.snapshot(), recorder.scenes
    if not scenes or scenes[0].machine == scenes[-1].machine:
        return snapshot, not scenes or scenes[0].machine == 1
    first = next(scene for scene in scenes if scene.machine == scenes[-1].machine)
    return snapshot._replace(events=recorder.events_of(first._replace(last=None))), False
