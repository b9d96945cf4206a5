"""Saves a recording as one HTML file, which opens without a kernel, a server or a network.

The file contains the views' program, the recording's data and the still picture, which readers without scripts see.
Its security policy allows exactly those texts, by their hashes: the name of an op or a file can execute nothing.
"""

from __future__ import annotations

import html
import json
import re
from base64 import b64encode
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import sha256
from os import PathLike
from typing import Any

from nbtf import runtime
from nbtf._storage import files
from nbtf.notebook import catalogue, code_lines
from nbtf.notebook.stills import esm
from nbtf.notebook.stills.device_facts import map_facts
from nbtf.notebook.stills.device_map import map_data
from nbtf.notebook.stills.marks import Picture
from nbtf.notebook.stills.memory_pictures import memory_scenes
from nbtf.notebook.stills.schedule import Schedule, snapshot_of, timed
from nbtf.notebook.stills.svg import to_svg
from nbtf.notebook.stills.timeline import timeline
from nbtf.notebook.stills.timeline_data import timeline_data
from nbtf.notebook.views.host_time import on_host_time

CodeLine = Callable[[runtime.Site], str]
Scene = dict[str, Any]


def save_page(
    record: runtime.Recording | runtime.Snapshot,
    path: str | PathLike[str],
    code_line: CodeLine = code_lines.in_file,
    memory: Sequence[Scene] = (),
) -> None:
    """Saves a recording as one HTML file.

    Args:
      record: a recording, or a snapshot of its current state. Only a recording includes the memory of simulated GPUs.
      path: the file; an existing one is replaced once the new one is complete.
      code_line: formats a line of the program as text.
      memory: memory data of devices, from `memory_data`, if `record` cannot provide it.

    Raises:
      TypeError: if `record` is not a recording.
      ValueError: if nothing ran.
      OSError: if the file cannot be written.

    >>> import pathlib, tempfile
    >>> with tf.runtime.recording() as record:
    ...     c = tf.matmul([[1.0]], [[2.0]])
    >>> file = pathlib.Path(tempfile.mkdtemp(), "step.html")
    >>> tf.notebook.save_page(record, file)
    >>> file.read_text(encoding="utf-8")[:15]
    '<!doctype html>'
    """
    code_line = cache(code_line)
    snapshot = snapshot_of(record)
    if isinstance(record, runtime.Recording):
        memory = memory or memory_scenes(record, code_line, snapshot)
    files.write(path, page(snapshot, code_line, memory, record))


def nothing_ran(record: object, noun: str) -> str:
    """Returns the message for a recording without ops and copies; it names libraries that worked unrecorded."""
    silence = record.watch.silence() if isinstance(record, runtime.Recording) else ""
    text = f"Nothing ran while this was recorded. A {noun} shows ops and copies: run some first."
    return f"{text} {silence}" if silence else text


def page(
    snapshot: runtime.Snapshot,
    code_line: CodeLine = code_lines.in_file,
    memory: Sequence[Scene] = (),
    record: object = None,
) -> str:
    """Returns the text of the file; `record` is used for the message if nothing ran."""
    schedule = timed(snapshot)
    if not schedule.lanes:
        raise ValueError(nothing_ran(record, "page"))
    scene = scene_data(snapshot, schedule, memory, code_line) | {
        "map": map_data(map_facts(snapshot, runtime.devices()))
    }
    return html_page(scene, timeline(schedule, code_line=code_line), catalogue.words("timeline")["title"])


def scene_data(snapshot: runtime.Snapshot, schedule: Schedule, memory: Sequence[Scene], code_line: CodeLine) -> Scene:
    """Returns the data that the views of a page draw, by name of view (see `static/tabs.js`).

    Args:
      snapshot: the events.
      schedule: what ran and when, from `timed`.
      memory: memory data of devices, from `memory_data`.
      code_line: formats a line of the program as text.
    """
    scene: Scene = {"timeline": timeline_data(schedule, code_line)}
    host_time = on_host_time(snapshot, schedule)
    if host_time is not None:
        counts = {"unclocked": 0, "folded": schedule.folded}  # each op is on two lanes
        scene["timeline"]["hostTime"] = timeline_data(host_time, code_line) | counts
    return scene | ({"memory": list(memory)} if memory else {})


def html_page(scene: Scene, picture: Picture, title: str) -> str:
    """Returns the text of a file that shows a scene.

    Args:
      scene: the data of the views, by name; see `static/tabs.js`.
      picture: the picture that readers without scripts see.
      title: title of the page.
    """
    modules = esm.in_order("page", "page")
    program, style = f"{esm.joined(modules)}\nshowPage();\n", esm.joined_styles(["frame", *modules])
    drawing = to_svg(picture)
    language = catalogue.asked_for() or catalogue.ENGLISH
    words = catalogue.translation(language, catalogue.sections_in(program))
    styles = " ".join(map(_source, [style, *re.findall(r"<style>([^<]*)</style>", drawing)]))
    policy = (
        f"default-src 'none'; script-src {_source(program)}; style-src {styles}; base-uri 'none'; form-action 'none'"
    )
    return (
        f'<!doctype html>\n<html lang="{language.replace("_", "-")}"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)} – nbtf</title>\n<style>{style}</style></head>\n<body>"
        f'<main class="nbtf-page">{drawing}</main>\n'
        f'<script type="application/json" id="nbtf-scene">{_inert({"words": words, "scene": scene})}</script>\n'
        f'<script type="module">{program}</script></body></html>\n'
    )


def _inert(data: Any) -> str:
    """Returns data as JSON that cannot end a script or begin a comment in the page."""
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


def _source(text: str) -> str:
    """Returns the hash by which a security policy allows a text of the page to run."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode('ascii')}'"
