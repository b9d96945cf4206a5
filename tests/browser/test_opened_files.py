"""Can everybody read and use the page of a file that a user brought, and its view in JupyterLab?"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nbtf.notebook.opened_files import open_file
from tests.browser.lab import Lab
from tests.browser.test_docs import axe
from tests.docs.record import SAMPLE
from tests.docs.test_examples import save_recording
from tests.rings import with_nightly
from tests.traces.writing import kineto

KINDS = ["snapshot", "trace", "recording"]
SCHEMES = [(kind, scheme) for scheme in ("dark", "light") for kind in KINDS]
CONTROLS = """() => [...document.querySelectorAll('button, select, input, a[href], summary, [tabindex="0"]')]
    .filter(each => each.checkVisibility() && !each.disabled && each.tabIndex >= 0)"""
FOCUSED = "() => [document.activeElement].filter(each => each !== document.body)"
NAMES = """.map(each => `${each.localName} ${each.getAttribute('aria-label') ?? each.textContent}`.slice(0, 60))"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The page of each kind of file."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "trace").write_text(json.dumps(kineto()), encoding="utf-8")
    save_recording(folder / "recording", "GPU:0")
    shutil.copy(SAMPLE, folder / "snapshot")
    for kind in KINDS:
        (folder / f"{kind}.html").write_text(open_file(folder / kind).page(), encoding="utf-8")
    return {kind: folder / f"{kind}.html" for kind in KINDS}


def shown(open_page: Callable[..., Any], file: Path, **options: Any) -> Any:
    # axe is a script that the page does not let in
    page = open_page(offline=True, bypass_csp=True, **options)
    page.goto(file.as_uri())
    page.locator("svg text").first.wait_for()
    return page


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        ("snapshot", ["peak in use"]),
        (
            "trace",
            [
                "Profiler's trace, times measured",
                "compute 46 %, copies 17 %, idle 37 %",
                "largest gap on",
                "not shown: 2 ",
                "host waits",
            ],
        ),
        ("recording", ["nbtf recording, times modelled", "ops", "peak in use"]),
    ],
)
def test_page_begins_with_the_files_name_and_figures(
    open_page: Callable[..., Any], pages: dict[str, Path], kind: str, texts: list[str]
) -> None:
    page = shown(open_page, pages[kind])

    assert kind == page.get_by_role("heading", level=1).inner_text()
    assert [] == [text for text in texts if text not in page.locator(".nbtf-file").inner_text()]
    page.close()


@pytest.mark.parametrize(("kind", "scheme"), with_nightly(SCHEMES[:1], SCHEMES[1:]))
def test_axe_finds_nothing(open_page: Callable[..., Any], pages: dict[str, Path], kind: str, scheme: str) -> None:
    page = shown(open_page, pages[kind], color_scheme=scheme)
    problems: list[str] = []
    for tab in page.get_by_role("tab").all():
        tab.click()
        problems += axe(page)
    page.close()

    assert [] == problems


@pytest.mark.parametrize("kind", with_nightly(KINDS[:1], KINDS[1:]))
def test_every_control_is_reached_with_tab(open_page: Callable[..., Any], pages: dict[str, Path], kind: str) -> None:
    page = shown(open_page, pages[kind])
    missed: dict[str, set[str]] = {}
    for tab in page.get_by_role("tab").all():
        tab.click()
        names = page.evaluate(CONTROLS + NAMES)
        page.evaluate("() => document.activeElement.blur()")
        reached: set[str] = set()
        for _ in range(len(names) + 1):
            page.keyboard.press("Tab")
            reached |= {*page.evaluate(FOCUSED + NAMES)}
        missed |= {tab.inner_text(): {*names} - reached} if {*names} - reached else {}
    page.close()

    assert {} == missed


@pytest.mark.parametrize("kind", KINDS)
def test_tabs_are_chosen_with_arrow_keys(open_page: Callable[..., Any], pages: dict[str, Path], kind: str) -> None:
    page = shown(open_page, pages[kind])
    names = page.get_by_role("tab").all_inner_texts()
    page.get_by_role("tab").first.focus()
    chosen: list[str] = []
    for _ in names:
        chosen += page.get_by_role("tab", selected=True).all_inner_texts()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
    page.close()

    assert names == chosen


@pytest.mark.parametrize("theme", with_nightly(["Dark"], ["Light"]))
def test_magic_shows_a_snapshot_in_a_notebook(new_lab: Callable[..., Lab], theme: str) -> None:
    lab = new_lab()
    lab.server.theme(theme)
    shutil.copy(SAMPLE, lab.server.notebooks / "snapshot.pickle")  # the content decides what it is
    lab.open("%load_ext nbtf", "%gpu_memory --file snapshot.pickle")
    lab.run(0, 1)
    plane = lab.page.locator(".nbtf-recording .nbtf-plane")
    plane.locator("svg text").first.wait_for()

    plane.focus()
    cells = lab.page.locator(".jp-Notebook .jp-Cell").count()
    for key in ("PageUp", "ArrowLeft", "+"):
        lab.page.keyboard.press(key)
    lab.next_frame()
    step = plane.get_attribute("aria-valuenow")
    problems = lab.axe(".nbtf-recording")
    lab.page.get_by_role("tab", name="Holders at the peak").click()
    problems += lab.axe(".nbtf-recording")

    assert "model.py:38 in mlp" in lab.output(1).inner_text()
    assert cells == lab.page.locator(".jp-Notebook .jp-Cell").count()  # no key went to the notebook
    assert step != plane.get_attribute("aria-valuemax")
    assert [] == problems
