"""Which pictures are there of the memory of a recording, or of what a notebook's session has heard?"""

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
"""Of a session that is gone through for what was where before a cell: two seconds of work."""

_SECONDS = 1.0
"""How long a search for names may take."""


class Still:
    """A picture that a notebook shows; it prints as the sentence that says what is on it."""

    def __init__(self, picture: Picture) -> None:
        """Takes the picture."""
        self.picture = picture

    def __repr__(self) -> str:
        """Returns what is on it."""
        return self.picture.title

    def _repr_svg_(self) -> str:
        """Returns it as SVG."""
        return to_svg(self.picture)

    def _repr_html_(self) -> str:
        """Returns it as an image: it is no wider than its cell, and is drawn without trust, too."""
        return to_html(self.picture)


def memory_picture(
    record: runtime.Recording,
    device: str = "GPU:0",
    view: str = "plane",
    step: int | None = None,
    words: Words | None = None,
) -> Still:
    """Returns a picture of what a recording tells of a simulated GPU's memory.

    Args:
      record: from `tf.runtime.recording()`.
      device: a name.
      view: `"plane"`, what was where, by address and step; `"stacked"`, how much each kind of holder has, over time;
        `"treemap"`, who holds how much.
      step: whose chunks the plane shows (the last one when None), or whose pieces the treemap (that of the peak). The
        steps are the events that took or freed memory, or failed to, from 0 on.
      words: the texts, of the catalogue's sections `timeline` and `memoryPicture`; those of the environment's language
        (`NBTF_LANG`) when None.

    Raises:
      TypeError: it is no recording.
      ValueError: there is no such view or step, or the recording has lost its first events, or none of its events is
        about such a device.

    >>> tf.runtime.restart()
    >>> _ = tf.runtime.simulate_gpus(1, memory="64MiB")
    1 simulated GPU (Tesla V100-SXM2-16GB, 64 MiB): NumPy on this computer's CPU. No GPU is used.
    >>> with tf.runtime.recording() as record:
    ...     x = tf.zeros([2**22])
    >>> tf.notebook.memory_picture(record)
    Memory of GPU:0: 16 of 64 MiB in use.
    """
    if view not in VIEWS:
        raise ValueError(f"view is one of {', '.join(map(repr, VIEWS))}. Got {view!r}")
    if not isinstance(record, runtime.Recording):  # pyright: ignore[reportUnnecessaryIsInstance]  # from a user
        raise no_recording(record)
    snapshot, name = record.snapshot(), runtime.without_cuda(device)
    full = _checked(snapshot, name)
    changes, before = snapshot.memory()[full], record.regions_before(name)
    history = MemoryHistory(full, _limit(changes, full), changes, before, lines=snapshot.lines())
    if step is not None and not 0 <= step < history.steps:
        raise ValueError(f"step is 0 to {history.steps - 1}. Got {step}")
    return _picture(view, history, step, _fits(record, full), _code_line(), words)


def _code_line() -> CodeLine:
    """How lines are told: in a notebook by the number of the cell."""
    return next((session.code_line for session in SESSIONS.values()), file_and_line)


def memory_scenes(
    record: runtime.Recording,
    code_line: CodeLine,
    snapshot: runtime.Snapshot | None = None,
    most: int | None = None,
) -> list[dict[str, Any]]:
    """Returns what a page needs to draw the memory of each device, the busiest first.

    Where the first events are no longer kept there is none: nobody knows what was where.

    Args:
      record: from `tf.runtime.recording()`.
      code_line: says a line of the program in words.
      snapshot: what it has, where somebody has asked for it already.
      most: steps of each device, the last ones; all when None.
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
    """Returns who holds the pieces of each device at the end of a recording: names of now, if nothing came after."""
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
    """Returns devices and what happened to their memory, those first with which most did."""
    return sorted(changes.items(), key=lambda entry: -len(entry[1]))


def _last_steps(
    changes: Sequence[runtime.Event], device: str, regions: Any, limit: int | None
) -> tuple[Any, Sequence[runtime.Event]]:
    """Returns what was where before the last steps of a device's memory, and these."""
    if limit is None or len(changes) <= limit:
        return regions, changes
    replay = runtime.MemoryReplay(device, regions)
    for event in changes[:-limit]:
        replay.take(event)
    return replay.regions(), changes[-limit:]


def _checked(snapshot: runtime.Snapshot, name: str) -> str:
    """Returns the full name of a device, if events tell all about its memory."""
    if snapshot.cut:
        raise ValueError(
            f"The first {counted(snapshot.cut, 'event is', 'events are')} no longer kept: "
            "recording(capacity=...) keeps more."
        )
    short = runtime.short_name(name)
    full = [device for device in snapshot.memory() if runtime.short_name(device) == short]
    if not full:
        raise ValueError(f"Nothing took memory of '{name}' in this recording: only simulated GPUs tell where it is")
    return full[0]


def _limit(changes: Sequence[runtime.Event], device: str) -> int:
    """Returns how much a device may take, as it was then if a refusal tells it."""
    limits = [event.limit for event in changes if isinstance(event, runtime.Refused)]
    short = runtime.short_name(device)
    is_lent = any(getattr(event, "region", -1) >= FIRST_LENT_REGION for event in changes)
    limits_now = [each.memory if is_lent else each.memory_limit for each in runtime.devices() if each.name == short]
    limits += [limit for limit in limits_now if limit]
    return limits[0] if limits else max((getattr(event, "pool", 0) for event in changes), default=0)


def _fits(record: runtime.Recording, device: str) -> Fits | None:
    """Returns what tries a recording's requests on a device; nothing where that is no longer there."""
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


# What a session has heard


def steps_by_device(session: Session) -> Counter[str]:
    """Returns how many events are about the memory of each device, by its short name, on the machine of today."""
    changes = _today(session)[0].memory()
    return Counter({runtime.short_name(name): len(of_device) for name, of_device in changes.items()})


def picture_of_session(session: Session, name: str, view: str) -> Still:
    """Returns a picture of a device's memory; the plane shows the chunks at the last refusal, if there was one.

    Args:
      session: what it has heard on the machine of today is drawn.
      name: of a device, short.
      view: one of `VIEWS`.

    Raises:
      ValueError: the first events are no longer kept.
    """
    cut = session.recorder.snapshot().cut
    if cut:
        raise ValueError(
            f"The first {counted(cut, 'event of the session is', 'events of the session are')} no longer kept. "
            "Record a cell: with tf.runtime.recording() as record; then tf.notebook.memory_picture(record)."
        )
    history, fits = _history_of(session, name)
    step = history.refusals[-1].step if history.refusals else None
    return _picture(view, history, step if view == "plane" else None, fits, session.code_line)


def memory_scenes_of_session(session: Session) -> list[dict[str, Any]]:
    """Returns what a page needs to draw the memory of each device on the machine of today, as `memory_scenes` does."""
    if session.recorder.snapshot().cut:
        return []
    histories = [_history_of(session, name) for name, _ in steps_by_device(session).most_common()]
    return [memory_data(history, fits, code_line=session.code_line) for history, fits in histories]


def memory_scenes_of_run(session: Session, run: runtime.Scene, most: int | None = None) -> list[dict[str, Any]]:
    """Returns what a page needs to draw the memory of each device in a run of a cell, as `memory_scenes` does.

    Where the first events of the session are no longer kept there is none: nobody knows what was where.

    Args:
      session: that heard it.
      run: on the machine of today.
      most: steps of each device, the last ones; all when None.
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
    """Returns what happened to a device's memory on the machine of today, and what tries the requests again."""
    snapshot, is_first = _today(session)
    full, record = str(full_name(name)), session.recording
    changes, before = snapshot.memory().get(full, []), record.regions_before(name) if is_first else ()
    scenes, names = [scene.first for scene in session.recorder.scenes], _names_on(session, name)
    history = MemoryHistory(full, _limit(changes, full), changes, before, names, scenes, snapshot.lines())
    return history, _fits(record, full) if is_first else None


def picture_of_map(regions: runtime.MemoryMap, session: Session) -> Still:
    """Returns a picture of the chunks of a device; names are those of this moment, where nothing has changed since.

    Args:
      regions: from `tf.runtime.memory_map`.
      session: whose program has names.
    """
    short = runtime.short_name(regions.device)
    is_here = any(each.name == short and each.simulated for each in runtime.devices())
    names: Addresses = _names_on(session, short) if is_here and runtime.memory_map(short) == regions else {}
    return Still(memory_chunks(MemoryHistory(regions.device, regions.limit, (), regions, names)))


def _names_on(session: Session, name: str) -> Addresses:
    """Returns who holds the pieces of a device, by region and offset."""
    names, _ = holder_names(session, _SECONDS)
    return {piece[1:]: text for piece, text in names.items() if piece[0] == name}


def _today(session: Session) -> tuple[runtime.Snapshot, bool]:
    """Returns what was heard on the machine of today, and whether that is the first."""
    recorder = session.recorder
    snapshot, scenes = recorder.snapshot(), recorder.scenes
    if not scenes or scenes[0].machine == scenes[-1].machine:
        return snapshot, not scenes or scenes[0].machine == 1
    first = next(scene for scene in scenes if scene.machine == scenes[-1].machine)
    return snapshot._replace(events=recorder.events_of(first._replace(last=None))), False
