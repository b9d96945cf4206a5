// Makes the device map of a page interactive: each device and each flow of copies can be selected, and then describes itself.

import { attr, h, keyed, put, rove } from "./dom.js";
import { mapPicture, mapTitle } from "./map_picture.js";
import { mainOp, reasonWords } from "./map_rooms.js";
import { drawPicture, drawing } from "./picture.js";
import { devicesOf, newSelection, select } from "./selection.js";
import { table } from "./table.js";
import { sizeWords } from "./time_scale.js";
import { WORDS, grouped } from "./words.js";

export const mapView = {
  name: "map",
  title: () => WORDS.deviceMap.title,
  create: (root, facts, ui) => new MapView(root, facts, ui),
};

class MapView {
  constructor(root, facts, ui) {
    this.facts = facts;
    this.devices = [...facts.hosts, ...facts.cards];
    this.ui = ui;
    this.svg = drawing();
    this.chosen = "";
    this.open = new Set();
    this.stops = h("div", { class: "nbtf-places", role: "group", "aria-label": mapTitle(facts) }, this.svg);
    this.reachable = rove(this.stops, "button");
    this.detail = h("p", { class: "nbtf-plane-detail", role: "status" });
    this.tabular = h("button", { type: "button", "aria-pressed": "false", onclick: () => this.toggleTable() }, WORDS.timeline.table);
    this.tables = h("div", { class: "nbtf-tables", hidden: "" });
    this.picture = h("div", null, this.stops, this.detail);
    root.append(h("div", { class: "nbtf-tools" }, this.tabular), this.picture, this.tables);
  }

  draw(width) {
    if (!this.tables.hidden) return this.tables.replaceChildren(table(this.rows()));
    const picture = mapPicture({ ...this.facts, open: this.open }, width);
    this.takeSelection(this.stopsOf(picture));
    drawPicture(this.svg, picture);
    this.stops.style.zoom = Math.min(1, width / picture.width);
    keyed(this.stops, this.stopsOf(picture), ({ title }) => title, (stop) => this.stop(stop), (button, stop) => this.place(button, stop));
    this.reachable();
    put(this.detail, this.chosen);
  }

  // Marks the device or the flow that another view has selected.
  takeSelection(stops) {
    const selection = newSelection(this, this.ui.shared);
    if (!selection) return;
    const [first, second] = devicesOf(this.ui.shared.scene, selection);
    const begin = second ? `${first} → ${second}: ` : `${first}: `;
    this.chosen = (stops.findLast(({ title }) => title.startsWith(begin)) ?? stops.findLast(({ title }) => title.startsWith(`${second}: `)))?.title ?? this.chosen;
  }

  stop({ title, host }) {
    const choose = () => {
      this.chosen = title;
      if (host !== undefined && !this.open.delete(host)) this.open.add(host);
      const device = this.devices.find(({ name }) => title.startsWith(`${name}: `));
      if (device) select(this, this.ui.shared, { device: device.name });
      this.ui.changed();
    };
    return h("button", { type: "button", "aria-label": title, title, onclick: choose });
  }

  place(button, { title, host, box: [left, top, width, height] }) {
    attr(button, "aria-pressed", String(title === this.chosen));
    attr(button, "aria-expanded", host === undefined ? null : String(this.open.has(host)));
    for (const [name, px] of Object.entries({ left, top, width, height })) button.style[name] = `${px}px`;
  }

  // The selectable parts, with their bounds: the flows, above them the devices, and hosts that can be opened.
  stopsOf({ marks, rooms, hosts }) {
    const flows = marks.filter(({ mark, title, marks: inside }) => mark === "group" && title && inside[0].points);
    const devices = this.devices.filter(({ name }) => rooms.has(name));
    return [
      ...flows.map(({ title, marks: [arrow] }) => ({ title, box: boxAround(arrow.points) })),
      ...[...hosts].map(([host, { title, box }]) => ({ title, box, host })),
      ...devices.map((device) => ({ title: deviceSentence(device), box: rooms.get(device.name) })),
    ];
  }

  toggleTable() {
    const shown = this.tables.hidden;
    this.tables.hidden = !shown;
    this.picture.hidden = shown;
    attr(this.tabular, "aria-pressed", String(shown));
    this.ui.changed();
  }

  rows() {
    const said = WORDS.timeline;
    const ops = this.devices.flatMap((device) => device.ops.map((op) => [device.name, op.op, grouped(op.times), reasonWords(op)]));
    const copies = this.facts.flows.map(({ source, target, copies: times, nbytes }) => [`${source} → ${target}`, said.copy, grouped(times), sizeWords(nbytes)]);
    return { caption: WORDS.deviceMap.title, columns: [said.device, said.op, { label: "×", number: true }, said.reason], rows: [...ops, ...copies], notes: [] };
  }
}

// Describes a device: its most frequent op first, and the reason.
function deviceSentence(device) {
  const first = mainOp(device);
  if (!first) return `${device.name}: ${WORDS.deviceMap.nothing}`;
  const others = device.ops.filter((op) => op !== first);
  return `${device.name}: ${[first, ...others].map((op) => `${op.op} × ${grouped(op.times)} (${reasonWords(op)})`).join(" · ")}`;
}

function boxAround(points) {
  const [across, down] = [points.map(([x]) => x), points.map(([, y]) => y)];
  const [left, top] = [Math.min(...across), Math.min(...down)];
  return [left, top, Math.max(...across) - left, Math.max(...down) - top];
}
