// Draws copies on a map: arrows and ribbons whose widths show their bytes, all on one scale.

import { path, rectangle, text, widthOf } from "./picture.js";
import { sizeWords } from "./time_scale.js";
import { grouped } from "./words.js";

// In px: the width of the largest flow, on a map of many devices too; an arrow's head, and how far it extends on each side.
export const RIBBON = { widest: 22, widestOfMany: 5, thinnest: 1, head: 9, ear: 4, apart: 3, label: 18 };

// The host in the short name of a device, "worker/1"; empty for this computer.
export function hostOfDevice(name) {
  return name.slice(0, Math.max(0, name.lastIndexOf("/"))).replace(/^\/job:([^/]+)\/task:(\d+)$/, "$1/$2");
}

// The devices of each host, a Map of "worker/1" to those whose `name` is of that host.
export function byHost(devices) {
  const hosts = new Map();
  for (const device of devices) {
    const host = hostOfDevice(device.name);
    if (!hosts.has(host)) hosts.set(host, []);
    hosts.get(host).push(device);
  }
  return hosts;
}

export function shortInCluster(name) {
  const host = hostOfDevice(name);
  return host ? `${host} ${name.slice(name.lastIndexOf("/") + 1)}` : name;
}

export function isHostName(name) {
  return name.includes("CPU:");
}

export function flowsBetween(facts) {
  return facts.flows.filter((flow) => !isHostName(flow.source) && !isHostName(flow.target));
}

// What a card sends to hosts, or receives from them.
export function hostFlow(facts, card, upward) {
  const flows = facts.flows.filter((flow) => (upward ? flow.source : flow.target) === card && isHostName(upward ? flow.target : flow.source));
  return { copies: sumOf(flows, "copies"), nbytes: sumOf(flows, "nbytes") };
}

export function sumOf(flows, name) {
  return flows.reduce((sum, flow) => sum + flow[name], 0);
}

// The arrows from the host to a card and back; `wide` are their widths, {down, up}, in px.
export function hostArrows(facts, card, wide, x, top, bottom, now) {
  const marks = [];
  for (const way of ["down", "up"]) {
    const flow = hostFlow(facts, card, way === "up");
    if (!flow.copies) continue;
    const [begin, end] = way === "up" ? [bottom, top] : [top, bottom];
    const title = `${card}: ${way === "up" ? "↑" : "↓"} ${sizeWords(flow.nbytes)} × ${grouped(flow.copies)}`;
    const data = way === "up" ? { from: card, to: "host" } : { from: "host", to: card };
    marks.push({ mark: "group", marks: [straightArrow(x, begin, end, wide[way], isNowOn(now, card, way === "up"))], title, data });
    x += wide[way] + 2 * RIBBON.ear + RIBBON.apart;
  }
  return marks;
}

function isNowOn(now, card, upward) {
  return Boolean(now) && (upward ? now.source === card && isHostName(now.target) : now.target === card && isHostName(now.source));
}

function straightArrow(x, begin, end, width, isNow) {
  const half = width / 2;
  const neck = end > begin ? end - RIBBON.head : end + RIBBON.head;
  const points = [[x - half, begin], [x - half, neck], [x - half - RIBBON.ear, neck], [x, end], [x + half + RIBBON.ear, neck], [x + half, neck], [x + half, begin]];
  return path(points, ribbonLook(isNow));
}

function ribbonLook(isNow) {
  return isNow ? { fill: "cpyf", stroke: "focus", strokeWidth: 2, closed: true } : { fill: "cpyf", stroke: "cpy", closed: true };
}

// {ribbons: [{flow, x1, x2, depth, width}], bottom}: where each flow between cards leaves one room and enters the other, its
// depth below them, and the depth of the lowest. `rooms` are the left and right edges of the cards' rooms.
export function laidOut(flows, rooms, top, widest, hasLabels) {
  const names = [...rooms.keys()].sort((a, b) => rooms.get(a)[0] - rooms.get(b)[0]);
  const order = new Map(names.map((name, number) => [name, number]));
  const wide = fittingWidths(flows, rooms, widest);
  const ports = portsOf(flows, rooms, order, wide);
  const depths = new Map();
  const levels = [];
  for (const [first, second] of pairsOf(flows, rooms, order)) {
    const ways = [wayKey(first, second), wayKey(second, first)].filter((way) => wide.has(way));
    const thick = ways.reduce((sum, way) => sum + wide.get(way), 0) + RIBBON.apart * (ways.length - 1);
    const [begin, end] = [rooms.get(first)[0], rooms.get(second)[1]];
    const over = levels.filter((level) => level.first < end && level.last > begin).map((level) => level.bottom);
    const around = hasLabels ? Math.max(0, RIBBON.label - thick) / 2 : 0;
    let depth = (over.length ? Math.max(...over) + 6 : top + 12) + around;
    for (const way of ways) {
      depths.set(way, depth);
      depth += wide.get(way) + RIBBON.apart;
    }
    levels.push({ first: begin, last: end, bottom: depth + around });
  }
  const ribbons = flows.map((flow) => {
    const way = wayKey(flow.source, flow.target);
    return { flow, x1: ports.get(way).get(flow.source), x2: ports.get(way).get(flow.target), depth: depths.get(way), width: wide.get(way) };
  });
  return { ribbons, bottom: Math.max(top, ...levels.map((level) => level.bottom)) };
}

function wayKey(source, target) {
  return `${source}\n${target}`;
}

function pairsOf(flows, rooms, order) {
  const pairs = new Map();
  for (const { source, target } of flows) {
    const pair = order.get(source) < order.get(target) ? [source, target] : [target, source];
    pairs.set(wayKey(...pair), pair);
  }
  const span = ([first, second]) => Math.round((rooms.get(second)[0] - rooms.get(first)[0]) * 10) / 10;
  return [...pairs.values()].sort((a, b) => span(a) - span(b) || rooms.get(a[0])[0] - rooms.get(b[0])[0]);
}

function ribbonWidths(flows, widest) {
  const most = Math.max(0, ...flows.map((flow) => flow.nbytes)) || 1;
  return new Map(flows.map((flow) => [wayKey(flow.source, flow.target), Math.max(RIBBON.thinnest, (widest * flow.nbytes) / most)]));
}

// Widths, scaled by one factor so that all ends fit at their rooms.
function fittingWidths(flows, rooms, widest) {
  let wide = ribbonWidths(flows, widest);
  for (const [name, [begin, end]] of rooms) {
    const here = [...wide.keys()].filter((way) => way.split("\n").includes(name));
    const needed = here.reduce((sum, way) => sum + wide.get(way), 0);
    const free = end - begin - 16 - here.length * (RIBBON.apart + 2 * RIBBON.ear);
    if (needed > free) wide = ribbonWidths(flows, Math.max(1, (Math.max(...wide.values()) * Math.max(free, 1)) / needed));
  }
  return wide;
}

// Where each flow leaves and enters: arcs to the left first, short ones outermost, so that none cross.
function portsOf(flows, rooms, order, wide) {
  const ends = new Map([...wide.keys()].map((way) => [way, new Map()]));
  for (const [name, [begin, end]] of rooms) {
    const far = (flow) => order.get(flow.source === name ? flow.target : flow.source) - order.get(name);
    const rank = (flow) => [far(flow) > 0, -far(flow), (flow.source === name) === far(flow) > 0].map(Number);
    const here = flows.filter((flow) => flow.source === name || flow.target === name).map((flow) => ({ flow, rank: rank(flow) }));
    here.sort((a, b) => a.rank[0] - b.rank[0] || a.rank[1] - b.rank[1] || a.rank[2] - b.rank[2]);
    const ways = here.map(({ flow }) => wayKey(flow.source, flow.target));
    const thick = ways.reduce((sum, way) => sum + wide.get(way), 0);
    const step = Math.min(RIBBON.apart + 2 * RIBBON.ear, (end - begin - 8 - thick) / Math.max(ways.length, 1));
    let x = (begin + end) / 2 - (thick + step * (ways.length - 1)) / 2;
    for (const way of ways) {
      ends.get(way).set(name, x + wide.get(way) / 2);
      x += wide.get(way) + step;
    }
  }
  return ends;
}

// The ribbons, lowest first, and for each pair of cards the bytes in each direction.
export function ribbonMarks(ribbons, top, hasLabels, now) {
  const deepest = [...ribbons].sort((a, b) => b.depth - a.depth);
  const marks = deepest.map((ribbon) => {
    const { source, target, nbytes, copies } = ribbon.flow;
    const isNow = now?.source === source && now.target === target;
    const title = `${source} → ${target}: ${sizeWords(nbytes)} × ${grouped(copies)}`;
    return { mark: "group", marks: [bendOf(ribbon, top, isNow)], title, data: { from: source, to: target } };
  });
  if (!hasLabels) return marks;
  const pairs = new Map();
  for (const ribbon of ribbons) {
    const key = [ribbon.flow.source, ribbon.flow.target].sort().join("\n");
    pairs.set(key, [...(pairs.get(key) ?? []), ribbon]);
  }
  return [...marks, ...[...pairs.keys()].sort().flatMap((key) => pairLabel(pairs.get(key)))];
}

function bendOf({ x1, x2, depth, width }, top, isNow) {
  const half = x2 > x1 ? width / 2 : -width / 2;
  const ear = x2 > x1 ? RIBBON.ear : -RIBBON.ear;
  const [neck, bottom] = [top + RIBBON.head, depth + width];
  const points = [
    [x1 - half, top], [x1 - half, bottom], [x2 + half, bottom], [x2 + half, neck], [x2 + half + ear, neck], [x2, top + 1],
    [x2 - half - ear, neck], [x2 - half, neck], [x2 - half, depth], [x1 + half, depth], [x1 + half, top],
  ];
  return path(points, ribbonLook(isNow));
}

function pairLabel(ribbons) {
  const left = Math.min(...ribbons.map((ribbon) => Math.min(ribbon.x1, ribbon.x2)));
  const right = Math.max(...ribbons.map((ribbon) => Math.max(ribbon.x1, ribbon.x2)));
  const top = Math.min(...ribbons.map((ribbon) => ribbon.depth));
  const bottom = Math.max(...ribbons.map((ribbon) => ribbon.depth + ribbon.width));
  const ways = [...ribbons].sort((a, b) => Number(a.x2 < a.x1) - Number(b.x2 < b.x1));
  const words = ways.map((ribbon) => `${ribbon.x2 > ribbon.x1 ? "→" : "←"} ${sizeWords(ribbon.flow.nbytes)}`).join("  ");
  const width = widthOf(words, 11, 600) + 12;
  const middle = (top + bottom) / 2;
  const x = left + (right - left) * 0.55;
  if (width + 24 > right - left) return [];
  return [
    rectangle(x - width / 2, middle - 9, width, 18, "paper", { radius: 4, isTag: true }),
    text(x, middle + 4, words, { size: 11, weight: 600, anchor: "middle" }),
  ];
}
