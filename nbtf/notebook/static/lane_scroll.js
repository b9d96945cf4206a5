// Scrolls the rows of a timeline if there are more than fit: the bar at their right, the wheel, groups that open, and devices that
// come into sight.

import { h } from "./dom.js";
import { setBox } from "./drag_handle.js";
import { shortInCluster } from "./map_flows.js";
import { TIMELINE } from "./measures.js";
import { rowsOf } from "./timeline_groups.js";
import { WORDS, fill } from "./words.js";

const SCROLL_WIDTH = 14; // px

export class LaneScroll {
  // `changed` requests a redraw.
  constructor(scene, changed) {
    this.scene = scene;
    this.changed = changed;
    this.open = new Set([0]); // the numbers of the open groups
    this.rows = rowsOf(scene, this.open);
    this.first = 0;
    this.scrolls = scene.lanes.length > TIMELINE.mostUngrouped;
    const onscroll = () => this.show(Math.round(this.node.scrollTop / this.pitch));
    this.node = h("div", { class: "nbtf-time-scroll", role: "group", "aria-label": WORDS.timeline.devices, onscroll }, h("div", null));
    this.node.hidden = !this.scrolls;
    if (this.scrolls) this.node.tabIndex = 0;
    this.buttons = scene.groups.map(({ number, name, lanes }) => this.button(number, name || WORDS.timeline.here, lanes.length));
    this.pitch = 1; // px from row to row
    this.found = -1;
  }

  button(number, name, n) {
    const label = `${name}: ${fill(WORDS.timeline.members, { n })}`;
    return h("button", { type: "button", class: "nbtf-time-group", "aria-label": label, title: label, onclick: () => this.toggle(number) });
  }

  // The rows in sight; undefined if they do not scroll.
  get inSight() {
    return this.scrolls ? this.rows.slice(this.first, this.first + TIMELINE.rowsInSight) : undefined;
  }

  // The elements of devices and groups in the order of the rows.
  inOrder(lanes) {
    const firsts = new Map(this.scene.groups.map((group) => [group.lanes[0], this.buttons[group.number]]));
    return lanes.flatMap((lane, number) => (firsts.has(number) ? [firsts.get(number), lane] : [lane]));
  }

  show(first) {
    this.first = Math.max(0, Math.min(first, this.rows.length - TIMELINE.rowsInSight));
    this.changed();
  }

  // Opens a group, or folds it.
  toggle(number) {
    if (!this.open.delete(number)) this.open.add(number);
    this.rows = rowsOf(this.scene, this.open);
    this.show(this.first);
  }

  // Brings a device into sight, and opens its group.
  bring(number) {
    if (!this.scrolls) return;
    const group = this.scene.groups.find(({ lanes }) => lanes.includes(number));
    if (group && !this.open.has(group.number)) this.toggle(group.number);
    const row = this.rows.findIndex(({ lane }) => lane === number);
    if (row < this.first || row >= this.first + TIMELINE.rowsInSight) this.show(row - Math.floor(TIMELINE.rowsInSight / 2));
  }

  // Places the bar beside the drawn rows, and the buttons over the names of their groups.
  place({ rows, scale }) {
    if (!this.scrolls) return;
    const places = new Map(rows.filter(({ isGroup }) => isGroup).map((row) => [row.number, row]));
    this.buttons.forEach((button, number) => {
      const row = places.get(number);
      if (button.hidden !== !row) button.hidden = !row;
      if (!row) return;
      setBox(button, 4, row.y - 4, scale.begin - 8, row.height + 8);
      button.setAttribute("aria-expanded", String(this.open.has(number)));
    });
    const [first, last] = [rows[0], rows.at(-1)];
    this.pitch = rows.length > 1 ? rows[1].y - first.y : first.height;
    const height = last.y + last.height - first.y;
    setBox(this.node, scale.end + 1, first.y, SCROLL_WIDTH, height);
    this.node.firstChild.style.height = `${height + (this.rows.length - rows.length) * this.pitch}px`;
    const isPlaced = Math.round(this.node.scrollTop / this.pitch) === this.first;
    if (!isPlaced) this.node.scrollTop = this.first * this.pitch;
  }

  // Scrolls the rows by a wheel, and leaves the page to it only before the first and after the last row.
  wheel(event) {
    const before = this.node.scrollTop;
    this.node.scrollTop += event.deltaY;
    if (this.node.scrollTop !== before) event.preventDefault();
  }

  // The next device in a direction whose name has all words of a text; undefined if there is none, or if the rows do not scroll.
  named(text, way) {
    if (!this.scrolls) return undefined;
    const asked = text.toLowerCase().split(/\s+/);
    const lanes = this.scene.lanes.filter(({ name }) => asked.every((word) => `${name}\n${shortInCluster(name)}`.toLowerCase().includes(word)));
    const at = lanes.findIndex(({ number }) => number === this.found);
    const lane = lanes.at((at + (at < 0 && way < 0 ? 0 : way)) % (lanes.length || 1));
    this.found = lane?.number;
    return lane;
  }
}
