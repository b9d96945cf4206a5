"""The files of the lessons' drawings: one SVG per lesson and language, with texts from a catalogue."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from babel.messages.catalog import Catalog

from nbtf.cli import translation
from nbtf.notebook.stills.marks import Picture
from nbtf.notebook.stills.svg import to_svg
from tests.course.drawings import libraries, memory, placement, several, training
from tests.course.drawings.parts import Say
from tests.course.scenarios import NOTEBOOKS

LANGUAGES = ("en", "ja", "zh_CN")

Drawing: TypeAlias = Callable[[Say], Picture]

DRAWINGS: Mapping[str, Drawing] = MappingProxyType(
    {
        "00_start_here": placement.start_here,
        "01_devices_and_their_names": placement.names,
        "02_where_did_it_run_and_why": placement.where,
        "03_placing_by_hand": placement.placing,
        "04_the_device_is_not_there": placement.missing,
        "05_mapped_is_not_used": memory.mapped,
        "06_out_of_memory": memory.out_of_memory,
        "07_which_gpus_are_mine": placement.mine,
        "08_several_gpus_by_hand": several.towers,
        "09_mirrored_strategy": several.mirrored,
        "10_sessions_of_the_first_guides": several.sessions,
        "11_session_memory_options": memory.options,
        "12_is_my_gpu_used": several.used,
        "13_your_own_pytorch_notebook": libraries.pytorch,
        "14_one_machine_is_not_enough": several.hosts,
        "15_when_a_machine_fails": several.failure,
        "16_asynchrony_and_timing": training.queue,
        "17_sixteen_bytes_per_parameter": training.parameter,
        "18_sharding": training.shards,
    }
)
"""The drawings by lesson."""

_BETWEEN_MARKS = re.compile(r">(?=<(?!/|title\b))")


def file_of(lesson: str, language: str) -> Path:
    """Returns the path of a lesson's drawing."""
    return (NOTEBOOKS if language == "en" else NOTEBOOKS / language) / "drawings" / f"{lesson}.svg"


def catalogue_of(language: str) -> Path:
    """Returns the path of the catalogue for a language other than English."""
    return NOTEBOOKS / "locale" / language / "LC_MESSAGES" / "drawings.po"


def english() -> list[str]:
    """Returns the texts of all drawings, without duplicates."""
    texts: dict[str, None] = {}

    def note(text: str) -> str:
        texts[text] = None
        return text

    for draw in DRAWINGS.values():
        draw(note)
    return list(texts)


def catalogue(language: str) -> Catalog:
    """Returns a language's catalogue with the current texts of the drawings."""
    template = Catalog(charset="utf-8", fuzzy=False)
    for text in english():
        template.add(text)
    path = catalogue_of(language)
    texts = translation.read(path) if path.exists() else Catalog(language, charset="utf-8", fuzzy=False)
    texts.update(template, no_fuzzy_matching=True, update_header_comment=False)
    return texts


def speaker(language: str) -> Say:
    """Returns a function that translates a text; it returns the English text if a translation is missing."""
    if language == "en":
        return str
    texts = catalogue(language)

    def say(text: str) -> str:
        message = texts.get(text)
        return str(message.string) if message is not None and message.string else text

    return say


def svg(lesson: str, language: str) -> str:
    """Returns the content of a drawing's file, with one mark per line for readable diffs."""
    return _BETWEEN_MARKS.sub(">\n", to_svg(DRAWINGS[lesson](speaker(language)), narrow=False)) + "\n"


def link_of(lesson: str) -> str:
    """Returns the name by which a lesson refers to its drawing, which is the same in each language."""
    return f"drawings/{lesson}.svg"


def write() -> None:
    """Updates the catalogues and writes all drawings."""
    for language in LANGUAGES:
        if language != "en":
            translation.write(catalogue_of(language), catalogue(language))
        file_of("", language).parent.mkdir(parents=True, exist_ok=True)
        for lesson in DRAWINGS:
            file_of(lesson, language).write_text(svg(lesson, language), encoding="utf-8")
