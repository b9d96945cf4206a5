"""Measures how long readers of a long recording wait: `python -m tests.benchmarks.bench_pages [EVENTS]`.

Uses Chromium and a recording of this many events (default: 1,000,000) on four simulated cards. Prints wall-clock
milliseconds until JupyterLab draws the recording, until 40 zooms, 40 moves through the memory and 40 replay steps are
drawn (median and 95th percentile), and until the kernel has answered them. Then measures a saved page without a kernel.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.browser.conftest import ARGUMENTS, USUAL
from tests.browser.lab import RUN, Lab
from tests.browser.lab_server import start_lab
from tests.conftest import browser_or_outcome

START = """\
import nbtf as tf
%load_ext nbtf
_ = tf.runtime.simulate_gpus(4, memory="256MiB")"""
RECORD = """\
rows = []
for number in range(4):
    with tf.device(f"GPU:{{number}}"):
        rows.append(tf.random.uniform([64, 64]))
with tf.runtime.recording(capacity=2 * {events}) as record:
    while record.snapshot(0).heard < {events}:
        for row in rows:
            with tf.device(row.device):
                for _ in range(200):
                    row = tf.nn.relu(row + row)"""
SMALL = "with tf.runtime.recording() as small:\n    x = tf.ones([4])\nsmall"
SAVE = "record.to_html('page.html')"

UNTIL = """async ([press, selector]) => {
  const begin = performance.now();
  eval(press);
  while (!document.querySelector(selector)) await new Promise(requestAnimationFrame);
  return performance.now() - begin;
}"""

# An action counts as drawn once the next frame is painted, and as answered once the view stops changing.
LOOKS = """async ([look, root, settled]) => {
  const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  let changed = 0;
  const observer = new MutationObserver(() => (changed = performance.now()));
  const every = { subtree: true, childList: true, attributes: true, characterData: true };
  observer.observe(document.querySelector(root), every);
  const waits = [];
  for (let number = 0; number < 40; number++) {
    const begin = performance.now();
    eval(`(${look})`)(number, Math.random);
    await painted();
    const drawn = performance.now();
    while (performance.now() < Math.max(changed, begin) + settled) await new Promise((done) => setTimeout(done, 20));
    waits.push([drawn - begin, Math.max(changed - begin, 0)]);
  }
  observer.disconnect();
  return waits;
}"""
ZOOM = """(number, random) => {
  const time = document.querySelector(".nbtf-time");
  const { left, top, width } = time.getBoundingClientRect();
  const place = { clientX: left + width * (0.1 + 0.8 * random()), clientY: top + 90, bubbles: true, cancelable: true };
  const key = number % 14 === 13 ? "Home" : "";
  if (key) time.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  else time.dispatchEvent(new WheelEvent("wheel", { ...place, deltaY: -100, ctrlKey: true }));
}"""
SCRUB = """(number, random) => {
  const plane = document.querySelector(".nbtf-plane");
  Object.assign(plane, { setPointerCapture() {}, hasPointerCapture: () => true }); // a script has no pointer
  const { left, top, width } = plane.getBoundingClientRect();
  const place = { clientX: left + width * (0.1 + 0.5 * random()), clientY: top + 90, buttons: 1, bubbles: true };
  plane.dispatchEvent(new PointerEvent("pointerdown", place));
}"""
REPLAY = """(number, random) => {
  const scrub = document.querySelector(".nbtf-scrub");
  scrub.value = Math.floor(random() * scrub.max);
  scrub.dispatchEvent(new Event("input"));
}"""
STILL = "[data-nbtf-recording]"
TIMELINE, PLANE = ".nbtf-time svg text", ".nbtf-plane svg text"
OPEN_MEMORY = "document.querySelectorAll('.nbtf-tabs [role=tab]')[1].click()"


def looks(page: Any, look: str, root: str, settled: int) -> str:
    """Returns how long actions take until they are drawn, and until they are answered."""
    waits: list[list[float]] = page.evaluate(LOOKS, [look, root, settled])
    columns = [sorted(column) for column in zip(*waits, strict=True)]
    half, most = ([column[round(share * (len(column) - 1))] for column in columns] for share in (0.5, 0.95))
    return f"drawn {half[0]:.0f} ms (95 %: {most[0]:.0f}), answered {half[1]:.0f} ms (95 %: {most[1]:.0f})"


def of_cell(lab: Lab, index: int, selector: str) -> str:
    """Returns the time from the start of a cell until its view is drawn."""
    forget = "document.querySelectorAll('[data-nbtf-recording], .nbtf-recording').forEach((view) => view.remove())"
    return f"{lab.page.evaluate(UNTIL, [f'{forget}; ({RUN})({index})', selector]):.0f} ms"


def in_lab(lab: Lab, events: int) -> None:
    """Prints the waiting times of a notebook's reader."""
    lab.open(START, RECORD.format(events=events), SMALL, "record", SAVE, "%devices --live --here")
    lab.run(0, 1)
    print(f"notebook: picture of one op, the first of its kernel {of_cell(lab, 2, STILL)}", flush=True)
    print(f"notebook: picture {of_cell(lab, 3, STILL)}", flush=True)
    print(f"notebook: alive {lab.page.evaluate(UNTIL, ['', TIMELINE]):.0f} ms later", flush=True)
    print(f"notebook: zoom {looks(lab.page, ZOOM, '.nbtf-time svg', 800)}", flush=True)
    print(f"notebook: memory {lab.page.evaluate(UNTIL, [OPEN_MEMORY, PLANE]):.0f} ms", flush=True)
    print(f"notebook: scrub {looks(lab.page, SCRUB, '.nbtf-plane', 100)}", flush=True)
    lab.run(4)
    print(f"notebook: live view {of_cell(lab, 5, '.nbtf-scrub:enabled')}", flush=True)
    print(f"notebook: replay {looks(lab.page, REPLAY, '.nbtf-line', 800)}", flush=True)


def saved(page: Any, file: Path) -> None:
    """Prints the waiting times of a saved page's reader."""
    page.goto(file.as_uri(), wait_until="commit")
    page.wait_for_selector(TIMELINE)
    opened = page.evaluate("performance.now()")
    print(f"page of {file.stat().st_size / 1e6:.0f} MB: opened {opened:.0f} ms", flush=True)
    print(f"page: zoom {looks(page, ZOOM, '.nbtf-time svg', 100)}", flush=True)
    print(f"page: memory {page.evaluate(UNTIL, [OPEN_MEMORY, PLANE]):.0f} ms", flush=True)
    print(f"page: scrub {looks(page, SCRUB, '.nbtf-plane', 100)}", flush=True)


def main(events: int) -> None:
    """Prints the figures."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = start_lab(Path(folder))
        running = playwright.chromium.launch(executable_path=browser_or_outcome(), args=ARGUMENTS)
        try:
            lab = Lab(running.new_context(**USUAL, bypass_csp=True).new_page(), server, "long")
            in_lab(lab, events)
            lab.end()
            saved(running.new_context(**USUAL, bypass_csp=True).new_page(), server.notebooks / "page.html")
        finally:
            running.close()
            server.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 1_000_000)
