// One device as a box: what ran there and why, its memory, and its exact figures.

import { attr, bytes, exact, h, keyed, put } from "./dom.js";
import { shortInCluster } from "./map_flows.js";
import { WORDS, fill, listed, translated } from "./words.js";

const MOST_SENDS = 16; // a card of a large cluster may have sent to a thousand others

export function kindOf(device) {
  const said = WORDS.map;
  if (device.kind === "host" && !device.lost) return said.host;
  if (device.lost) return fill(said.lost, { why: device.lost });
  const model = device.model || said.noModel;
  return device.kind === "simulated" ? fill(said.simulated, { model }) : model;
}

export function copiesText(n, nbytes) {
  return fill(WORDS.map.copies, { n, nbytes });
}

// The elements of a room; `toggle(name)` opens and closes its details.
export function makeRoom(device, toggle) {
  const name = h("span", { class: "nbtf-name" }, shortInCluster(device.name));
  const kind = h("span", { class: "nbtf-kind" });
  const ops = h("span", { class: "nbtf-ops" });
  const door = h("button", { type: "button", class: "nbtf-door", tabindex: "-1", "aria-expanded": "false", onclick: () => toggle(device.name) },
    name, " ", kind, " ", ops);
  const list = h("ul", { class: "nbtf-oplist", role: "list" });
  const rest = h("p", { class: "nbtf-rest" });
  const copies = h("ul", { class: "nbtf-sends", role: "list" });
  const memory = makeMemory();
  const details = h("div", { class: "nbtf-details", hidden: "" });
  const main = h("div", { class: "nbtf-inside" }, h("div", { class: "nbtf-work" }, list), memory.root, h("div", { class: "nbtf-foot" }, rest, copies));
  const root = h("section", { class: "nbtf-room", role: "group", "data-kind": device.kind, "data-device": device.name },
    h("span", { class: "nbtf-strip" }), door, main, details);
  return Object.assign(root, { nbtf: { kind, ops, door, list, rest, copies, memory, details } });
}

function makeMemory() {
  const used = h("span", { class: "nbtf-used" });
  const pool = h("span", { class: "nbtf-pool" }, used);
  const bar = h("div", { class: "nbtf-bar" }, pool);
  const text = h("p", { class: "nbtf-amount" });
  const more = h("p", { class: "nbtf-amount nbtf-within" });
  return { root: h("div", { class: "nbtf-mem" }, bar, text, more), bar, pool, used, text, more };
}

// `show`: {lines: ops shown, open, replayed: the step or null, all: copies of all devices}.
export function updateRoom(root, room, show) {
  const { kind, ops, door, list, rest, copies, memory, details } = root.nbtf;
  put(kind, kindOf(room.device));
  put(ops, opsText(room, show.replayed));
  updateMemory(memory, room);
  attr(root, "aria-label", roomSentence(room, show.replayed));
  attr(root, "data-empty", room.ops ? null : "");
  const here = show.replayed && show.replayed.kind !== 1 && show.replayed.device === room.name ? show.replayed : null;
  attr(root, "data-now", here ? "" : null);
  showOps(list, room.counts.slice(0, show.lines), here);
  const hidden = Math.max(0, room.counts.length - show.lines) + room.more;
  put(rest, restText(hidden, room.constants));
  showCopies(copies, room.name, show);
  attr(door, "aria-expanded", String(show.open));
  details.hidden = !show.open;
  if (show.open) showDetails(details, room, show);
}

function restText(ops, constants) {
  const said = WORDS.map;
  return listed([ops && fill(said.moreOps, { n: ops }), constants && fill(said.constants, { n: constants })].filter(Boolean));
}

function opsText(room, step) {
  const said = WORDS.map;
  if (!room.ops) return step ? said.noOpsYet : said.noOps;
  return fill(said.ops, { n: room.ops });
}

function showOps(list, counts, here) {
  list.hidden = !counts.length;
  keyed(list, counts, ([op, , why]) => `${op}\n${why}`, makeOp, (node, [op, n, why]) => {
    put(node.nbtf.times, n > 1 ? fill(WORDS.map.times, { n }) : "");
    attr(node, "data-now", here && here.op === op && here.why === why ? "" : null);
    attr(node, "data-failed", here && here.op === op && here.why === why && here.kind === 2 ? "" : null);
  });
}

function makeOp([op, , why]) {
  const times = h("span", { class: "nbtf-times" });
  const chip = h("span", { class: "nbtf-chip" }, h("span", { class: "nbtf-op-name" }, op), " ", times);
  const node = h("li", { class: "nbtf-op" }, chip, " ", h("span", { class: "nbtf-why" }, translated("reasons", why)));
  return Object.assign(node, { nbtf: { times } });
}

function updateMemory(parts, room) {
  const m = room.memory;
  const known = m && !m.unknown;
  const whole = known ? m.limit || m.pool || 1 : 1;
  const share = known ? m.in_use / whole : 0;
  parts.root.hidden = room.device.kind === "host";
  parts.pool.style.width = known ? `${Math.min(100, (100 * m.pool) / whole)}%` : "0";
  parts.used.style.width = known && m.pool > 0 ? `${Math.min(100, (100 * m.in_use) / m.pool)}%` : "0";
  attr(parts.used, "data-some", known && m.in_use > 0 ? "" : null);
  attr(parts.bar, "data-hot", share > 0.9 ? "" : null);
  const [first, second] = memoryTexts(room);
  put(parts.text, first);
  put(parts.more, second);
  attr(parts.root, "title", known ? `${exact(m.in_use)} / ${exact(m.pool)} / ${exact(m.limit)}` : null);
}

function memoryTexts({ device, memory: m }) {
  const said = WORDS.map;
  if (device.lost) return [said.gone, ""];
  if (device.kind === "host") return [said.notCounted, ""];
  if (!m || m.unknown) return [m ? said.unknown : said.notStarted, ""];
  const share = m.in_use / (m.limit || m.pool || 1);
  const used = { n: bytes(m.in_use), percent: Math.floor(100 * share) };
  return [fill(share > 0.9 ? said.full : said.inUse, used), fill(said.pool, { pool: bytes(m.pool), limit: bytes(m.limit) })];
}

// The content of a room for screen readers; `step` is the replayed step, if any.
export function roomSentence(room, step) {
  const ops = room.counts.slice(0, 3).map(([op, n, why]) => `${op} ${fill(WORDS.map.times, { n })} (${translated("reasons", why)})`);
  const memory = listed(memoryTexts(room).filter(Boolean));
  return fill(WORDS.map.room, { name: shortInCluster(room.name), kind: kindOf(room.device), ops: listed([opsText(room, step), ...ops]), memory });
}

// Copies listed inside the room: all if rooms are stacked, otherwise those to other GPUs, whose arrows have no text.
function showCopies(list, name, show) {
  const mine = show.all.filter(([from, to]) => from === name || to === name);
  const told = show.narrow ? mine : mine.filter(([from, to]) => from === name && name !== show.host && to !== show.host);
  const step = show.replayed;
  const isNow = ([from, to]) => Boolean(step && step.kind === 1 && step.device === from && step.target === to);
  told.sort((a, b) => isNow(b) - isNow(a) || b[3] - a[3]);
  const shown = told.slice(0, show.narrow ? MOST_SENDS : show.sends);
  const lines = shown.map(([from, to, n, sum]) => [from === name ? `→ ${shortInCluster(to)}` : `← ${shortInCluster(from)}`, copiesText(n, bytes(sum)), from, to]);
  const hidden = told.length - shown.length;
  if (hidden) lines.push(["", fill(WORDS.map.moreCopies, { n: hidden }), "", ""]);
  list.hidden = !lines.length;
  keyed(list, lines, ([way]) => way, makeSend, (node, [, text, from, to]) => {
    put(node.lastChild, text);
    attr(node, "data-now", isNow([from, to]) ? "" : null);
  });
}

function makeSend([way]) {
  return h("li", { class: "nbtf-send" }, h("span", { class: "nbtf-way" }, way), " ", h("span"));
}

function showDetails(root, room, show) {
  const said = WORDS.map.details;
  const { device, memory } = room;
  const known = memory && !memory.unknown ? memory : {};
  const facts = [
    ...["in_use", "requested", "peak", "pool", "limit"].map((key) => [said[key], known[key] === undefined ? "" : exact(known[key])]),
    [said.card, device.card_memory ? exact(device.card_memory) : ""],
    [said.bus, device.bus_id || ""],
    ...room.counts.slice(show.lines).map(([op, n, why]) => [`${op} ${fill(WORDS.map.times, { n })}`, translated("reasons", why)]),
    ...show.all.filter(([from, to]) => from === room.name || to === room.name)
      .map(([from, to, n, sum]) => [fill(from === room.name ? WORDS.map.to : WORDS.map.from, { name: from === room.name ? to : from }),
        copiesText(n, exact(sum))]),
  ].filter(([, value]) => value);
  keyed(root, [["", WORDS.map.exactTitle], ...facts], ([label]) => label, ([label]) => h("div", { class: "nbtf-fact" }, h("span", { class: "nbtf-label" }, label), h("span")),
    (node, [, value]) => put(node.lastChild, value));
}
