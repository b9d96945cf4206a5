"""Draws pictures with the program of the pages, so that a still and a page have the same marks.

A small JavaScript engine runs the modules of `static/` in this process: a millisecond or two per picture. In a kernel
that itself runs in a browser, the browser's engine does.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from threading import local
from typing import Any, NamedTuple

from nbtf._install import pip_install
from nbtf.notebook import catalogue
from nbtf.notebook.stills import esm
from nbtf.notebook.stills.marks import WIDTH, Picture, Text, framed, picture_from

_PICTURES = "stills"
"""The module of `static/` that lists the pictures."""


class NoEngineError(ModuleNotFoundError):
    """Raised if no JavaScript engine is installed, which draws the pictures."""


class _Program(NamedTuple):
    """The loaded program: draws a picture, and changes the language."""

    draw: Callable[[str, str], str]
    speak: Callable[[str], None]


_LOADED = local()
"""The `program` of each thread, and its `language`: an engine works only in the thread that created it."""


def drawn(name: str, *inputs: object) -> Picture:
    """Returns a picture in the environment's language; without a JavaScript engine, a note on what to install.

    Args:
      name: name of the picture in `static/stills.js`.
      *inputs: inputs of the function that is listed there, as values that JSON can represent.
    """
    try:
        return picture_from(answer(name, *inputs))
    except NoEngineError as error:
        return _of_text(str(error))


def answer(name: str, *inputs: object) -> Any:
    """Returns what a function of `static/stills.js` returns; see `drawn`.

    Raises:
      NoEngineError: if no JavaScript engine is installed.
    """
    program, language = _program(), catalogue.asked_for() or catalogue.ENGLISH
    if getattr(_LOADED, "language", catalogue.ENGLISH) != language:
        program.speak(json.dumps(catalogue.translation(language, catalogue.sections_in(_source()))))
        _LOADED.language = language
    return json.loads(program.draw(name, json.dumps(inputs)))


def _of_text(text: str) -> Picture:
    sentence, end, advice = text.partition(". ")
    marks = Text(16, 28, sentence + end.strip(), required=True), Text(16, 48, advice, "soft", 11, mono=True)
    width = max(WIDTH, *(mark.x + mark.width + 16 for mark in marks))
    return framed(width, 64, text, marks)


def _program() -> _Program:
    program = getattr(_LOADED, "program", None)
    if program is None:
        program = _LOADED.program = _loaded(_source())
    return program


@cache
def _source() -> str:
    """Returns the program, whose only global name is `nbtfStills`."""
    modules = esm.joined(esm.in_order(_PICTURES, _PICTURES))
    return f"globalThis.nbtfStills = (() => {{\n{modules}\nreturn {{ drawStill, speakStill }};\n}})();"


def _loaded(source: str) -> _Program:
    run = _browser() if sys.platform == "emscripten" else _engine()
    run(source)
    return _Program(run("nbtfStills.drawStill"), run("nbtfStills.speakStill"))


def _engine() -> Callable[[str], Any]:
    """Returns a function that runs text as a program and returns its value."""
    try:
        context: Any = import_module("quickjs").Context()
    except ModuleNotFoundError as error:
        text = f"Pictures need quickjs-ng, which is not installed. {pip_install('views')}"
        raise NoEngineError(text, name="quickjs") from error
    return context.eval


def _browser() -> Callable[[str], Any]:
    browser: Any = import_module("pyodide.code")
    return browser.run_js
