"""What does a page ask about a recording that a notebook shows, and what is it answered?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from nbtf import runtime
from nbtf.notebook import catalogue
from nbtf.notebook.stills.device_facts import map_facts
from nbtf.notebook.stills.schedule import Schedule, timed
from nbtf.notebook.views import esm
from nbtf.notebook.views.long_timeline import LongTimeline
from nbtf.notebook.views.map_data import map_data
from nbtf.notebook.views.page import CodeLine, Scene, scene_data

MOST_EVENTS = 20_000
"""Of a recording that a page gets as a whole: half a megabyte."""

PROGRAM = "recording_view"

MOST_STEPS = 2_000
"""Of a device's memory that a page gets of a longer recording, the last ones: a quarter of a megabyte."""

Memory = Callable[[int | None], Sequence[Scene]]
"""Returns what `memory_data` says of each device, of so many steps at the most."""


class RecordingAnswers:
    """Answers of one recording; each is plain data. What takes long is done when it is asked for."""

    def __init__(self, snapshot: runtime.Snapshot, memory: Memory, code_line: CodeLine) -> None:
        """Takes what is asked about.

        Args:
          snapshot: of the recording.
          memory: returns what `memory_data` says of each device.
          code_line: says a line of the program in words.
        """
        self.snapshot: runtime.Snapshot = snapshot
        self._memory = memory
        self._code_line = code_line
        self._devices = runtime.devices()  # those of today: a restart may bring others

    @cached_property
    def schedule(self) -> Schedule:
        """What ran and when."""
        return timed(self.snapshot)

    def answer(self, question: dict[str, Any]) -> Scene:
        """Returns what a page asked for.

        Args:
          question: `what` says for what: `"program"`, with a `language`, for the program of the view, its style and its
            words; `"scene"` for the data of its views, `"memory"` for what of these takes long and is `coming`;
            `"timeline"` for what is between two moments, `from` and `to` in seconds.

        Raises:
          ValueError: another question.
        """
        match question:
            case {"what": "program", "language": str(language)}:
                return program_data(language)
            case {"what": "scene"}:
                return self._scene()
            case {"what": "memory"}:
                memory = list(self._memory(MOST_STEPS))
                return {"memory": memory} if memory else {}
            case {"what": "timeline", "from": int() | float() as begin, "to": int() | float() as end}:
                return self._long.data(begin, end)
            case _:
                raise ValueError(f"A page asks for a program, a scene or a part of its timeline, got {question!r}")

    def _scene(self) -> Scene:
        placed: Scene = {"map": map_data(map_facts(self.snapshot, self._devices))}
        if len(self.snapshot.events) <= MOST_EVENTS:
            return scene_data(self.schedule, self._memory(None), self._code_line) | placed
        return {"timeline": self._long.data(), "coming": "memory", "lastSteps": MOST_STEPS} | placed

    @cached_property
    def _long(self) -> LongTimeline:
        return LongTimeline(self.schedule, self._code_line)


def program_data(language: str) -> Scene:
    """Returns the program of the view, its style, and its words for a page in some language."""
    modules = esm.in_order(PROGRAM, PROGRAM)
    script = f"{esm.joined(modules)}\nexport {{ showRecording, speakIn }};\n"
    words = catalogue.translation(catalogue.asked_for() or language, catalogue.sections_in(script))
    return {"script": script, "style": esm.joined_styles(["frame", *modules]), "words": words}
