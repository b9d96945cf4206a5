// A view of 36 pixels beside a running cell, for pages without panels: what each device runs, and its heartbeat.
//
// The strip is a button that opens the whole view below it. Devices that do not fit side by side are summed up.

import { lastDevice } from "./device_rows.js";
import { attr, h, keyed, put } from "./dom.js";
import { drawBeats, makeBeats, summedColumns } from "./heartbeat.js";
import { WORDS, fill, listed } from "./words.js";

const STRIP_BEATS = 12; // pixels
const WITH_OP = 112; // pixels of a device with enough space for its name and its op
const WITH_NAME = 58;
const ALL_DEVICES = "all";

// An element with update(state) and say(badge, kind of badge); `toggle` opens and closes the view, `changed` requests an update.
export function makeStrip(heartbeats, title, toggle, changed) {
  const badge = h("span", { class: "nbtf-strip-badge" });
  const dot = h("span", { class: "nbtf-strip-dot" });
  const devices = h("span", { class: "nbtf-strip-devices" });
  const more = h("span", { class: "nbtf-strip-more", "aria-hidden": "true" }, "▾");
  const root = h("button", { type: "button", class: "nbtf-live-strip", "aria-expanded": "false", title: WORDS.strip.hint }, dot, badge, devices, more);
  root.addEventListener("click", () => {
    toggle();
    attr(root, "aria-expanded", String(root.getAttribute("aria-expanded") === "false"));
  });
  new ResizeObserver(changed).observe(devices); // ends with the element
  const self = { heartbeats, title, root, badge, devices, spoken: "" };
  const update = (state) => updateStrip(self, state);
  const say = (text, kind) => sayState(self, text, kind);
  return Object.assign(root, { update, say });
}

function updateStrip(self, state) {
  const { heartbeats, devices: list } = self;
  const gpus = state.devices.filter((device) => device.kind !== "host");
  const devices = gpus.length ? gpus : state.devices;
  const running = state.busy ? devices.find((device) => device.name === lastDevice(state, devices)) : null;
  const width = list.clientWidth / devices.length;
  const names = devices.map((device) => device.name);
  const single = (device) => ({ name: device.name, op: (device === running ? device.last : device.op) || "", running: device === running, columns: heartbeats.of(device.name) });
  const parts = width >= WITH_NAME ? devices.map(single) : [summedUp(devices, running, names.map(heartbeats.of))];
  const most = width >= WITH_NAME ? heartbeats.most(names) : 0;
  attr(list, "data-with-op", width >= WITH_OP || width < WITH_NAME ? "" : null);
  keyed(list, parts, (part) => part.key ?? part.name, makeStripDevice, (node, part) => fillStripDevice(node, part, most));
  self.spoken = listed(parts.map(spoken));
}

// Called last in each update, and alone as time passes, so that screen readers announce what is displayed.
function sayState({ root, badge, title, spoken }, text, kind) {
  put(badge, text);
  attr(root, "data-state", kind);
  attr(root, "aria-label", fill(WORDS.strip.label, { title, badge: text, devices: spoken }));
}

// All devices as one part of the strip: their number, and which of them runs what.
function summedUp(devices, running, several) {
  const op = running ? `${running.name} ${running.last}` : "";
  return { key: ALL_DEVICES, name: fill(WORDS.strip.all, { n: devices.length }), op, running: Boolean(running), columns: summedColumns(several) };
}

function spoken({ name, op }) {
  return op ? `${name} ${op}` : name;
}

function makeStripDevice() {
  const parts = { name: h("span", { class: "nbtf-strip-name" }), op: h("span", { class: "nbtf-strip-op" }), beats: makeBeats(STRIP_BEATS) };
  return Object.assign(h("span", { class: "nbtf-strip-device" }, parts.name, parts.op, parts.beats), { nbtf: parts });
}

function fillStripDevice(node, { name, op, running, columns }, most) {
  const parts = node.nbtf;
  put(parts.name, name);
  put(parts.op, op);
  attr(node, "data-running", running ? "" : null);
  attr(node, "data-device", name);
  const tallest = most || Math.max(1, ...columns.map(([ops, copies]) => ops.reduce((sum, n) => sum + n, copies)));
  drawBeats(parts.beats, columns, parts.beats.clientWidth, tallest);
}
