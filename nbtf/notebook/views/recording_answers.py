"""Answers to a page that displays a recording in a notebook."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from nbtf import runtime
from nbtf._garbage import collector_paused
from nbtf._locks import computed_once
from nbtf.notebook import catalogue
from nbtf.notebook.stills import esm
from nbtf.notebook.stills.device_facts import map_facts
from nbtf.notebook.stills.device_map import map_data
from nbtf.notebook.stills.long_timeline import LongTimeline
from nbtf.notebook.stills.marks import Picture
from nbtf.notebook.stills.schedule import HOST_TIME, MODELLED, Schedule, timed
from nbtf.notebook.stills.timeline import long_still, timeline
from nbtf.notebook.views.host_time import on_host_time
from nbtf.notebook.views.page import CodeLine, Scene, scene_data
from nbtf.notebook.views.range_sums import sums_of_range
from nbtf.notebook.views.timeline_search import MatchRequest, found_in

MOST_EVENTS = 20_000
"""Ops and copies up to which a page gets the complete recording: half a megabyte."""

PROGRAM = "recording_view"

ON_REQUEST = "onRequest"
"""In place of the timeline of a long recording on the clock of the host, which a page requests when needed."""

MOST_STEPS = 2_000
"""Last memory steps of each device that a page gets of a longer recording: a quarter of a megabyte."""

Memory = Callable[[int | None], Sequence[Scene]]
"""Returns `memory_data` for each device, with at most the given number of steps."""


class RecordingAnswers:
    """Answers questions about one recording with plain data. Slow answers are computed on request."""

    def __init__(self, snapshot: runtime.Snapshot, memory: Memory, code_line: CodeLine) -> None:
        """Prepares answers about a recording.

        Args:
          snapshot: snapshot of the recording.
          memory: returns `memory_data` for each device.
          code_line: formats a line of the program as text.
        """
        self.snapshot: runtime.Snapshot = snapshot
        self._memory = memory
        self._code_line = code_line
        self._devices = runtime.devices()  # the current devices, because a restart may replace them

    @computed_once
    def schedule(self) -> Schedule:
        """The ops and copies that ran, with their times."""
        return timed(self.snapshot)

    def answer(self, question: dict[str, Any]) -> Scene:
        """Returns the answer to a page's question.

        Args:
          question: `what` names the request. `"program"`, with a `language`: the view's program, style and words.
            `"scene"`: the data of its views. `"rest"`: the slow part of that data, marked `coming` in the scene.
            `"timeline"`: what ran between two moments, `from` and `to`, in seconds, on the devices in sight: the
            numbers of their `lanes`, and of their folded `groups`; on the clock of the host if `clock` is `"hostTime"`.
            `"range"`: the sums of that range. `"search"`: how many ops match a `text`, and one of them, as `found_in`
            returns them.

        Raises:
          ValueError: if the question is of another kind.
        """
        match question:
            case {"what": "program", "language": str(language)}:
                return program_data(language)
            case {"what": "scene"}:
                with collector_paused():
                    return self._scene()
            case {"what": "rest"}:
                memory = list(self._memory(MOST_STEPS))
                return self._map() | ({"memory": memory} if memory else {})
            case {"what": "timeline", "from": int() | float() as begin, "to": int() | float() as end, **more}:
                lanes, groups = _numbers(more.get("lanes")), _numbers(more.get("groups"))
                return self._long_of(more.get("clock")).data(begin, end, lanes, groups)
            case {"what": "range", "from": int() | float() as begin, "to": int() | float() as end, **more}:
                return sums_of_range(self._long_of(more.get("clock")).schedule, begin, end)
            case {"what": "search", "text": str(text), "way": int(way), **more}:
                schedule, words = (
                    self._long_of(more.get("clock")).schedule,
                    cast("dict[str, str]", more.get("words", {})),
                )
                request = MatchRequest(way, more.get("after"), more.get("moment", 0.0))
                return found_in(schedule, self._code_line, text, words, request)
            case _:
                raise ValueError(f"Unknown question {question!r}. Expected a program, a scene or part of a timeline.")

    def still(self) -> Picture:
        """Returns the picture that a reader sees before the page's program runs."""
        return long_still(self._long) if self._is_long else timeline(self.schedule, code_line=self._code_line)

    @property
    def _is_long(self) -> bool:
        return len(self.snapshot.events) > MOST_EVENTS

    def _scene(self) -> Scene:
        if not self._is_long:
            return scene_data(self.snapshot, self.schedule, self._memory(None), self._code_line) | self._map()
        has_host_time = self.schedule.clock == MODELLED
        timeline = self._long.data() | ({"hostTime": ON_REQUEST} if has_host_time else {})
        return {"timeline": timeline, "coming": "rest", "lastSteps": MOST_STEPS}

    def _map(self) -> Scene:
        return {"map": map_data(map_facts(self.snapshot, self._devices))}

    @computed_once
    def _long(self) -> LongTimeline:
        return LongTimeline(self.schedule, self._code_line)

    @computed_once
    def _long_host(self) -> LongTimeline | None:
        schedule = on_host_time(self.snapshot, self.schedule)
        return None if schedule is None else LongTimeline(schedule, self._code_line, self.schedule.folded)

    def _long_of(self, clock: object) -> LongTimeline:
        """Returns the timeline on the clock of the host, if that is requested and differs from the other one."""
        return (self._long_host if clock == HOST_TIME else None) or self._long


def _numbers(value: object) -> list[int] | None:
    """Returns the integers of a list in a question; None if the question has no list."""
    return [each for each in cast("list[object]", value) if isinstance(each, int)] if isinstance(value, list) else None


def program_data(language: str) -> Scene:
    """Returns the view's program, its style, and its words in the page's language."""
    modules = esm.in_order(PROGRAM, PROGRAM)
    script = f"{esm.joined(modules)}\nexport {{ showRecording, speakIn }};\n"
    words = catalogue.translation(catalogue.asked_for() or language, catalogue.sections_in(script))
    return {"script": script, "style": esm.joined_styles(["frame", *modules]), "words": words}
