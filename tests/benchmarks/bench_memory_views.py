"""Measures how long readers of the memory views wait: `python -m tests.benchmarks.bench_memory_views [PIECES]`.

Uses Chromium, a memory snapshot and a recording with this many pieces (default: 100,000), each as a saved page. Prints
for 40 actions of each kind in the address plane, the stacked view and the treemap, the wall-clock milliseconds until an
action is drawn, and the milliseconds of the page's thread, which depend less on other programs (median and 95th
percentile of each).
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import nbtf as tf
from nbtf._snapshots.snapshot import (
    ALLOC,
    FREE_COMPLETED,
    SEGMENT_ALLOC,
    Block,
    Frame,
    MemorySnapshot,
    Segment,
    Trace,
)
from nbtf.notebook.opened_files import save_page_of
from tests.browser.conftest import ARGUMENTS, USUAL
from tests.conftest import browser_or_outcome

_UNIT = 1 << 16
_BASE = 0x7F00_0000_0000
_PLACES = 4096
_STACKS = [
    (
        Frame("/opt/lib/python3.12/site-packages/torch/nn/functional.py", 30, "linear"),
        *(Frame(f"/home/user/layer_{depth}.py", 10 + number, "forward") for depth in range(12)),
    )
    for number in range(200)
]

# A script has no pointer, so that events are told that theirs is captured.
_ACT = """(number, random) => {{
  const plane = [...document.querySelectorAll(".nbtf-plane")].find((each) => each.checkVisibility());
  Object.assign(plane, {{ setPointerCapture() {{}}, hasPointerCapture: () => true, releasePointerCapture() {{}} }});
  const {{ left, top, width, height }} = plane.getBoundingClientRect();
  const place = (x) => ({{ clientX: left + width * x, clientY: top + height * 0.55, bubbles: true, cancelable: true }});
  const pointer = (name, x) => plane.dispatchEvent(new PointerEvent(name, {{ ...place(x), buttons: 1, pointerId: 1 }}));
  const wheel = (rest) => plane.dispatchEvent(new WheelEvent("wheel", {{ ...place(0.1 + 0.5 * random()), ...rest }}));
  const key = (name) => plane.dispatchEvent(new KeyboardEvent("keydown", {{ key: name, bubbles: true }}));
  {action}
}}"""
_DRAWN = """async ([action, number]) => {
  const begin = performance.now();
  eval(`(${action})`)(number, Math.random);
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - begin;
}"""
_ACTIONS = {
    "zoom": 'if (number % 14 === 13) key("0"); else wheel({ ctrlKey: true, deltaY: -120 });',
    "zoom out and move": (
        'if (number === -2) for (let times = 0; times < 8; times++) key("+");'
        "if (number % 2) wheel({ shiftKey: true, deltaY: random() < 0.5 ? 200 : -200 });"
        "else wheel({ ctrlKey: true, deltaY: number % 4 ? 60 : -60 });"
    ),
    "scrub": 'pointer("pointerdown", 0.1 + 0.5 * random()); window.dispatchEvent(new PointerEvent("pointerup"));',
    "step": 'key(number % 2 ? "ArrowLeft" : "ArrowRight");',
    "range": (
        'if (number === -2) pointer("pointerdown", 0.12);'
        'else if (number === 39) window.dispatchEvent(new PointerEvent("pointerup"));'
        'else pointer("pointermove", 0.12 + 0.5 * random());'
    ),
}


def snapshot(pieces: int) -> MemorySnapshot:
    """Returns a snapshot with so many pieces in the history of one device."""
    draw = random.Random(1)
    held: dict[int, tuple[int, int]] = {}
    free = list(range(_PLACES))
    events = [(SEGMENT_ALLOC, _BASE, _PLACES * _UNIT, -1)]
    for _ in range(pieces):
        while len(held) > 3000 + 900 * draw.random():
            place = draw.choice(list(held)) if draw.random() < 0.01 else next(iter(held))
            events.append((FREE_COMPLETED, _BASE + place * _UNIT, *held.pop(place)))
            free.append(place)
        place = free.pop(draw.randrange(len(free)))
        held[place] = draw.randrange(1, _UNIT), draw.randrange(len(_STACKS))
        events.append((ALLOC, _BASE + place * _UNIT, *held[place]))
    columns = np.array(events, np.int64).T
    blocks: list[Block] = []
    for place in range(_PLACES):
        size, stack = held.get(place, (0, -1))
        rounded = -(-size // 512) * 512
        blocks += [Block(_BASE + place * _UNIT, rounded, size, "active_allocated", stack)] if size else []
        blocks += [Block(_BASE + place * _UNIT + rounded, _UNIT - rounded, 0, "inactive")] if rounded < _UNIT else []
    numbers = np.arange(len(events))
    stacks = columns[3].astype(np.int32)
    trace = Trace(0, columns[0].astype(np.uint8), columns[1], columns[2], numbers * 0, numbers, stacks, {})
    segment = Segment(0, _BASE, _PLACES * _UNIT, 0, False, False, tuple(blocks))
    return MemorySnapshot("long.pickle", "pickle", [segment], [trace], _STACKS, {})


def recording(pieces: int) -> tf.runtime.Recording:
    """Returns a recording with so many pieces on one simulated GPU."""
    draw = random.Random(2)
    tf.runtime.restart()
    tf.runtime.simulate_gpus(1, memory="2GiB")
    held: list[Any] = []
    with tf.runtime.recording(capacity=9 * pieces) as record, tf.device("GPU:0"):
        for _ in range(pieces):
            held.append(tf.zeros([draw.randrange(64, 1 << 14)]))
            if len(held) > 3000:
                held[draw.randrange(len(held))] = held[-1]
                held.pop()
    return record


def main(pieces: int) -> None:
    """Prints the figures."""
    from playwright.sync_api import sync_playwright

    sources: dict[str, Callable[[Path], object]] = {
        "snapshot": lambda path: save_page_of(snapshot(pieces), path),
        "recording": lambda path: recording(pieces).to_html(path),
    }
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=browser_or_outcome(), args=ARGUMENTS)
        for name, save in sources.items():
            file = Path(folder) / f"{name}.html"
            save(file)
            measure(running.new_context(**USUAL, bypass_csp=True).new_page(), name, file)
        running.close()


def measure(page: Any, name: str, file: Path) -> None:
    """Prints the figures of one page."""
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(file.as_uri(), wait_until="commit")
    page.locator(".nbtf-tabs").wait_for()
    for view in ("Memory", "Stacked by holder", "Treemap"):
        page.get_by_role("tab", name=view, exact=True).click()
        plane = page.locator(".nbtf-plane").locator("visible=true").first
        plane.wait_for()
        print(f"{name} of {file.stat().st_size / 1e6:.1f} MB, {view}, {plane.get_attribute('aria-valuemax')} steps")
        for action, script in _ACTIONS.items():
            if view != "Treemap" or action == "step":
                print(f"  {action}: {_waits(page, devtools, _ACT.format(action=script))}", flush=True)
                plane.press("Escape")


def _waits(page: Any, devtools: Any, action: str) -> str:
    walls: list[float] = []
    works: list[float] = []
    for number in range(-2, 40):  # the first two let the browser compile
        before = _thread_seconds(devtools)
        walls.append(page.evaluate(_DRAWN, [action, number]))
        works.append(1000 * (_thread_seconds(devtools) - before))
    columns = [sorted(column[2:]) for column in (walls, works)]
    half, most = ([column[round(share * (len(column) - 1))] for column in columns] for share in (0.5, 0.95))
    return f"drawn {half[0]:.0f} ms (95 %: {most[0]:.0f}), thread {half[1]:.0f} ms (95 %: {most[1]:.0f})"


def _thread_seconds(devtools: Any) -> float:
    metrics = {each["name"]: each["value"] for each in devtools.send("Performance.getMetrics")["metrics"]}
    return metrics["TaskDuration"]


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 100_000)
