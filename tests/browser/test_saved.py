"""Can views be read, replayed, tapped and walked through in a notebook that was saved, whose kernel knows nothing?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nbtf.notebook.card_use import CardUse
from tests.browser.lab import Lab
from tests.browser.lab_server import LabServer
from tests.browser.references import differences, frozen
from tests.browser.saved import NASTY, Saved, State, freeze
from tests.rings import with_nightly

LONG = "Long" * 2500
MAP, MEMORY = ".nbtf-map", ".nbtf-memory"
VIEWS = (MAP, MEMORY)
LOST, OPENINGS = "Error displaying widget: model not found", 4
THEMES = ("Light", "Dark")
# Pictures do not depend on the fonts that are preferred here.
FONTS = (
    '.nbtf-view { --jp-ui-font-family: "DejaVu Sans" !important; --jp-code-font-family: "DejaVu Sans Mono" !important }'
)

Pages = Callable[..., Lab]


def opened(lab: Lab, saved: Saved) -> Lab:
    """Opens the saved notebook; its kernel has run nothing.

    JupyterLab may look for saved views before it has read them, and then never looks again; it is opened again.
    """
    for _ in range(OPENINGS):
        lab.open(*saved.cells, metadata=saved.metadata)
        lab.wait(f"document.querySelector('{MAP} .nbtf-room') || document.body.innerText.includes('{LOST}')")
        if not lab.page.locator(".jp-OutputArea", has_text=LOST).count():
            break
        lab.expected.append("Error: widget model not found")
    for view, part in ((MAP, ".nbtf-room"), (MEMORY, ".nbtf-mem-chunk")):
        lab.page.locator(f"{view} {part}").first.wait_for(state="attached")
    return lab


def test_three_steps_of_replay_show_three_rooms(lab: Lab, saved: Saved) -> None:
    opened(lab, saved).shut_down()

    rooms: list[str] = []
    for _ in saved.states()["DeviceMap"]["steps"]:
        lab.press(MAP, "Step")
        lit = lab.page.locator(f"{MAP} .nbtf-room[data-now]")
        rooms += lit.evaluate_all("all => all.map(one => one.dataset.device)")

    assert None is lab.status()
    assert ["CPU:0", "GPU:1", "GPU:0"] == list(dict.fromkeys(rooms))


@pytest.mark.parametrize("look", with_nightly(THEMES[:1], [*THEMES[1:], "forced"]))
def test_views_look_as_they_did(new_lab: Pages, server: LabServer, saved: Saved, look: str, tmp_path: Path) -> None:
    options = {"forced_colors": "active"} if look == "forced" else {}
    server.theme("Dark" if look == "Dark" else "Light")
    states = frozen(saved.changed(freeze).states())
    lab = opened(new_lab(viewport={"width": 1000, "height": 2400}, **options), saved.with_states(states))
    lab.is_altered = True
    lab.page.add_style_tag(content=FONTS)

    differ: list[str] = []
    for view in VIEWS:
        differ.append(differences(f"{view[6:]}-{look.lower()}", lab.picture(view), tmp_path))
        if look == "Light":
            for _ in range(3):
                lab.press(view, "Step")
            differ.append(differences(f"{view[6:]}-replay", lab.picture(view), tmp_path))

    assert [] == [one for one in differ if one]


@pytest.mark.parametrize("theme", with_nightly(THEMES[:1], THEMES[1:]))
def test_axe_finds_nothing(new_lab: Pages, server: LabServer, saved: Saved, theme: str) -> None:
    server.theme(theme)
    lab = opened(new_lab(viewport={"width": 1000, "height": 2400}), saved)

    found: list[str] = []
    for view in VIEWS:
        for press in ("", "Step", "Table"):
            if press:
                lab.press(view, press)
            found += [f"{view} {press}: {problem}" for problem in lab.axe(view)]

    assert [] == found


def make_real(state: State) -> None:
    """Makes a GPU one of a real card, which NVML tells of."""
    use = CardUse(
        "card 5 (0000:8a:00.0)",
        2 << 30,
        3 << 30,
        (("CuPy", 1 << 30),),
        5 << 30,
        1 << 30,
        4 << 30,
        2,
        0,
        9 << 30,
        24 << 30,
    )
    for device in state["devices"]:
        if device["name"] == "GPU:1":
            device |= {"kind": "real", "real": use._replace(utilization=34, watts=72).to_dict()}
            device.pop("map", None)


@pytest.mark.parametrize("theme", with_nightly(THEMES[1:], THEMES[:1]))
def test_real_card_adds_up_to_what_nvidia_smi_shows(
    new_lab: Pages, server: LabServer, saved: Saved, theme: str
) -> None:
    server.theme(theme)
    lab = opened(new_lab(viewport={"width": 1000, "height": 2400}), saved.changed(make_real))
    card = lab.page.locator(f"{MEMORY} .nbtf-mem-real:visible")

    figures = card.locator(".nbtf-mem-value").all_inner_texts()
    terms = card.locator("li").all_inner_texts()
    facts = card.inner_text()
    problems, overflow = lab.axe(MEMORY), lab.overflow(MEMORY)
    lab.press(MEMORY, "Table")

    assert ["9 GiB", "5 GiB", "3 GiB", "2 GiB"] == figures
    assert [
        "tensors 2 GiB",
        "free in nbtf's pool 1 GiB",
        "pools of CuPy 1 GiB",
        "context and libraries of this process 1 GiB",
        "2 other processes 4 GiB",
        "free 15 GiB",
    ] == terms
    assert "34 % busy, 72 W" in facts
    assert "9,663,676,416 B" in lab.page.locator(f"{MEMORY} .nbtf-tables").inner_text()
    assert ([], 0) == (problems, overflow)


def test_finger_on_a_narrow_screen_opens_a_room_and_a_chunk(new_lab: Pages, saved: Saved) -> None:
    lab = opened(new_lab(viewport={"width": 320, "height": 640}, has_touch=True), saved)
    room = lab.page.locator(f"{MAP} .nbtf-room[data-device='GPU:1']")
    chunk = lab.page.locator(f"{MEMORY} .nbtf-mem-chunk[data-kind='used']").first

    room.locator(".nbtf-door").tap()
    room.locator(".nbtf-details").filter(has_text="4,844,421,120 B", visible=True).wait_for()
    chunk.tap()
    lab.next_frame()

    assert "[1028] uint8" == lab.page.locator(f"{MEMORY} .nbtf-mem-chunk-title").first.inner_text()
    assert [0, 0] == [lab.overflow(view) for view in VIEWS]


def rename(state: State) -> None:
    """Gives ops names that are no names."""
    other = {"MatMul": NASTY, "AddV2": LONG}
    state["words"] = [other.get(word, word) for word in state["words"]]
    for device in state["devices"]:
        if "map" in device:
            device["map"]["words"] = [other.get(word, word) for word in device["map"]["words"]]
        device["counts"] = [[other.get(op, op), *rest] for op, *rest in device["counts"]]


def test_names_are_shown_as_text(lab: Lab, saved: Saved) -> None:
    dialogs: list[Any] = []
    lab.is_altered = True
    lab.page.on("dialog", lambda dialog: dialogs.append(dialog))
    opened(lab, saved.changed(rename))
    lab.page.locator(f"{MEMORY} .nbtf-mem-chunk[aria-label*='float32']").click()  # it is held by a name that is no name

    for press in ("", "Step", "Table"):
        for view in VIEWS:
            if press:
                lab.press(view, press)
            assert (0, True) == (lab.overflow(view), NASTY in (lab.page.locator(view).text_content() or "")), press
        assert LONG[:100] in (lab.page.locator(MAP).text_content() or "")
    assert 0 == lab.page.locator(".nbtf-view img").count()
    assert [] == dialogs


def test_arrow_keys_move_between_rooms_and_chunks(lab: Lab, saved: Saved) -> None:
    opened(lab, saved)

    rooms = lab.walk(f"{MAP} .nbtf-door", "ArrowDown", "node => node.closest('.nbtf-room').dataset.device")
    chunks = lab.walk(f"{MEMORY} .nbtf-mem-chunk", "ArrowRight", "node => node.getAttribute('aria-label')")

    assert ["CPU:0", "GPU:0", "GPU:1"] == rooms
    assert len(chunks) == len(set(chunks)) == 3
