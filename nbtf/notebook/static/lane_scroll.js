// Scrolls the lanes of a timeline if there are more than fit: the bar at their right, the wheel, and lanes that come into sight.

import { h } from "./dom.js";
import { setBox } from "./drag_handle.js";
import { shortInCluster } from "./map_flows.js";
import { MOST_LANES } from "./timeline.js";
import { WORDS } from "./words.js";

export const LANES_IN_SIGHT = 24; // as many as the kernel sends at once
const SCROLL_WIDTH = 14; // px

export class LaneScroll {
  // `changed` requests a redraw.
  constructor(lanes, changed) {
    this.all = lanes;
    this.changed = changed;
    this.inSight = lanes.length > MOST_LANES ? { first: 0, count: LANES_IN_SIGHT } : undefined; // undefined: all of them, unscrolled
    const onscroll = () => this.show(Math.round(this.node.scrollTop / this.pitch));
    this.node = h("div", { class: "nbtf-time-scroll", role: "group", "aria-label": WORDS.timeline.devices, onscroll }, h("div", null));
    this.node.hidden = !this.inSight;
    if (this.inSight) this.node.tabIndex = 0;
    this.pitch = 1; // px from lane to lane
    this.found = -1;
  }

  show(first) {
    const { count } = this.inSight;
    this.inSight = { first: Math.max(0, Math.min(first, this.all.length - count)), count };
    this.changed();
  }

  bring(number) {
    const { first, count } = this.inSight ?? { first: 0, count: Infinity };
    if (number < first || number >= first + count) this.show(number - Math.floor(count / 2));
  }

  // Places the bar beside the drawn lanes.
  place({ lanes, scale }) {
    if (!this.inSight) return;
    const [first, last] = [lanes[0], lanes.at(-1)];
    this.pitch = lanes.length > 1 ? lanes[1].y - first.y : first.height;
    const height = last.y + last.height - first.y;
    setBox(this.node, scale.end + 1, first.y, SCROLL_WIDTH, height);
    this.node.firstChild.style.height = `${height + (this.all.length - lanes.length) * this.pitch}px`;
    const isPlaced = Math.round(this.node.scrollTop / this.pitch) === this.inSight.first;
    if (!isPlaced) this.node.scrollTop = this.inSight.first * this.pitch;
  }

  // Scrolls the lanes by a wheel, and leaves the page to it only before the first and after the last lane.
  wheel(event) {
    const before = this.node.scrollTop;
    this.node.scrollTop += event.deltaY;
    if (this.node.scrollTop !== before) event.preventDefault();
  }

  // The next lane in a direction whose name has all words of a text; undefined if there is none, or if the lanes do not scroll.
  named(text, way) {
    if (!this.inSight) return undefined;
    const asked = text.toLowerCase().split(/\s+/);
    const lanes = this.all.filter(({ name }) => asked.every((word) => `${name}\n${shortInCluster(name)}`.toLowerCase().includes(word)));
    const at = lanes.findIndex(({ number }) => number === this.found);
    const lane = lanes.at((at + (at < 0 && way < 0 ? 0 : way)) % (lanes.length || 1));
    this.found = lane?.number;
    return lane;
  }
}
