// Devices in little room: a row for each, what it runs, how it worked of late, how full it is, what came and went.
//
// Up to 8 devices have rows of 62 pixels, up to 16 flat ones of 28, more of them are squares of a grid. One row is chosen: by hand, or
// the one that ran last. A column of the heartbeat is what happened between two states of a running cell.

import { attr, h, keyed, put, rounded, rove, s } from "./dom.js";
import { kindOf, makeRoom, updateRoom } from "./room.js";
import { WORDS, fill, translated } from "./words.js";

const TALL_ROWS = 8;
const FLAT_ROWS = 16;
const COLUMN_WIDTH = 5; // pixels
const BEAT_HEIGHT = 16;
const WHOLE_SHARE = 300; // pixels of a row that has room for "of 4.5 GiB"
const MOST_COLUMNS = 600; // columns
const BEAT_PHASES = ["forward", "backward", "update", "input", "other"]; // as feed.py counts them
const SMALL_COPY = 4096; // bytes of copies that are no work: constants and numbers that are read

export function makeDeviceRows(ui) {
  const list = h("div", { class: "nbtf-rows", role: "listbox", "aria-label": WORDS.rows.label });
  const place = h("span", { class: "nbtf-running" });
  const host = h("span", { class: "nbtf-host-work" });
  const foot = h("p", { class: "nbtf-rows-foot" }, place, host);
  const detail = h("div", { class: "nbtf-chosen" });
  const root = h("div", { class: "nbtf-device-rows" }, list, foot, detail);
  const self = { ui, list, place, host, detail, root, beats: new Map(), before: null, chosen: null, room: null, reach: rove(list, ".nbtf-row") };
  return Object.assign(root, { update: (state, scene) => updateRows(self, state, scene), heard: (state) => beat(self, state) });
}

// Takes down what each device did since the last state. Nothing is taken down while nothing runs.
function beat(self, state) {
  const now = new Map((state.devices || []).map((device) => [device.name, { work: device.work || 0, phases: device.phases || [], copied: copiedBy(state, device.name) }]));
  const before = self.before;
  self.before = { rev: state.rev, heard: state.heard, wall: state.wall, now };
  if (!before || state.heard < before.heard) return void self.beats.clear(); // a new kernel counts anew
  if (state.heard === before.heard && !state.busy) return;
  for (const [name, { work, phases, copied }] of now) {
    const last = before.now.get(name) || { work: 0, copied: 0 };
    const columns = self.beats.get(name) || [];
    columns.push([byPhase(Math.max(0, work - last.work), phases), copied - last.copied >= SMALL_COPY ? 1 : 0, [before.wall, state.wall]]);
    self.beats.set(name, columns.slice(-MOST_COLUMNS));
  }
}

// How many of `ops` were of each phase, if all were as those that the state tells of: the last ones.
function byPhase(ops, phases) {
  const all = added(phases);
  return BEAT_PHASES.map((_, at) => (all ? (ops * phases[at]) / all : at ? 0 : ops));
}

function added(numbers) {
  return numbers.reduce((sum, n) => sum + n, 0);
}

function copiedBy(state, name) {
  return state.copies.reduce((sum, [from, to, , nbytes]) => (from === name || to === name ? sum + nbytes : sum), 0);
}

function updateRows(self, state, scene) {
  const gpus = scene.rooms.filter((room) => room.device.kind !== "host");
  const rooms = gpus.length ? gpus : scene.rooms;
  const running = scene.step ? scene.step.device : lastDevice(state, rooms);
  const chosen = rooms.find((room) => room.name === (self.chosen ?? running)) ?? rooms[0];
  attr(self.list, "data-size", rooms.length <= TALL_ROWS ? "tall" : rooms.length <= FLAT_ROWS ? "flat" : "grid");
  const show = { state, scene, running: state.busy || scene.step ? running : null, chosen: chosen?.name, most: mostWork(self, rooms), width: (self.list.firstChild ?? self.list).clientWidth };
  keyed(self.list, rooms, (room) => room.name, (room) => makeDeviceRow(self, room), (row, room) => fillDeviceRow(self, row, room, show));
  put(self.place, footOf(state, scene, rooms));
  put(self.host, hostOf(scene, gpus));
  showChosen(self, chosen, scene, state);
  self.reach();
}

function lastDevice(state, rooms) {
  const at = state.columns.indexOf("device");
  const names = new Set(rooms.map((room) => room.name));
  return state.steps.map((row) => state.words[row[at]]).findLast((name) => names.has(name)) ?? null;
}

// All rows have one scale.
function mostWork(self, rooms) {
  return Math.max(1, ...rooms.flatMap((room) => (self.beats.get(room.name) || []).map(([ops, copies]) => added(ops) + copies)));
}

function makeDeviceRow(self, { name, device }) {
  const parts = {
    op: h("span", { class: "nbtf-row-op" }), amount: h("span", { class: "nbtf-row-amount" }),
    phases: BEAT_PHASES.map((phase) => s("path", { class: `nbtf-beat-${phase}` })), copies: s("path", { class: "nbtf-beat-copies" }),
    pool: h("span", { class: "nbtf-row-pool" }), used: h("span", { class: "nbtf-row-used" }),
    share: h("span", { class: "nbtf-row-share" }), traffic: h("span", { class: "nbtf-row-traffic" }),
  };
  const choose = () => {
    self.chosen = name;
    self.ui.changed();
  };
  const open = (event) => event.key === "Enter" && self.ui.open(name);
  const openColumn = ({ offsetX }) => self.ui.open(name, columnAt(self.beats.get(name) || [], beats.clientWidth, offsetX)?.[2]);
  const beats = s("svg", { ondblclick: openColumn, class: "nbtf-beats", height: BEAT_HEIGHT, "aria-hidden": "true" }, ...parts.phases, parts.copies);
  const row = h("div", { class: "nbtf-row", role: "option", tabindex: "-1", "data-device": name, "data-kind": device.kind, onclick: choose, onfocus: choose, onkeydown: open },
    h("span", { class: "nbtf-row-name" }, name), parts.op, parts.amount, beats,
    h("span", { class: "nbtf-row-bar" }, parts.pool, parts.used), parts.share, parts.traffic);
  return Object.assign(row, { nbtf: parts });
}

function fillDeviceRow(self, row, room, show) {
  const parts = row.nbtf;
  const running = show.running === room.name;
  const memory = room.memory && !room.memory.unknown ? room.memory : null;
  const op = (show.scene.step ? room.counts[0]?.[0] : running ? room.device.last : room.device.op) || "";
  const share = memory?.limit ? percent(memory.in_use / memory.limit) : "";
  const amount = memory ? rounded(memory.in_use) : "";
  const [came, went] = traffic(show.scene.copies, room.name);
  put(parts.op, op);
  put(parts.amount, amount);
  put(parts.share, share && show.width >= WHOLE_SHARE ? fill(WORDS.rows.share, { share, limit: rounded(memory.limit) }) : share);
  put(parts.traffic, came || went ? `↓ ${rounded(came)}  ↑ ${rounded(went)}` : "");
  row.setAttribute("aria-selected", String(show.chosen === room.name));
  attr(row, "data-running", running ? "" : null);
  attr(row, "data-op", op || null);
  attr(row, "data-full", memory?.limit && memory.in_use / memory.limit > 0.9 ? "" : null);
  attr(row, "aria-label", fill(WORDS.rows.row, { name: room.name, op: op || WORDS.rows.nothing, amount: amount || "–", share: share || "–" }));
  attr(row, "data-some", room.ops ? "" : null);
  fillBar(parts, memory);
  drawBeats(parts, self.beats.get(room.name) || [], show);
}

function fillBar(parts, memory) {
  const of = (part) => (memory?.limit ? `${Math.min(100, (100 * part) / memory.limit)}%` : "0");
  parts.pool.style.width = of(memory?.pool || 0);
  parts.used.style.width = of(memory?.in_use || 0);
  attr(parts.used, "data-some", memory?.in_use > 0 ? "" : null); // less than a pixel and a half is drawn as that
}

// The newest column stands at the right.
function drawBeats(parts, columns, show) {
  const shown = columns.slice(-Math.floor((show.width - 24) / COLUMN_WIDTH));
  const left = show.width - 24 - COLUMN_WIDTH * shown.length;
  const tall = (n, all) => (n ? (n / all) * Math.max(2, (all / show.most) * BEAT_HEIGHT) : 0);
  const bar = (index, from, high) => `M${left + COLUMN_WIDTH * index} ${BEAT_HEIGHT - from}v${-Math.min(high, BEAT_HEIGHT - from)}h${COLUMN_WIDTH - 1}v${Math.min(high, BEAT_HEIGHT - from)}z`;
  const paths = [...parts.phases, parts.copies].map(() => "");
  shown.forEach(([ops, copies], index) => {
    const counts = [...ops, copies];
    const all = added(counts);
    let from = 0;
    counts.forEach((n, at) => {
      const high = tall(n, all);
      if (high) paths[at] += bar(index, +from.toFixed(1), +high.toFixed(1));
      from += high;
    });
  });
  [...parts.phases, parts.copies].forEach((path, at) => attr(path, "d", paths[at] || null));
}

// The column at some pixels from the left.
function columnAt(columns, width, x) {
  return columns.at(-1 - Math.floor((width - x) / COLUMN_WIDTH));
}

function traffic(copies, name) {
  const sum = (at) => copies.reduce((all, copy) => (copy[at] === name ? all + copy[3] : all), 0);
  return [sum(1), sum(0)];
}

// "12 %", "0.4 %", "< 0.01 %".
function percent(share) {
  const n = 100 * share;
  if (n > 0 && n < 0.01) return "< 0.01 %";
  return `${n >= 10 ? Math.round(n) : +n.toFixed(n >= 1 ? 1 : 2)} %`;
}

// The line that runs, while one does; else what the machine is.
function footOf(state, scene, rooms) {
  const code = state.columns.indexOf("code");
  const line = scene.step ? scene.step.code : state.busy ? state.words[state.steps.at(-1)?.[code]] : "";
  if (line) return translated("places", line);
  const simulated = rooms.find((room) => room.device.kind === "simulated");
  return simulated ? fill(WORDS.rows.simulated, { kind: kindOf(simulated.device) }) : rooms[0] ? kindOf(rooms[0].device) : "";
}

function hostOf(scene, gpus) {
  const host = scene.rooms.find((room) => room.device.kind === "host");
  return host && gpus.length && host.ops ? fill(WORDS.rows.host, { name: host.name, n: host.ops }) : "";
}

// Under the rows, where the panel is higher: what ran on the chosen device and why, its copies, its exact figures.
function showChosen(self, room, scene, state) {
  if (!room) return void self.detail.replaceChildren();
  if (self.room?.dataset.device !== room.name) {
    self.room = makeRoom(room.device, () => ((self.open = !self.open), self.ui.changed()));
    self.detail.replaceChildren(self.room);
  }
  const host = state.devices.find((device) => device.kind === "host")?.name;
  updateRoom(self.room, room, { host, replayed: scene.step, all: scene.copies, narrow: true, lines: 8, sends: 8, open: Boolean(self.open), flash: false });
}

