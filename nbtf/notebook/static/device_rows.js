// Devices as rows: what each runs, its recent work, how full it is, and its bytes in and out.
//
// Up to 8 devices have rows of 62 pixels, up to 16 have flat rows of 28; more are squares of a grid. Devices of several
// hosts are cells, see device_cells.js. One row is chosen: by the reader, or the one that ran last. A column of the
// heartbeat shows what happened between two states while a cell was running.

import { attr, h, keyed, put, rounded, rove } from "./dom.js";
import { hostsOf, makeDeviceCells, rowsBeside } from "./device_cells.js";
import { columnAt, drawBeats, makeBeats, makeBeatsLegend } from "./heartbeat.js";
import { shortInCluster } from "./map_flows.js";
import { kindOf, makeRoom, updateRoom } from "./room.js";
import { makeRowMemory } from "./row_memory.js";
import { makeSurprise } from "./surprise.js";
import { WORDS, fill, translated } from "./words.js";

const TALL_ROWS = 8;
const FLAT_ROWS = 16;
const BEAT_HEIGHT = 16;
const SHARE_LETTER = 6.4; // pixels of a letter in small print, at most on average
const BESIDE_SHARE = 96; // pixels of the bar before a share, of the gaps, and of the row's padding
const ROW_PADDING = 24; // pixels, both sides
const FLAT_BEATS = 96; // pixels

export function makeDeviceRows(ui, heartbeats) {
  const list = h("div", { class: "nbtf-rows", role: "listbox", "aria-label": WORDS.rows.label });
  const place = h("span", { class: "nbtf-running" });
  const host = h("span", { class: "nbtf-host-work" });
  const foot = h("p", { class: "nbtf-rows-foot" }, place, host);
  const detail = h("div", { class: "nbtf-chosen" });
  const [surprise, memory] = [makeSurprise(), makeRowMemory(ui)];
  const choose = (name) => ((self.chosen = name), ui.changed());
  const cells = makeDeviceCells(choose, (name) => ui.open(name));
  const legend = makeBeatsLegend();
  const root = h("div", { class: "nbtf-device-rows" }, cells, list, legend, foot, surprise, memory, detail);
  const self = { ui, choose, heartbeats, cells, list, legend, place, host, surprise, memory, detail, root, chosen: null, room: null, reach: rove(list, ".nbtf-row") };
  return Object.assign(root, { update: (state, scene, position) => updateRows(self, state, scene, position) });
}

function updateRows(self, state, scene, position) {
  const gpus = scene.rooms.filter((room) => room.device.kind !== "host");
  const rooms = gpus.length ? gpus : scene.rooms;
  const running = scene.step ? scene.step.device : lastDevice(state, rooms);
  const chosen = rooms.find((room) => room.name === (self.chosen ?? running)) ?? rooms[0];
  const hosts = rooms.length > TALL_ROWS ? hostsOf(rooms) : null;
  const inRows = hosts ? rowsBeside(hosts, chosen) : rooms;
  const size = inRows.length <= TALL_ROWS && !hosts ? "tall" : inRows.length <= FLAT_ROWS ? "flat" : "grid";
  attr(self.list, "data-size", size);
  const most = self.heartbeats.most(inRows.map((room) => room.name));
  const traffic = bytesByDevice(scene.copies);
  const show = { state, scene, size, most, traffic, running: state.busy || scene.step ? running : null, chosen: chosen?.name, width: (self.list.firstChild ?? self.list).clientWidth };
  self.cells.hidden = !hosts;
  if (hosts) self.cells.update(hosts, { ...show, traffic: new Map([...traffic].map(([name, [came, went]]) => [name, came + went])) });
  self.list.hidden = !inRows.length;
  keyed(self.list, inRows, (room) => room.name, (room) => makeDeviceRow(self, room), (row, room) => fillDeviceRow(self, row, room, show));
  self.legend.update(size === "grid" ? [] : inRows.map((room) => self.heartbeats.of(room.name)));
  const words = footOf(state, scene, rooms);
  put(self.place, words);
  attr(self.place, "title", words || null); // long lines are cut
  put(self.host, hosts ? "" : hostOf(scene, gpus));
  self.surprise.update(state, scene);
  self.memory.update(state, rooms.map((room) => room.device), chosen?.name, position);
  showChosen(self, chosen, scene, state);
  self.reach();
}

// The device of the last step, among those shown.
export function lastDevice(state, rooms) {
  const at = state.columns.indexOf("device");
  const names = new Set(rooms.map((room) => room.name));
  return state.steps.map((row) => state.words[row[at]]).findLast((name) => names.has(name)) ?? null;
}

function makeDeviceRow(self, { name, device }) {
  const parts = {
    op: h("span", { class: "nbtf-row-op" }), amount: h("span", { class: "nbtf-row-amount" }),
    beats: makeBeats(BEAT_HEIGHT, { ondblclick: ({ offsetX }) => openColumn(offsetX) }),
    pool: h("span", { class: "nbtf-row-pool" }), used: h("span", { class: "nbtf-row-used" }),
    share: h("span", { class: "nbtf-row-share" }), traffic: h("span", { class: "nbtf-row-traffic" }),
  };
  const choose = () => self.choose(name);
  const open = (event) => event.key === "Enter" && self.ui.open(name);
  const openColumn = (x) => self.ui.open(name, columnAt(self.heartbeats.of(name), parts.beats.clientWidth, x)?.[2]);
  const row = h("div", { class: "nbtf-row", role: "option", tabindex: "-1", "data-device": name, "data-kind": device.kind, onclick: choose, onfocus: choose, onkeydown: open },
    h("span", { class: "nbtf-row-name" }, shortInCluster(name)), parts.op, parts.amount, parts.beats,
    h("span", { class: "nbtf-row-last" }, h("span", { class: "nbtf-row-bar" }, parts.pool, parts.used), parts.share, parts.traffic));
  return Object.assign(row, { nbtf: parts });
}

function fillDeviceRow(self, row, room, show) {
  const parts = row.nbtf;
  const running = show.running === room.name;
  const memory = room.memory && !room.memory.unknown ? room.memory : null;
  const op = room.device.lost ? WORDS.rows.lost : (show.scene.step ? room.counts[0]?.[0] : running ? room.device.last : room.device.op) || "";
  const share = memory?.limit ? percent(memory.in_use / memory.limit) : "";
  const amount = memory ? rounded(memory.in_use) : "";
  const [came, went] = show.traffic.get(room.name) ?? [0, 0];
  put(parts.op, op);
  put(parts.amount, amount);
  const traffic = came || went ? `↓ ${rounded(came)}  ↑ ${rounded(went)}` : "";
  const whole = share && fill(WORDS.rows.share, { share, limit: rounded(memory.limit) });
  const fits = BESIDE_SHARE + SHARE_LETTER * (whole.length + traffic.length) <= show.width; // "of 4.5 GiB" is left out, never cut
  put(parts.share, fits ? whole : share);
  put(parts.traffic, traffic);
  row.setAttribute("aria-selected", String(show.chosen === room.name));
  attr(row, "data-running", running ? "" : null);
  attr(row, "data-op", op || null);
  attr(row, "data-full", memory?.limit && memory.in_use / memory.limit > 0.9 ? "" : null);
  attr(row, "aria-label", fill(WORDS.rows.row, { name: shortInCluster(room.name), op: op || WORDS.rows.nothing, amount: amount || "–", share: share || "–" }));
  attr(row, "data-some", room.ops ? "" : null);
  fillBar(parts, memory);
  drawBeats(parts.beats, self.heartbeats.of(room.name), show.size === "flat" ? FLAT_BEATS : show.width - ROW_PADDING, show.most);
}

function fillBar(parts, memory) {
  const of = (part) => (memory?.limit ? `${Math.min(100, (100 * part) / memory.limit)}%` : "0");
  parts.pool.style.width = of(memory?.pool || 0);
  parts.used.style.width = of(memory?.in_use || 0);
  attr(parts.used, "data-some", memory?.in_use > 0 ? "" : null); // CSS draws a minimum width for any use
}

// The bytes that each device received and sent.
function bytesByDevice(copies) {
  const traffic = new Map();
  for (const [source, target, , nbytes] of copies) {
    for (const [name, at] of [[target, 0], [source, 1]]) {
      if (!traffic.has(name)) traffic.set(name, [0, 0]);
      traffic.get(name)[at] += nbytes;
    }
  }
  return traffic;
}

// "12 %", "0.4 %", "< 0.01 %".
function percent(share) {
  const n = 100 * share;
  if (n > 0 && n < 0.01) return "< 0.01 %";
  return `${n >= 10 ? Math.round(n) : +n.toFixed(n >= 1 ? 1 : 2)} %`;
}

// The running line; if none is running, the kind of machine.
function footOf(state, scene, rooms) {
  const code = state.columns.indexOf("code");
  const line = scene.step ? scene.step.code : state.busy ? state.words[state.steps.at(-1)?.[code]] : "";
  if (line) return translated("places", line);
  const simulated = rooms.find((room) => room.device.kind === "simulated");
  return simulated ? fill(WORDS.rows.simulated, { kind: kindOf(simulated.device).replace("NVIDIA ", "") }) : rooms[0] ? kindOf(rooms[0].device) : "";
}

function hostOf(scene, gpus) {
  const host = scene.rooms.find((room) => room.device.kind === "host");
  return host && gpus.length && host.ops ? fill(WORDS.rows.host, { name: host.name, n: host.ops }) : "";
}

// Shows, in higher panels, what ran on the chosen device and why, its copies, and its exact figures.
function showChosen(self, room, scene, state) {
  if (!room) return void self.detail.replaceChildren();
  if (self.room?.dataset.device !== room.name) {
    self.room = makeRoom(room.device, () => ((self.open = !self.open), self.ui.changed()));
    self.detail.replaceChildren(self.room);
  }
  const host = state.devices.find((device) => device.kind === "host")?.name;
  updateRoom(self.room, room, { host, replayed: scene.step, all: scene.copies, narrow: true, lines: 8, sends: 8, open: Boolean(self.open), flash: false });
}

