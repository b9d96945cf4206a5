"""Pictures of the memory in a recording, or in what a notebook's session has recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import takewhile
from typing import Any

from nbtf import runtime
from nbtf._counts import counted
from nbtf._devices.lent import FIRST_LENT_REGION
from nbtf._devices.sites import file_and_line
from nbtf.notebook.device_names import full_name
from nbtf.notebook.holders.holders import holder_names
from nbtf.notebook.session import SESSIONS, Session
from nbtf.notebook.stills.marks import Picture
from nbtf.notebook.stills.memory_axis import CodeLine
from nbtf.notebook.stills.memory_bands import Words
from nbtf.notebook.stills.memory_chunks import memory_chunks
from nbtf.notebook.stills.memory_data import memory_data
from nbtf.notebook.stills.memory_history import Addresses, MemoryHistory
from nbtf.notebook.stills.memory_plane import memory_plane
from nbtf.notebook.stills.memory_refusal import Fits
from nbtf.notebook.stills.memory_stack import memory_stack
from nbtf.notebook.stills.schedule import no_recording
from nbtf.notebook.stills.svg import to_html, to_svg
from nbtf.notebook.stills.treemap import treemap

VIEWS = "plane", "stacked", "treemap"
MOST_EVENTS = 1_000_000
"""Number of a session's events that are replayed to find the state before a cell: two seconds of work."""

_SECONDS = 1.0
"""Maximum duration of a search for names."""


class Still:
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
    words: Words | None = None,
) -> Still:
    """Returns a picture of a simulated GPU's memory in a recording.

    Args:
      record: a recording from `tf.runtime.recording()`.
      device: name of the GPU, such as `"GPU:0"`.
      view: `"plane"` draws addresses over steps; `"stacked"`, the memory of each kind of holder over time; `"treemap"`,
        the memory of each holder at one step.
      step: number of the step, from 0; each event that allocated or freed memory, or failed to, is a step. Selects the
        chunks beside the plane (default: the last step) or the pieces of the treemap (default: the peak).
      words: texts of the catalogue's sections `timeline` and `memoryPicture`; None uses those of the environment's
        language (`NBTF_LANG`).

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
    changes, before = snapshot.memory()[full], record.regions_before(name)
    history = MemoryHistory(full, _limit(changes, full), changes, before, lines=snapshot.lines())
    if step is not None and not 0 <= step < history.steps:
        raise ValueError(f"Step {step} does not exist. Expected 0 to {history.steps - 1}.")
    return _picture(view, history, step, _fits(record, full), _code_line(), words)


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
    lines, names_at_end = snapshot.lines(), _names_at_end(snapshot)
    scenes: list[dict[str, Any]] = []
    for name, changes in _busiest_first(snapshot.memory()):
        regions, last_changes = _last_steps(changes, name, record.regions_before(name), most)
        names = names_at_end.get(runtime.short_name(name))
        history = MemoryHistory(name, _limit(changes, name), last_changes, regions, names, lines=lines)
        fits = _fits(record, name) if last_changes is changes else None
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


def _limit(changes: Sequence[runtime.Event], device: str) -> int:
    """Returns the memory limit of a device, as it was at a failed request if there was one."""
    limits = [event.limit for event in changes if isinstance(event, runtime.Refused)]
    short = runtime.short_name(device)
    is_lent = any(getattr(event, "region", -1) >= FIRST_LENT_REGION for event in changes)
    limits_now = [each.memory if is_lent else each.memory_limit for each in runtime.devices() if each.name == short]
    limits += [limit for limit in limits_now if limit]
    return limits[0] if limits else max((getattr(event, "pool", 0) for event in changes), default=0)


def _fits(record: runtime.Recording, device: str) -> Fits | None:
    """Returns a function that retries a recording's requests on a device; None if the device no longer exists."""
    short = runtime.short_name(device)
    is_here = any(each.name == short and each.simulated and each.cuda is None for each in runtime.devices())
    return partial(record.fits, device=device) if is_here else None


def _picture(
    view: str,
    history: MemoryHistory,
    step: int | None,
    fits: Fits | None,
    code_line: CodeLine,
    words: Words | None = None,
) -> Still:
    if view == "plane":
        return Still(memory_plane(history, step=step, fits=fits, words=words, code_line=code_line))
    if view == "stacked":
        return Still(memory_stack(history, words=words, code_line=code_line))
    return Still(treemap(history, step=step, words=words))

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
            "To record one cell: with tf.runtime.recording() as record; then tf.notebook.memory_picture(record)."
        )
    history, fits = _history_of(session, name)
    step = history.refusals[-1].step if history.refusals else None
    return _picture(view, history, step if view == "plane" else None, fits, session.code_line)


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
    lines, by_device = snapshot.lines(), snapshot.memory()
    in_run = {name: [event for event in changes if run.has(event)] for name, changes in by_device.items()}
    scenes: list[dict[str, Any]] = []
    for name, changes in _busiest_first({name: changes for name, changes in in_run.items() if changes}):
        short = runtime.short_name(name)
        replay = runtime.MemoryReplay(name, session.recording.regions_before(short) if is_first else ())
        for event in takewhile(lambda event: event.seq < run.first, by_device[name]):
            replay.take(event)
        regions, last_changes = _last_steps(changes, name, replay.regions(), most)
        names = _names_on(session, short) if run == session.recorder.scenes[-1] else None
        limit = _limit(by_device[name], name)
        history = MemoryHistory(name, limit, last_changes, regions, names, lines=lines)
        scenes.append(memory_data(history, code_line=session.code_line))
    return scenes


def _history_of(session: Session, name: str) -> tuple[MemoryHistory, Fits | None]:
    """Returns a device's memory history since the last restart, and a function that retries its requests."""
    snapshot, is_first = _today(session)
    full, record = str(full_name(name)), session.recording
    changes, before = snapshot.memory().get(full, []), record.regions_before(name) if is_first else ()
    scenes, names = [scene.first for scene in session.recorder.scenes], _names_on(session, name)
    history = MemoryHistory(full, _limit(changes, full), changes, before, names, scenes, snapshot.lines())
    return history, _fits(record, full) if is_first else None


def picture_of_map(regions: runtime.MemoryMap, session: Session) -> Still:
    """Returns a picture of a device's chunks; it shows current names if nothing has changed since.

    Args:
      regions: a map from `tf.runtime.memory_map`.
      session: the session whose variables are searched for names.
    """
    short = runtime.short_name(regions.device)
    is_here = any(each.name == short and each.simulated for each in runtime.devices())
    names: Addresses = _names_on(session, short) if is_here and runtime.memory_map(short) == regions else {}
    return Still(memory_chunks(MemoryHistory(regions.device, regions.limit, (), regions, names)))


def _names_on(session: Session, name: str) -> Addresses:
    """Returns the holders of a device's pieces, by region and offset."""
    names, _ = holder_names(session, _SECONDS)
    return {piece[1:]: text for piece, text in names.items() if piece[0] == name}


def _today(session: Session) -> tuple[runtime.Snapshot, bool]:
    """Returns the events since the last restart, and whether the runtime has never been restarted."""
    recorder = session.recorder
    snapshot, scenes = recorder.snapshot(), recorder.scenes
    if not scenes or scenes[0].machine == scenes[-1].machine:
        return snapshot, not scenes or scenes[0].machine == 1
    first = next(scene for scene in scenes if scene.machine == scenes[-1].machine)
    return snapshot._replace(events=recorder.events_of(first._replace(last=None))), False
