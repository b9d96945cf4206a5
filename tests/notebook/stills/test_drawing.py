"""Does Python draw with the program of the pages: in each thread, in each language, and without an engine?"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from threading import local
from types import ModuleType

import pytest

from nbtf.notebook import catalogue
from nbtf.notebook.stills import drawing
from nbtf.notebook.stills.device_facts import DeviceFacts, Flow, MapFacts
from nbtf.notebook.stills.device_map import device_map
from nbtf.notebook.stills.marks import texts_of
from nbtf.notebook.stills.svg import to_svg

FACTS = MapFacts((DeviceFacts("CPU:0"),), (DeviceFacts("GPU:0"),), (Flow("CPU:0", "GPU:0", 2, 4096),), 0, 0, 0)


def test_threads_draw_the_same_at_the_same_time() -> None:
    with ThreadPoolExecutor(8) as threads:
        pictures = list(threads.map(lambda _: device_map(FACTS), range(64)))

    assert {device_map(FACTS)} == set(pictures)


def test_a_picture_has_the_language_of_its_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    for language in ("en", "ja", "zh_CN", "ja", "en"):
        monkeypatch.setenv(catalogue.VARIABLE, language)

        assert catalogue.words("deviceMap")["title"] in {text.words for text in texts_of(device_map(FACTS).marks)}


def test_without_an_engine_a_picture_is_a_note_on_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "quickjs", None)

    with ThreadPoolExecutor(1) as thread:  # a thread that has not loaded the program
        picture = thread.submit(device_map, FACTS).result()

    assert picture.title.startswith("Pictures need quickjs-ng, which is not installed. pip install ")
    assert picture.title == " ".join(text.words for text in texts_of(picture.marks))
    assert picture.title.replace('"', "&quot;") in to_svg(picture)


def test_a_kernel_in_a_browser_draws_with_the_browsers_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    browser = ModuleType("pyodide.code")
    browser.run_js = import_module("quickjs").Context().eval  # pyright: ignore[reportAttributeAccessIssue]
    monkeypatch.setitem(sys.modules, "pyodide", ModuleType("pyodide"))
    monkeypatch.setitem(sys.modules, "pyodide.code", browser)
    expected = device_map(FACTS)
    monkeypatch.setattr(sys, "platform", "emscripten")
    monkeypatch.setattr(drawing, "_LOADED", local())

    assert expected == device_map(FACTS)


def test_an_unknown_picture_is_an_error() -> None:
    with pytest.raises(Exception, match="not a function"):
        drawing.answer("unknown")
