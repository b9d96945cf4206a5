// What ran in a scene, and which part of it lies in a window, as columns of numbers packed by Python (see stills/timeline_data.py).

import { isHostName, shortInCluster } from "./map_flows.js";
import { FACTS } from "./measures.js";
import { decoded } from "./packed_numbers.js";
import { BUSY_TOKENS, search } from "./timeline_index.js";
import { shareOf, withSums } from "./timeline_sums.js";

// Unpacks Python's data. `lanes` have `first` and `last` of their ops, which are in order, and `copies`, the numbers of theirs.
export function timelineScene(data) {
  const { ops, copies } = columnsIn(data);
  if (!data.sums) return sceneOf(data, ops, copies);
  for (const sums of [data.mean, ...data.groupSums]) sums.busy = decoded(sums.shares, Uint16Array);
  const all = withSums(data, ops, copies, decoded);
  return sceneOf({ ...data, ...all }, all.ops, all.copies);
}

function columnsIn({ ops, copies }) {
  const typed = (columns, types) => Object.fromEntries(Object.entries(types).map(([name, type]) => [name, decoded(columns[name], type)]));
  return {
    ops: typed(ops, { start: Float64Array, seconds: Float64Array, fact: Uint32Array, seq: Uint32Array }),
    copies: typed(copies, { source: Uint16Array, target: Uint16Array, start: Float64Array, seconds: Float64Array, nbytes: Float64Array, seq: Uint32Array }),
  };
}

// A scene of ops and copies, with everything derived from them.
function sceneOf(data, ops, copies) {
  const scene = { ...data, ops, copies, data };
  let first = 0;
  scene.lanes = data.lanes.map((name, number) => {
    const lane = { name, number, host: isHostName(name), program: data.clock === "hostTime" && !number, first, last: first + data.counts[number], copies: [] };
    first = lane.last;
    return lane;
  });
  scene.groups = data.groups.map(([name, lanes], number) => ({ name, lanes, number, isGroup: true }));
  copies.start.forEach((_, copy) => {
    for (const lane of new Set([copies.source[copy], copies.target[copy]])) scene.lanes[lane].copies.push(copy);
  });
  scene.facts = data.facts.map(([op, phase, layer, token, shape, output, why, site]) => (
    { op, phase, layer, token, busy: BUSY_TOKENS.indexOf(token), shape, output, why, site, constant: op === FACTS.constant, summed: op === "" }
  ));
  scene.isFolded = new Uint8Array(ops.fact.length);
  ops.before = runningSum(ops.share ? ops.seconds.map((seconds, op) => seconds * ops.share[op]) : ops.seconds);
  const folded = foldOps(scene);
  scene.folded = data.folded ?? folded;
  scene.longest = longestOf(scene);
  return scene;
}

// The ops and copies that match a filter: all its words occur in op, phase, layer, line or device. `origin` are their numbers in
// the original scene.
export function filteredScene(scene, text, words) {
  const asked = text.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (said) => asked.every((word) => said.includes(word));
  const names = scene.lanes.map(({ name }) => `${name}\n${shortInCluster(name)}`.toLowerCase());
  const facts = scene.facts.map(({ op, phase, layer, site }) => [op, words[phase], layer, scene.lines[site]].join("\n").toLowerCase());
  const origin = [];
  const counts = scene.lanes.map(({ first, last }, lane) => {
    const before = origin.length;
    const fitting = facts.map((fact) => fits(`${fact}\n${names[lane]}`));
    for (let op = first; op < last; op++) if (fitting[scene.ops.fact[op]]) origin.push(op);
    return origin.length - before;
  });
  const pick = (columns, numbers) => Object.fromEntries(["start", "seconds", "fact", "source", "target", "nbytes", "seq", "share"].filter((name) => columns[name]).map((name) => [name, columns[name].constructor.from(numbers, (number) => columns[name][number])]));
  const copies = [...scene.copies.start.keys()].filter((copy) => fits([words.copy, names[scene.copies.source[copy]], names[scene.copies.target[copy]]].join("\n").toLowerCase()));
  return { ...sceneOf({ ...scene.data, counts }, pick(scene.ops, origin), pick(scene.copies, copies)), origin: { op: origin, copy: copies } };
}

// Converts an op or a copy of a filtered scene to one of the whole scene.
export function toWhole({ origin }, { op, copy }) {
  return op === undefined ? { copy: origin.copy[copy] } : { op: origin.op[op] };
}

export function factOf(scene, op) {
  return scene.facts[scene.ops.fact[op]];
}

// Whether an op is not drawn individually.
export function opIsFolded(scene, op) {
  return scene.isFolded[op] === 1;
}

// Whether a copy is not drawn individually.
export function copyIsFolded(scene, copy) {
  return scene.copies.nbytes[copy] < scene.smallestCopy;
}

// Marks the ops that are not drawn individually; returns their number by kind.
function foldOps(scene) {
  const { ops, isFolded } = scene;
  const constants = Uint8Array.from(scene.facts, ({ constant }) => constant);
  const summed = Uint8Array.from(scene.facts, (fact) => fact.summed);
  const folded = { constants: 0, ops: 0, copies: 0 };
  for (let op = 0; op < isFolded.length; op++) {
    const constant = constants[ops.fact[op]];
    isFolded[op] = constant || summed[ops.fact[op]] || ops.seconds[op] < scene.shortestOp ? 1 : 0;
    folded.constants += constant;
    folded.ops += isFolded[op] - constant;
  }
  scene.copies.start.forEach((_, copy) => (folded.copies += copyIsFolded(scene, copy)));
  return folded;
}

// The op that took the most time; the first of several.
function longestOf(scene) {
  const { start, seconds } = scene.ops;
  let longest = -1;
  for (let op = 0; op < seconds.length; op++) {
    if (opIsFolded(scene, op)) continue;
    const more = longest < 0 ? 1 : seconds[op] - seconds[longest] || start[longest] - start[op];
    if (more > 0) longest = op;
  }
  return longest < 0 ? null : { op: longest };
}

// The range of a lane's ops that overlap a window: from the first to the one after the last.
export function opsIn(scene, lane, { from, to }) {
  const { start, seconds } = scene.ops;
  const begin = search(lane.first, lane.last, (op) => start[op] + seconds[op] >= from);
  return [begin, search(begin, lane.last, (op) => start[op] > to)];
}

// The copies of a lane that overlap a window. A host feeds several cards at once, so their ends are not sorted.
export function copiesIn(scene, lane, { from, to }) {
  const { start, seconds } = scene.copies;
  const last = search(0, lane.copies.length, (at) => start[lane.copies[at]] > to);
  return lane.copies.slice(0, last).filter((copy) => start[copy] + seconds[copy] >= from);
}

// The cumulative sums: of all numbers before each, and of all.
function runningSum(numbers) {
  const sums = new Float64Array(numbers.length + 1);
  for (let at = 0; at < numbers.length; at++) sums[at + 1] = sums[at] + numbers[at];
  return sums;
}

// The percentage of a window that a lane's ops take, not counting parts outside.
export function opShare({ ops }, { first, last }, { from, to }) {
  if (first === last || to <= from) return 0;
  const { start, seconds, before } = ops;
  let sum = before[last] - before[first];
  for (let op = first; op < last && start[op] < from; op++) sum -= Math.min(from - start[op], seconds[op]) * shareOf(ops, op);
  for (let op = last - 1; op >= first && start[op] + seconds[op] > to; op--) sum -= Math.min(start[op] + seconds[op] - to, seconds[op]) * shareOf(ops, op);
  return Math.round((100 * sum) / (to - from));
}

// The percentage of a window that copies take, in order of time; sending and receiving at the same time count once.
export function copyShare({ copies }, numbers, { from, to }) {
  const { start, seconds } = copies;
  let [busy, until] = [0, from];
  for (const copy of numbers) {
    const end = Math.min(start[copy] + seconds[copy], to);
    busy += Math.max(0, end - Math.max(start[copy], until)) * shareOf(copies, copy);
    until = Math.max(until, end);
  }
  return to > from ? Math.round((100 * busy) / (to - from)) : 0;
}

// The elements of a lane that can be focused, in order of time: numbers of ops and copies (see `stopOf`) that are drawn individually.
export function stopsOf(scene, lane) {
  lane.stops ??= mergedStops(scene, lane);
  return lane.stops;
}

function mergedStops(scene, lane) {
  const copies = lane.copies.filter((copy) => !copyIsFolded(scene, copy));
  const stops = new Int32Array(lane.last - lane.first + copies.length);
  let [length, next] = [0, 0];
  for (let op = lane.first; op < lane.last; op++) {
    if (scene.isFolded[op]) continue;
    while (next < copies.length && scene.copies.start[copies[next]] < scene.ops.start[op]) stops[length++] = -1 - copies[next++];
    stops[length++] = op;
  }
  while (next < copies.length) stops[length++] = -1 - copies[next++];
  return stops.subarray(0, length);
}

// The op or copy for a number among the stops.
export function stopOf(number) {
  return number < 0 ? { copy: -1 - number } : { op: number };
}

// The position of an op or a copy among a lane's stops; -1 if it is not one of them.
export function stopIndex(scene, lane, { op, copy }) {
  if (op === undefined ? !lane.copies.includes(copy) : op < lane.first || op >= lane.last) return -1;
  return stopsOf(scene, lane).indexOf(op === undefined ? -1 - copy : op);
}

// The start and end of an op or a copy.
export function spanOfStop(scene, { op, copy }) {
  const [columns, number] = op === undefined ? [scene.copies, copy] : [scene.ops, op];
  return [columns.start[number], columns.start[number] + columns.seconds[number]];
}

// Where an op or a copy is, in any scene of the same recording and clock.
export function locationOf(scene, { op, copy }) {
  return { lane: laneOf(scene, { op, copy }), start: spanOfStop(scene, { op, copy })[0], copy: op === undefined };
}

// The op or copy at a place that is drawn individually; null if there is none.
export function stopAt(scene, { lane, start, copy }) {
  const { start: starts } = copy ? scene.copies : scene.ops;
  const isThere = (number) => starts[number] === start && (copy ? scene.copies.target[number] === lane && !copyIsFolded(scene, number) : isOpOf(scene, lane, number));
  const number = starts.findIndex((_, at) => isThere(at));
  return number < 0 ? null : copy ? { copy: number } : { op: number };
}

// Whether an op or a copy is at a place.
export function isAt(scene, stop, place) {
  const here = stop && locationOf(scene, stop);
  return Boolean(here) && here.lane === place.lane && here.start === place.start && here.copy === place.copy;
}

// The op or copy of another scene with the same number, and the same device if it has that lane.
export function sameStop(scene, chosen, other) {
  const [columns, number, numbers] = chosen.op === undefined ? [scene.copies, chosen.copy, other.copies.seq] : [scene.ops, chosen.op, other.ops.seq];
  const seq = columns.seq?.[number];
  if (seq === undefined || !numbers) return other.longest; // pieces of a long recording have no numbers
  if (chosen.op === undefined) return numbers.includes(seq) ? { copy: numbers.indexOf(seq) } : other.longest;
  const { name } = scene.lanes[laneOf(scene, chosen)];
  const lane = other.lanes.find((each) => each.name === name);
  const op = lane ? numbers.subarray(lane.first, lane.last).indexOf(seq) + lane.first : numbers.indexOf(seq);
  return op >= (lane?.first ?? 0) ? { op } : other.longest;
}

// The number of the lane of an op, or of the target of a copy.
export function laneOf(scene, { op, copy }) {
  return op === undefined ? scene.copies.target[copy] : scene.lanes.findIndex(({ first, last }) => first <= op && op < last);
}

// Whether a lane has an op and draws it individually.
export function isOpOf(scene, lane, op) {
  return scene.lanes[lane].first <= op && op < scene.lanes[lane].last && !opIsFolded(scene, op);
}
